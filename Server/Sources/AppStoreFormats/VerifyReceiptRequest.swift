/// What is posted to verifyReceipt.
package struct VerifyReceiptRequest: WireObject {
    /// Base64 of an app receipt or a transaction receipt; with line breaks, from some.
    package var receiptData: String?
    /// The app's shared secret.
    package var password: String?
    /// Leaves out all but the latest transaction of each subscription.
    package var excludesOldTransactions: Bool?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some Fields) {
        fields.field("receipt-data", &receiptData)
        fields.field("password", &password)
        fields.flag("exclude-old-transactions", &excludesOldTransactions)
    }
}
