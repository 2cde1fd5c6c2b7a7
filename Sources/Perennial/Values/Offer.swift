public import Foundation

extension Perennial {
    /// A reduced price for a limited time.
    public struct Offer: Hashable, Sendable {
        /// The offer's id. Nil for an introductory offer, which has no id.
        public var id: String?
        public var kind: Kind
        public var isEligible: Bool
        public var reason: Reason
        public var paymentMode: PaymentMode
        public var price: Decimal
        public var displayPrice: String
        public var period: Period
        public var periodCount: Int

        public init(
            id: String?, kind: Kind, isEligible: Bool = false, reason: Reason = .unknown,
            paymentMode: PaymentMode, price: Decimal, displayPrice: String, period: Period,
            periodCount: Int = 1
        ) {
            self.id = id
            self.kind = kind
            self.isEligible = isEligible
            self.reason = reason
            self.paymentMode = paymentMode
            self.price = price
            self.displayPrice = displayPrice
            self.period = period
            self.periodCount = periodCount
        }

        public struct Kind: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let introductory = Self(rawValue: "introductory")
            public static let promotional = Self(rawValue: "promotional")
            public static let winBack = Self(rawValue: "win_back")
            public static let code = Self(rawValue: "code")
        }

        public struct PaymentMode: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let freeTrial = Self(rawValue: "free_trial")
            public static let payAsYouGo = Self(rawValue: "pay_as_you_go")
            public static let payUpFront = Self(rawValue: "pay_up_front")
        }

        /// Why the customer is or is not eligible, in one word of the server or of the SDK.
        public struct Reason: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            /// Eligibility is not known yet. The customer counts as not eligible.
            public static let unknown = Self(rawValue: "unknown")
            /// The customer has a subscription of the same group.
            public static let subscribedInGroup = Self(rawValue: "subscribed_in_group")
            /// The store says that the customer is not eligible.
            public static let storeSaysNo = Self(rawValue: "store_says_no")
            /// The server could not be asked.
            public static let serverNotAsked = Self(rawValue: "server_not_asked")
        }
    }
}
