public import Foundation

extension Perennial {
    /// How a subscription is paid: its whole period at once, or by the month with the promise to
    /// pay for all of it.
    public struct Plan: Hashable, Sendable {
        public var kind: Kind
        /// What is paid at a time.
        public var billingPrice: Decimal
        /// The same as text, as the store writes it.
        public var displayPrice: String
        public var billingPeriod: Period
        /// What the customer promises to pay in all, as text. App Review wants it to be shown.
        public var totalDisplayPrice: String
        /// For how long the customer promises to pay.
        public var totalPeriod: Period
        /// Offers that the store has for this plan, whether or not the customer is eligible.
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

        /// Whether the customer promises to pay more often than once.
        public var isCommitment: Bool { billingPeriod != totalPeriod }

        public struct Kind: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            /// The whole period at once.
            public static let upFront = Self(rawValue: "BILLED_UPFRONT")
            /// By the month, for the whole period.
            public static let monthly = Self(rawValue: "MONTHLY")
        }
    }
}
