/// One transaction as apps before iOS 7 received it, and as version 1 notifications contained it
/// until 2021.
///
/// The receipt itself has the same keys, with dashes. `expires_date` of a transaction receipt
/// contains milliseconds, unlike in responses about app receipts.
package struct TransactionReceipt: WireObject {
    package var bundleID: String?
    package var bundleVersion: String?
    /// The app's Apple id. Absent in the sandbox.
    package var appItemID: String?
    /// The product's Apple id.
    package var itemID: String?
    package var versionExternalIdentifier: String?
    package var productID: String?
    package var quantity: Int64?
    package var transactionID: String?
    package var originalTransactionID: String?
    package var purchased: AppStoreDate?
    package var originallyPurchased: AppStoreDate?
    package var expires: AppStoreDate?
    package var cancelled: AppStoreDate?
    package var cancellationReason: RevocationReason?
    package var webOrderLineItemID: String?
    package var isTrial: Bool?
    package var isIntroductory: Bool?
    package var subscriptionGroupID: String?
    package var appAccountToken: String?
    /// The device's identifier.
    package var uniqueIdentifier: String?
    package var uniqueVendorIdentifier: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("bid", &bundleID)
        fields.field("bvrs", &bundleVersion)
        fields.quoted("app_item_id", &appItemID)
        fields.quoted("item_id", &itemID)
        fields.quoted("version_external_identifier", &versionExternalIdentifier)
        fields.field("product_id", &productID)
        fields.quoted("quantity", &quantity)
        fields.quoted("transaction_id", &transactionID)
        fields.quoted("original_transaction_id", &originalTransactionID)
        fields.dates("purchase_date", &purchased)
        fields.dates("original_purchase_date", &originallyPurchased)
        fields.formattedDates("expires_date", &expires)
        fields.dates("cancellation_date", &cancelled)
        fields.quoted("cancellation_reason", &cancellationReason)
        fields.quoted("web_order_line_item_id", &webOrderLineItemID)
        fields.quoted("is_trial_period", &isTrial)
        fields.quoted("is_in_intro_offer_period", &isIntroductory)
        fields.quoted("subscription_group_identifier", &subscriptionGroupID)
        fields.field("app_account_token", &appAccountToken)
        fields.field("unique_identifier", &uniqueIdentifier)
        fields.field("unique_vendor_identifier", &uniqueVendorIdentifier)
    }
}
