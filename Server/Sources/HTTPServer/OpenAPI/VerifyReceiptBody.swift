/// The body of a request to verifyReceipt. The engine reads the body; this type only describes the
/// body for OpenAPI.
struct VerifyReceiptBody: Decodable, Sendable {
    var receiptData: String
    var password: String?
    var excludeOldTransactions: Bool?

    private enum CodingKeys: String, CodingKey {
        case receiptData = "receipt-data"
        case password
        case excludeOldTransactions = "exclude-old-transactions"
    }
}
