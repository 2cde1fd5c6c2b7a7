extension Product.SubscriptionInfo {
    public typealias BillingPeriod = Product.SubscriptionPeriod

    /// How a subscription is billed.
    public struct BillingPlanType: RawRepresentable, Equatable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let upFront = Self(rawValue: "BILLED_UPFRONT")
        /// The customer pays monthly, with a commitment for a year.
        public static let monthly = Self(rawValue: "MONTHLY")
    }

    /// The commitment to which the customer agrees.
    public struct CommitmentInfo: Equatable, Hashable, Sendable {
        public let price: Decimal
        public let displayPrice: String
        public let period: Product.SubscriptionPeriod
    }

    /// The terms of one billing plan.
    public struct PricingTerms: Equatable, Hashable, Sendable {
        public let billingPlanType: BillingPlanType
        /// The price of one billing period.
        public let billingPrice: Decimal
        public let billingDisplayPrice: String
        public let billingPeriod: BillingPeriod
        public let commitmentInfo: CommitmentInfo
        public let subscriptionOffers: [Product.SubscriptionOffer]
        /// The price model. If the product is sold in seats, the last of its terms has the prices
        /// of several seats.
        public let pricingModel: PricingModel

        public subscript(
            offers type: Product.SubscriptionOffer.OfferType
        ) -> [Product.SubscriptionOffer] {
            subscriptionOffers.filter { $0.type == type }
        }
    }
}

extension Product.SubscriptionInfo.PricingTerms {
    /// All terms of a product: the terms of its own price, then the terms of each further plan,
    /// then the terms of seats.
    static func all(
        of buy: ProductPayload.Offer, period: Product.SubscriptionPeriod,
        offers: [Product.SubscriptionOffer], seatTiers: [SeatTierPayload]
    ) -> [Self] {
        plans(of: buy, period: period, offers: offers)
            + [seats(seatTiers, period: period)].compactMap { $0 }
    }

    private static func plans(
        of buy: ProductPayload.Offer, period: Product.SubscriptionPeriod,
        offers: [Product.SubscriptionOffer]
    ) -> [Self] {
        let plans = (buy.billingPlans ?? []).compactMap {
            Self($0, period: period, offers: offers)
        }
        guard !plans.contains(where: { $0.billingPlanType == .upFront }),
            let price = Decimal(string: buy.price)
        else { return plans }
        let billing = Product.SubscriptionInfo.BillingInfo(
            price: price, displayPrice: buy.priceFormatted, period: period)
        let upFront = Self(
            .upFront, billing,
            .init(price: price, displayPrice: buy.priceFormatted, period: period), offers)
        return [upFront] + plans
    }

    private init?(
        _ plan: ProductPayload.BillingPlan, period: Product.SubscriptionPeriod,
        offers: [Product.SubscriptionOffer]
    ) {
        guard let price = Decimal(string: plan.price),
            let total = Decimal(string: plan.commitmentPrice)
        else { return nil }
        let type = Product.SubscriptionInfo.BillingPlanType(rawValue: plan.billingPlanType)
        self.init(
            type,
            .init(
                price: price, displayPrice: plan.priceFormatted,
                period: type == .monthly ? .monthly : period),
            .init(price: total, displayPrice: plan.commitmentPriceFormatted, period: period),
            offers)
    }

    /// The terms of a purchase of one subscription.
    private init(
        _ type: Product.SubscriptionInfo.BillingPlanType,
        _ billing: Product.SubscriptionInfo.BillingInfo,
        _ commitment: Product.SubscriptionInfo.CommitmentInfo,
        _ offers: [Product.SubscriptionOffer]
    ) {
        self.init(
            billingPlanType: type, billingPrice: billing.price,
            billingDisplayPrice: billing.displayPrice, billingPeriod: billing.period,
            commitmentInfo: commitment,
            subscriptionOffers: offers.filter { ($0.billingPlan ?? .upFront) == type },
            pricingModel: .singlePrice(.init(billingInfo: billing, commitmentInfo: commitment)))
    }
}
