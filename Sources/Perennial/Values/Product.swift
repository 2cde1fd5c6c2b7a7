public import Foundation
public import StoreKit

extension Perennial {
    /// The products for sale at one placement.
    public struct Offering: Hashable, Sendable, Identifiable {
        /// The name of the placement. Empty if none is configured.
        public var id: String
        /// In the order of `perennial.yaml`.
        public var products: [Product]
        /// Products that the store does not know, each with the most likely reason.
        public var missing: [MissingProduct]
        /// Your own values from `perennial.yaml`.
        public var metadata: [String: MetadataValue]

        public init(
            id: String, products: [Product], missing: [MissingProduct] = [],
            metadata: [String: MetadataValue] = [:]
        ) {
            self.id = id
            self.products = products
            self.missing = missing
            self.metadata = metadata
        }
    }

    /// A product that the store does not know.
    public struct MissingProduct: Hashable, Sendable {
        public var id: ProductID
        /// One sentence for the developer.
        public var reason: String

        public init(id: ProductID, reason: String) {
            self.id = id
            self.reason = reason
        }
    }

    /// A product, in the customer's language and at the customer's price.
    public struct Product: Hashable, Sendable, Identifiable {
        public var id: ProductID
        public var kind: Kind
        public var name: String
        public var details: String
        public var price: Decimal
        /// The price as text, as the store writes it.
        public var displayPrice: String
        public var currencyCode: String?
        /// The length of one period. For a renewing subscription it comes from the store, for a
        /// term from `perennial.yaml`. Nil for other products.
        public var period: Period?
        /// The plans by which it can be paid. The store names them from iOS 26.4 on. Empty unless
        /// it renews.
        public var plans: [Plan]
        /// The subscription group. Nil unless it renews.
        public var group: String?
        /// Offers that the store has for the product, whether or not the customer is eligible.
        public var offers: [Offer]
        public var entitlements: Set<EntitlementID>
        public var credits: [WalletID: Int]
        public var isFamilyShareable: Bool
        /// The prices of seats, in order. Empty if it is not sold in seats: see ``price(of:)``.
        public var seatTiers: [SeatTier]
        /// StoreKit's own product, for properties that are missing here. Nil in previews.
        public var storeProduct: StoreKit.Product?

        public init(
            id: ProductID, kind: Kind, name: String, details: String = "", price: Decimal,
            displayPrice: String, currencyCode: String? = nil, period: Period? = nil,
            plans: [Plan] = [], group: String? = nil, offers: [Offer] = [],
            entitlements: Set<EntitlementID> = [],
            credits: [WalletID: Int] = [:], isFamilyShareable: Bool = false,
            seatTiers: [SeatTier] = [], storeProduct: StoreKit.Product? = nil
        ) {
            self.id = id
            self.kind = kind
            self.name = name
            self.details = details
            self.price = price
            self.displayPrice = displayPrice
            self.currencyCode = currencyCode
            self.period = period
            self.plans = plans
            self.group = group
            self.offers = offers
            self.entitlements = entitlements
            self.credits = credits
            self.isFamilyShareable = isFamilyShareable
            self.seatTiers = seatTiers
            self.storeProduct = storeProduct
        }

        public struct Kind: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let renewing = Self(rawValue: "renewing")
            /// A subscription that does not renew.
            public static let term = Self(rawValue: "non_renewing")
            public static let nonConsumable = Self(rawValue: "non_consumable")
            public static let consumable = Self(rawValue: "consumable")
        }
    }

    /// A length of time by the calendar.
    public struct Period: Hashable, Sendable {
        public var value: Int
        public var unit: Unit
        /// Additional days, which a term may have.
        public var bonusDays: Int

        public init(_ value: Int, _ unit: Unit, bonusDays: Int = 0) {
            self.value = value
            self.unit = unit
            self.bonusDays = bonusDays
        }

        public struct Unit: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let day = Self(rawValue: "day")
            public static let week = Self(rawValue: "week")
            public static let month = Self(rawValue: "month")
            public static let year = Self(rawValue: "year")
        }
    }

    /// A value of your own from `perennial.yaml`.
    public struct MetadataValue: Hashable, Sendable {
        /// Nil unless it is text.
        public var text: String?
        /// Nil unless it is a number.
        public var number: Double?
        /// Nil unless it is true or false.
        public var flag: Bool?
        /// Nil unless it is a list.
        public var list: [MetadataValue]?
        /// Nil unless it is a mapping.
        public var members: [String: MetadataValue]?

        public init(
            text: String? = nil, number: Double? = nil, flag: Bool? = nil,
            list: [MetadataValue]? = nil, members: [String: MetadataValue]? = nil
        ) {
            self.text = text
            self.number = number
            self.flag = flag
            self.list = list
            self.members = members
        }
    }
}
