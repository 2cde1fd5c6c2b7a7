/// The renewal info of a subscription: an element of `pending_renewal_info`, one for each original
/// transaction.
package struct VerifyReceiptRenewal: WireObject {
    /// Why the subscription expired. Absent until it has expired.
    package var expirationIntent: ExpirationIntent?
    /// The product of the next period.
    package var autoRenewProductID: String?
    /// Whether the App Store retries the payment. Absent until the first expiry, and again after a
    /// recovery.
    package var isInBillingRetry: NumericFlag?
    package var productID: String?
    package var originalTransactionID: String?
    package var autoRenewStatus: AutoRenewStatus?
    package var graceUntil: AppStoreDate?
    /// The customer's consent to a price increase, under the name that `priceIncreaseStatus` had
    /// before.
    package var priceConsentStatus: PriceIncreaseStatus?
    package var priceIncreaseStatus: PriceIncreaseStatus?
    package var offerCodeReferenceName: String?
    package var promotionalOfferID: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.quoted("expiration_intent", &expirationIntent)
        fields.field("auto_renew_product_id", &autoRenewProductID)
        fields.quoted("is_in_billing_retry_period", &isInBillingRetry)
        fields.field("product_id", &productID)
        fields.quoted("original_transaction_id", &originalTransactionID)
        fields.quoted("auto_renew_status", &autoRenewStatus)
        fields.dates("grace_period_expires_date", &graceUntil)
        fields.quoted("price_consent_status", &priceConsentStatus)
        fields.quoted("price_increase_status", &priceIncreaseStatus)
        fields.field("offer_code_ref_name", &offerCodeReferenceName)
        fields.field("promotional_offer_id", &promotionalOfferID)
    }
}

/// A boolean written as 1 or 0.
package struct NumericFlag: OpenEnumeration {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static let no = Self(rawValue: 0)
    package static let yes = Self(rawValue: 1)
}
