/// The body that is posted to verifyReceipt.
package struct VerifyReceiptRequest: WireObject {
    /// An app receipt or a transaction receipt in Base64, sometimes with line breaks.
    package var receiptData: String?
    /// The app's shared secret.
    package var password: String?
    /// Whether to return only the latest transaction of each subscription.
    package var excludesOldTransactions: Bool?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("receipt-data", &receiptData)
        fields.field("password", &password)
        fields.flag("exclude-old-transactions", &excludesOldTransactions)
    }
}
