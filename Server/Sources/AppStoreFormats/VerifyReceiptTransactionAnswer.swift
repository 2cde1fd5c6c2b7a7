/// What verifyReceipt answers about a transaction receipt, the style of iOS 6.
package struct VerifyReceiptTransactionAnswer: WireObject {
    /// What was submitted.
    package var receipt: TransactionReceipt?
    /// The subscription's latest transaction, while it is in force.
    package var latest: TransactionReceipt?
    /// The same once it has expired, been cancelled, or failed to renew.
    package var latestExpired: TransactionReceipt?
    /// A new transaction receipt, Base64, while the subscription is in force.
    package var latestReceipt: String?
    package var autoRenewProductID: String?
    /// A number here.
    package var autoRenewStatus: AutoRenewStatus?
    package var expirationIntent: ExpirationIntent?
    package var isInBillingRetry: AnsweredFlag?
    package var cancellationReason: RevocationReason?
    package var status: VerifyReceiptStatus?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some Fields) {
        fields.field("auto_renew_status", &autoRenewStatus)
        fields.field("auto_renew_product_id", &autoRenewProductID)
        fields.field("receipt", &receipt)
        fields.field("latest_receipt_info", &latest)
        fields.field("latest_expired_receipt_info", &latestExpired)
        fields.field("latest_receipt", &latestReceipt)
        fields.quoted("expiration_intent", &expirationIntent)
        fields.quoted("is_in_billing_retry_period", &isInBillingRetry)
        fields.quoted("cancellation_reason", &cancellationReason)
        fields.field("status", &status)
    }
}
