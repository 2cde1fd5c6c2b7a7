/// One transaction in a response of verifyReceipt: in `receipt.in_app`, in `latest_receipt_info`,
/// and in a version 1 notification's `unified_receipt`.
package struct VerifyReceiptRow: WireObject {
    package var quantity: Int64?
    package var productID: String?
    package var transactionID: String?
    package var originalTransactionID: String?
    package var purchased: AppStoreDate?
    package var originallyPurchased: AppStoreDate?
    package var expires: AppStoreDate?
    /// The date of a refund, of an upgrade, or of the end of Family Sharing.
    package var cancelled: AppStoreDate?
    package var webOrderLineItemID: String?
    package var isTrial: Bool?
    package var isIntroductory: Bool?
    package var cancellationReason: RevocationReason?
    /// Whether an upgrade has replaced the transaction. True or absent.
    package var isUpgraded: Bool?
    package var offerCodeReferenceName: String?
    package var promotionalOfferID: String?
    package var ownership: OwnershipType?
    package var subscriptionGroupID: String?
    package var appAccountToken: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.quoted("quantity", &quantity)
        fields.field("product_id", &productID)
        fields.quoted("transaction_id", &transactionID)
        fields.quoted("original_transaction_id", &originalTransactionID)
        fields.dates("purchase_date", &purchased)
        fields.dates("original_purchase_date", &originallyPurchased)
        fields.dates("expires_date", &expires)
        fields.dates("cancellation_date", &cancelled)
        fields.quoted("web_order_line_item_id", &webOrderLineItemID)
        fields.quoted("is_trial_period", &isTrial)
        fields.quoted("is_in_intro_offer_period", &isIntroductory)
        fields.quoted("cancellation_reason", &cancellationReason)
        fields.quoted("is_upgraded", &isUpgraded)
        fields.field("offer_code_ref_name", &offerCodeReferenceName)
        fields.field("promotional_offer_id", &promotionalOfferID)
        fields.field("in_app_ownership_type", &ownership)
        fields.quoted("subscription_group_identifier", &subscriptionGroupID)
        fields.field("app_account_token", &appAccountToken)
    }
}

extension VerifyReceiptRow {
    /// Creates the row that Apple returns for a purchase in a receipt, with the fields that the
    /// receipt contains. Derived from a comparison of receipts with Apple's recorded responses.
    package init(_ purchase: InAppReceipt) {
        self.init()
        quantity = purchase[.quantity]?.integer
        productID = purchase[.productID]?.text
        transactionID = purchase[.transactionID]?.text
        originalTransactionID = purchase[.originalTransactionID]?.text
        purchased = purchase[.purchased]?.date
        originallyPurchased = purchase[.originallyPurchased]?.date
        expires = purchase[.expires]?.date
        cancelled = purchase[.cancelled]?.date
        let order = purchase[.webOrderLineItemID]?.integer
        webOrderLineItemID = order.flatMap { $0 == 0 ? nil : String($0) }
        isTrial = purchase[.isTrial]?.integer == 1
        if expires != nil {
            isIntroductory = purchase[.isIntroductory]?.integer.map { $0 == 1 }
        }
        cancellationReason = purchase[.cancellationReason]?.integer.map {
            RevocationReason(rawValue: $0)
        }
        promotionalOfferID = purchase[.promotionalOfferID]?.text
        ownership = purchase[.isFamilyShared]?.integer.map { $0 == 1 ? .familyShared : .purchased }
    }
}
