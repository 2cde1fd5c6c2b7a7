public import Foundation

extension Perennial {
    /// How a subscription is paid: its whole period at once, or monthly with a commitment to the
    /// whole period.
    public struct Plan: Hashable, Sendable {
        public var kind: Kind
        /// The price of one payment, in units of the currency.
        public var billingPrice: Decimal
        /// The price of one payment as the store writes it.
        public var displayPrice: String
        public var billingPeriod: Period
        /// The total that the customer commits to pay, as text. App Review requires that an app
        /// shows this total.
        public var totalDisplayPrice: String
        /// The length of time for which the customer commits to pay.
        public var totalPeriod: Period
        /// The offers that the store has for this plan, whether or not the customer is eligible for
        /// them.
        public var offers: [Offer]

        public init(
            kind: Kind, billingPrice: Decimal, displayPrice: String, billingPeriod: Period,
            totalDisplayPrice: String, totalPeriod: Period, offers: [Offer] = []
        ) {
            self.kind = kind
            self.billingPrice = billingPrice
            self.displayPrice = displayPrice
            self.billingPeriod = billingPeriod
            self.totalDisplayPrice = totalDisplayPrice
            self.totalPeriod = totalPeriod
            self.offers = offers
        }

        /// Whether the customer commits to more than one payment.
        public var isCommitment: Bool { billingPeriod != totalPeriod }

        /// The total number of payments that the customer makes. Nil if the total period is not a
        /// multiple of the billing period.
        public var payments: Int? {
            guard let one = billingPeriod.measure, let whole = totalPeriod.measure,
                one.unit == whole.unit, one.count > 0, whole.count > 0,
                whole.count.isMultiple(of: one.count)
            else { return nil }
            return whole.count / one.count
        }

        public struct Kind: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            /// The customer pays the whole period at once.
            public static let upFront = Self(rawValue: "BILLED_UPFRONT")
            /// The customer pays monthly for the whole period.
            public static let monthly = Self(rawValue: "MONTHLY")
        }
    }
}

extension Perennial.Period {
    /// The length in months or in days. Months and days cannot be converted into each other.
    fileprivate var measure: (count: Int, unit: Unit)? {
        guard bonusDays == 0 else { return nil }
        return switch unit {
        case .year: (value * 12, .month)
        case .month: (value, .month)
        case .week: (value * 7, .day)
        case .day: (value, .day)
        default: nil
        }
    }
}
