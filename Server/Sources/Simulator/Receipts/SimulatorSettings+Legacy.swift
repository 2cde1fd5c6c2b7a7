import AppStoreFormats

// The fields of a reset about the older documents.

extension SimulatorSettings {
    typealias Field = SimulatorRoute.Field

    static let legacyFields = [
        Field("shared_secret", "string", "The password that verifyReceipt requires."),
        Field("receipt_digest", "string", "sha256 (default) or sha1, as before 2023."),
        Field("v1_notification_url", "string", "Where V1 notifications are posted; null for none."),
        Field("v1_era", "string", "The form of V1 notifications: 2018, 2020 or 2021 (default)."),
    ]

    mutating func readLegacy(_ body: RequestBody) throws(SimulatorProblem) {
        sharedSecret = try body.string("shared_secret") ?? sharedSecret
        if let url = try body.url("v1_notification_url") { v1NotificationURL = url }
        if body.isNull("v1_notification_url") { v1NotificationURL = nil }
        if let word = try body.string("v1_era") {
            guard let era = V1Era(rawValue: word) else {
                throw RequestBody.invalidField("v1_era", "2018, 2020 or 2021, as a text")
            }
            v1Era = era
        }
        if let word = try body.string("receipt_digest") {
            guard let digest = ReceiptDigest(rawValue: word) else {
                throw RequestBody.invalidField("receipt_digest", "sha256 or sha1")
            }
            receiptDigest = digest
        }
    }
}
