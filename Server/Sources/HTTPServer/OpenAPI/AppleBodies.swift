// Bodies in Apple's form, which are read by the engine. These types describe them only.

/// The body of an App Store Server Notification.
struct NotificationBody: Decodable {
    var signedPayload: String?
    var notificationType: String?
    var password: String?

    private enum CodingKeys: String, CodingKey {
        case signedPayload
        case notificationType = "notification_type"
        case password
    }
}

/// The body of a request to verifyReceipt.
struct VerifyReceiptBody: Decodable {
    var receiptData: String
    var password: String?
    var excludeOldTransactions: Bool?

    private enum CodingKeys: String, CodingKey {
        case receiptData = "receipt-data"
        case password
        case excludeOldTransactions = "exclude-old-transactions"
    }
}
