/// The response of verifyReceipt about a transaction receipt, in the style of iOS 6.
package struct VerifyReceiptTransactionResponse: WireObject {
    /// The submitted receipt.
    package var receipt: TransactionReceipt?
    /// The subscription's latest transaction. Present while the subscription is active.
    package var latest: TransactionReceipt?
    /// The subscription's latest transaction. Present once the subscription has expired, was
    /// cancelled, or failed to renew.
    package var latestExpired: TransactionReceipt?
    /// A new transaction receipt in Base64. Present while the subscription is active.
    package var latestReceipt: String?
    package var autoRenewProductID: String?
    /// Whether renewal is on. A number here, unlike in other documents.
    package var autoRenewStatus: AutoRenewStatus?
    package var expirationIntent: ExpirationIntent?
    package var isInBillingRetry: NumericFlag?
    package var cancellationReason: RevocationReason?
    package var status: VerifyReceiptStatus?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
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
