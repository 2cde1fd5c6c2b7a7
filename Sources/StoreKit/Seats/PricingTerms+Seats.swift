extension Product.SubscriptionInfo {
    /// The price of one payment, and how often it is charged.
    public struct BillingInfo: Equatable, Hashable, Sendable {
        /// The price in units of the currency.
        public let price: Decimal
        public let displayPrice: String
        public let period: BillingPeriod
    }
}

extension Product.SubscriptionInfo.PricingTerms {
    /// How the price depends on what is bought.
    public enum PricingModel: Equatable, Hashable, Sendable {
        /// The product is one subscription for one person.
        case singlePrice(SinglePrice)
        /// The product can be bought with several seats at once.
        case seatBased(SeatBasedPricing)
    }

    /// The price of one subscription.
    public struct SinglePrice: Equatable, Hashable, Sendable {
        public let billingInfo: Product.SubscriptionInfo.BillingInfo
        public let commitmentInfo: Product.SubscriptionInfo.CommitmentInfo
    }

    /// The prices of seats.
    public struct SeatBasedPricing: Equatable, Hashable, Sendable {
        /// A range of seats that have the same price. A seat costs the price of the range that
        /// contains the seat's number.
        public struct PriceTier: Equatable, Hashable, Sendable {
            /// The number of the range's first seat, from 1.
            public let minimumSeats: Int
            /// The number of the range's last seat. Nil in the last tier.
            public let maximumSeats: Int?
            /// The price of one seat.
            public let billingInfo: Product.SubscriptionInfo.BillingInfo
        }

        /// One to five tiers, in the order of their seats.
        public let priceTiers: [PriceTier]
    }

    /// The pricing terms for a purchase of several seats. Nil if the product has no tiers.
    static func seats(
        _ tiers: [SeatTierPayload], period: Product.SubscriptionPeriod
    ) -> Self? {
        let priceTiers = tiers.compactMap { SeatBasedPricing.PriceTier($0, period: period) }
            .sorted { $0.minimumSeats < $1.minimumSeats }
        guard let first = priceTiers.first?.billingInfo else { return nil }
        return Self(
            billingPlanType: .upFront, billingPrice: first.price,
            billingDisplayPrice: first.displayPrice, billingPeriod: period,
            commitmentInfo: .init(
                price: first.price, displayPrice: first.displayPrice, period: period),
            subscriptionOffers: [], pricingModel: .seatBased(.init(priceTiers: priceTiers)))
    }
}

/// A tier in the simulator's answer about products.
struct SeatTierPayload: Decodable {
    var minimumSeats: Int
    var maximumSeats: Int?
    var price: String
    var displayPrice: String
}

extension Product.SubscriptionInfo.PricingTerms.SeatBasedPricing.PriceTier {
    /// Creates a tier. Returns nil if the price is not a number.
    fileprivate init?(_ tier: SeatTierPayload, period: Product.SubscriptionPeriod) {
        guard let price = Decimal(string: tier.price) else { return nil }
        minimumSeats = tier.minimumSeats
        maximumSeats = tier.maximumSeats
        billingInfo = .init(price: price, displayPrice: tier.displayPrice, period: period)
    }
}
