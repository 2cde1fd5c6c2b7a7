// Advanced Commerce is not simulated. These types exist because properties use them.

extension Transaction {
    public struct AdvancedCommerceInfo: Equatable, Hashable, Sendable {
        public let requestReferenceID: String
        public let estimatedTax: Decimal
        public let taxRate: Decimal
        public let taxCode: String
        public let taxExclusivePrice: Decimal
        public let description: String?
        public let displayName: String?
        public let period: SubscriptionPeriod?
        public let items: [Item]

        public struct Item: Equatable, Hashable, Sendable {
            public let details: Details
            public let refunds: [Refund]?
            public let revocationDate: Date?

            public struct Details: Equatable, Hashable, Sendable {
                public let sku: String
                public let displayName: String
                public let description: String
                public let offer: Offer?
                public let price: Decimal
                public let seatPriceTiers: [SeatPriceTier]
            }
        }

        public struct Offer: Equatable, Hashable, Sendable {
            public let price: Decimal
            public let period: SubscriptionPeriod
            public let periodCount: Int
            public let reason: Reason

            public struct Reason: RawRepresentable, Equatable, Hashable, Sendable {
                public let rawValue: String
                public init(rawValue: String) { self.rawValue = rawValue }

                public static let acquisition = Self(rawValue: "ACQUISITION")
                public static let retention = Self(rawValue: "RETENTION")
                public static let winBack = Self(rawValue: "WIN_BACK")
            }
        }

        public struct SeatPriceTier: Equatable, Hashable, Sendable {
            public let price: Decimal
            public let maximumSeatQuantity: Int?
        }

        public struct Refund: Equatable, Hashable, Sendable {
            public let reason: Reason
            public let type: RefundType
            public let date: Date
            public let amount: Decimal
            public let revokedSeatQuantity: Int?

            public struct Reason: RawRepresentable, Equatable, Hashable, Sendable {
                public let rawValue: String
                public init(rawValue: String) { self.rawValue = rawValue }

                public static let legal = Self(rawValue: "LEGAL")
                public static let modifyItems = Self(rawValue: "MODIFY_ITEMS_REFUND")
                public static let unintended = Self(rawValue: "UNINTENDED_PURCHASE")
                public static let unfulfilled = Self(rawValue: "FULFILLMENT_ISSUE")
                public static let unsatisfied = Self(rawValue: "UNSATISFIED_WITH_PURCHASE")
                public static let other = Self(rawValue: "OTHER")
            }

            public struct RefundType: RawRepresentable, Equatable, Hashable, Sendable {
                public let rawValue: String
                public init(rawValue: String) { self.rawValue = rawValue }

                public static let custom = Self(rawValue: "CUSTOM")
                public static let proRated = Self(rawValue: "PRORATED")
                public static let full = Self(rawValue: "FULL")
            }
        }
    }
}

extension Product.SubscriptionInfo.RenewalInfo {
    public struct AdvancedCommerceInfo: Equatable, Hashable, Sendable {
        public let consistencyToken: String
        public let requestReferenceID: String
        public let taxCode: String
        public let description: String
        public let displayName: String
        public let period: SubscriptionPeriod
        public let items: [Item]

        public struct Item: Equatable, Hashable, Sendable {
            public let details: Transaction.AdvancedCommerceInfo.Item.Details
        }
    }
}
