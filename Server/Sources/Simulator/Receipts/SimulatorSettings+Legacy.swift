import AppStoreFormats

// What a reset says about the older documents.

extension SimulatorSettings {
    typealias Field = SimulatorRoute.Field

    static let legacyFields = [
        Field("shared_secret", "string", "What verifyReceipt wants as password."),
        Field("receipt_digest", "string", "sha256 (default) or sha1, as before 2023."),
    ]

    mutating func readLegacy(_ body: RequestBody) throws(StoreProblem) {
        sharedSecret = try body.string("shared_secret") ?? sharedSecret
        guard let word = try body.string("receipt_digest") else { return }
        guard let digest = ReceiptDigest(rawValue: word) else {
            throw RequestBody.wrong("receipt_digest", "sha256 or sha1")
        }
        receiptDigest = digest
    }
}
