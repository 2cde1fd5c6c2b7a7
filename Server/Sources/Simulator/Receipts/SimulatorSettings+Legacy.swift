import AppStoreFormats

// What a reset says about the older documents.

extension SimulatorRoute {
    static let legacyResetFields = [
        Field("shared_secret", "string", "What verifyReceipt wants as password."),
        Field("receipt_digest", "string", "sha256 (default) or sha1, as before 2023."),
    ]

    static func readLegacy(
        _ body: RequestBody, into settings: inout SimulatorSettings
    ) throws(StoreProblem) {
        settings.sharedSecret = try body.string("shared_secret") ?? settings.sharedSecret
        if let word = try body.string("receipt_digest") {
            guard let digest = ReceiptDigest(rawValue: word) else {
                throw RequestBody.wrong("receipt_digest", "sha256 or sha1")
            }
            settings.receiptDigest = digest
        }
    }
}
