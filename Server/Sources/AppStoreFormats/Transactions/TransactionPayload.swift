/// The payload of a signed transaction (Apple: `JWSTransactionDecodedPayload`). Every field may be
/// absent.
package struct TransactionPayload: WireObject {
    package var transactionId: String?
    /// The id of the first transaction of the chain.
    package var originalTransactionId: String?
    /// Identifies one subscription period. The same on every device, even if transaction ids
    /// differ.
    package var webOrderLineItemId: String?
    package var bundleId: String?
    package var productId: String?
    package var subscriptionGroupIdentifier: String?
    package var purchaseDate: AppStoreDate?
    package var originalPurchaseDate: AppStoreDate?
    package var expiresDate: AppStoreDate?
    /// The number of units or, for a subscription, of seats. A member's transaction has the
    /// purchaser's number.
    package var quantity: Int64?
    package var type: ProductType?
    /// A UUID that the app chooses, usually the UUID of the customer's account in the app.
    package var appAccountToken: String?
    package var inAppOwnershipType: OwnershipType?
    package var signedDate: AppStoreDate?
    package var revocationReason: RevocationReason?
    package var revocationDate: AppStoreDate?
    package var revocationType: RevocationType?
    /// The refunded share in thousandths of a percent: 50000 is half.
    package var revocationPercentage: Int64?
    package var isUpgraded: Bool?
    package var offerType: OfferType?
    package var offerIdentifier: String?
    /// The length of the offer's period in ISO 8601, such as `P1M`.
    package var offerPeriod: String?
    package var offerDiscountType: OfferDiscountType?
    package var environment: StoreEnvironment?
    /// The storefront in ISO 3166-1 alpha-3.
    package var storefront: String?
    package var storefrontId: String?
    package var transactionReason: TransactionReason?
    /// The price in thousandths of the currency's unit, at the time of sale. The price is for the
    /// whole quantity or, for the seats of a subscription, the rounded average price of one seat.
    package var price: Int64?
    /// The currency's code in ISO 4217.
    package var currency: String?
    /// Identifies a pair of an Apple account and an app.
    package var appTransactionId: String?
    package var billingPlanType: BillingPlanType?
    package var commitmentInfo: TransactionCommitment?
    /// The id that the chain had before a migration to Advanced Commerce.
    package var previousOriginalTransactionId: String?
    package var advancedCommerceInfo: AdvancedCommerceTransaction?
    package var multiSeatInfo: TransactionSeats?
    /// Why the period has several transactions. Set on each of them.
    package var additionalTransactionReason: AdditionalTransactionReason?
    package var deviceVerification: String?
    package var deviceVerificationNonce: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("transactionId", &transactionId)
        fields.field("originalTransactionId", &originalTransactionId)
        fields.field("webOrderLineItemId", &webOrderLineItemId)
        fields.field("bundleId", &bundleId)
        fields.field("productId", &productId)
        fields.field("subscriptionGroupIdentifier", &subscriptionGroupIdentifier)
        fields.field("purchaseDate", &purchaseDate)
        fields.field("originalPurchaseDate", &originalPurchaseDate)
        fields.field("expiresDate", &expiresDate)
        fields.field("quantity", &quantity)
        fields.field("type", &type)
        fields.field("appAccountToken", &appAccountToken)
        fields.field("inAppOwnershipType", &inAppOwnershipType)
        fields.field("signedDate", &signedDate)
        fields.field("revocationReason", &revocationReason)
        fields.field("revocationDate", &revocationDate)
        fields.field("revocationType", &revocationType)
        fields.field("revocationPercentage", &revocationPercentage)
        fields.field("isUpgraded", &isUpgraded)
        fields.field("offerType", &offerType)
        fields.field("offerIdentifier", &offerIdentifier)
        fields.field("offerPeriod", &offerPeriod)
        fields.field("offerDiscountType", &offerDiscountType)
        fields.field("environment", &environment)
        fields.field("storefront", &storefront)
        fields.field("storefrontId", &storefrontId)
        fields.field("transactionReason", &transactionReason)
        fields.field("price", &price)
        fields.field("currency", &currency)
        fields.field("appTransactionId", &appTransactionId)
        fields.field("billingPlanType", &billingPlanType)
        fields.field("commitmentInfo", &commitmentInfo)
        fields.field("previousOriginalTransactionId", &previousOriginalTransactionId)
        fields.field("advancedCommerceInfo", &advancedCommerceInfo)
        fields.field("multiSeatInfo", &multiSeatInfo)
        fields.field("additionalTransactionReason", &additionalTransactionReason)
        fields.field("deviceVerification", &deviceVerification)
        fields.field("deviceVerificationNonce", &deviceVerificationNonce)
    }
}

/// The position of a month within a commitment of twelve months.
package struct TransactionCommitment: WireObject {
    package var billingPeriodNumber: Int64?
    package var totalBillingPeriods: Int64?
    package var commitmentExpiresDate: AppStoreDate?
    /// The price of the whole commitment, in thousandths of the currency's unit.
    package var commitmentPrice: Int64?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("billingPeriodNumber", &billingPeriodNumber)
        fields.field("totalBillingPeriods", &totalBillingPeriods)
        fields.field("commitmentExpiresDate", &commitmentExpiresDate)
        fields.field("commitmentPrice", &commitmentPrice)
    }
}
