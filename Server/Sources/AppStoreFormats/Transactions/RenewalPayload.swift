/// The payload of signed renewal info (Apple: `JWSRenewalInfoDecodedPayload`). Renewal info names
/// no bundle id. It arrives with a transaction or a notification, and only that document shows the
/// app.
package struct RenewalPayload: WireObject {
    package var originalTransactionId: String?
    package var productId: String?
    /// The product of the next period.
    package var autoRenewProductId: String?
    package var autoRenewStatus: AutoRenewStatus?
    package var isInBillingRetryPeriod: Bool?
    package var gracePeriodExpiresDate: AppStoreDate?
    package var expirationIntent: ExpirationIntent?
    package var priceIncreaseStatus: PriceIncreaseStatus?
    /// The type of the next period's offer. The other offer fields are about the next period, too.
    package var offerType: OfferType?
    package var offerIdentifier: String?
    package var offerDiscountType: OfferDiscountType?
    package var offerPeriod: String?
    /// The price of the next period, in thousandths of the currency's unit. For several seats, the
    /// rounded average price of one seat.
    package var renewalPrice: Int64?
    /// The number of seats that is currently planned for the next period.
    package var renewalQuantity: Int64?
    package var multiSeatInfo: RenewalSeats?
    package var currency: String?
    /// When the subscription renews. May be in the past.
    package var renewalDate: AppStoreDate?
    /// When the customer's present subscription time began. Gaps of less than 60 days do not count.
    package var recentSubscriptionStartDate: AppStoreDate?
    package var signedDate: AppStoreDate?
    package var environment: StoreEnvironment?
    /// The ids of the win-back offers for which the customer is eligible, best first.
    package var eligibleWinBackOfferIds: [String]?
    package var appAccountToken: String?
    package var appTransactionId: String?
    package var renewalBillingPlanType: BillingPlanType?
    package var commitmentInfo: RenewalCommitment?
    package var advancedCommerceInfo: AdvancedCommerceRenewal?
    /// Binds the document to a device. Present, with the nonce, only in documents that are made for
    /// a device.
    package var deviceVerification: String?
    package var deviceVerificationNonce: String?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("originalTransactionId", &originalTransactionId)
        fields.field("productId", &productId)
        fields.field("autoRenewProductId", &autoRenewProductId)
        fields.field("autoRenewStatus", &autoRenewStatus)
        fields.field("isInBillingRetryPeriod", &isInBillingRetryPeriod)
        fields.field("gracePeriodExpiresDate", &gracePeriodExpiresDate)
        fields.field("expirationIntent", &expirationIntent)
        fields.field("priceIncreaseStatus", &priceIncreaseStatus)
        fields.field("offerType", &offerType)
        fields.field("offerIdentifier", &offerIdentifier)
        fields.field("offerDiscountType", &offerDiscountType)
        fields.field("offerPeriod", &offerPeriod)
        fields.field("renewalPrice", &renewalPrice)
        fields.field("renewalQuantity", &renewalQuantity)
        fields.field("multiSeatInfo", &multiSeatInfo)
        fields.field("currency", &currency)
        fields.field("renewalDate", &renewalDate)
        fields.field("recentSubscriptionStartDate", &recentSubscriptionStartDate)
        fields.field("signedDate", &signedDate)
        fields.field("environment", &environment)
        fields.field("eligibleWinBackOfferIds", &eligibleWinBackOfferIds)
        fields.field("appAccountToken", &appAccountToken)
        fields.field("appTransactionId", &appTransactionId)
        fields.field("renewalBillingPlanType", &renewalBillingPlanType)
        fields.field("commitmentInfo", &commitmentInfo)
        fields.field("advancedCommerceInfo", &advancedCommerceInfo)
        fields.field("deviceVerification", &deviceVerification)
        fields.field("deviceVerificationNonce", &deviceVerificationNonce)
    }
}

/// What follows a commitment of twelve months.
package struct RenewalCommitment: WireObject {
    package var commitmentAutoRenewProductId: String?
    package var commitmentAutoRenewStatus: AutoRenewStatus?
    package var commitmentRenewalBillingPlanType: BillingPlanType?
    package var commitmentRenewalDate: AppStoreDate?
    package var commitmentRenewalPrice: Int64?
    package var unknown: [JSON.Member] = []

    package init() {}

    package mutating func walk(_ fields: inout some FieldVisitor) {
        fields.field("commitmentAutoRenewProductId", &commitmentAutoRenewProductId)
        fields.field("commitmentAutoRenewStatus", &commitmentAutoRenewStatus)
        fields.field("commitmentRenewalBillingPlanType", &commitmentRenewalBillingPlanType)
        fields.field("commitmentRenewalDate", &commitmentRenewalDate)
        fields.field("commitmentRenewalPrice", &commitmentRenewalPrice)
    }
}
