public import Foundation
public import StoreKit

extension Perennial {
    /// The products for sale at one placement.
    public struct Offering: Hashable, Sendable, Identifiable {
        /// The name of the placement. Empty if no placement is configured.
        public var id: String
        /// The products for sale, in the order of `perennial.yaml`.
        public var products: [Product]
        /// The products that the store does not know, each with the most probable reason.
        public var missing: [MissingProduct]
        /// The app's own values from `perennial.yaml`.
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
        /// Why the store probably does not know the product, in one sentence for the developer.
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
        /// The price as the store writes it.
        public var displayPrice: String
        public var currencyCode: String?
        /// The length of one period. For a renewing subscription it comes from the store, for a
        /// term from `perennial.yaml`. Nil for other products.
        public var period: Period?
        /// The plans by which the product can be paid. Empty unless the product renews, and before
        /// iOS 26.4.
        public var plans: [Plan]
        /// The id of the subscription group. Nil unless the product renews.
        public var group: String?
        /// The offers that the store has for the product, whether or not the customer is eligible
        /// for them.
        public var offers: [Offer]
        public var entitlements: Set<EntitlementID>
        public var credits: [WalletID: Int]
        public var isFamilyShareable: Bool
        /// The prices of seats, in order. Empty if the product is not sold in seats: see
        /// ``price(of:)``.
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
        /// Days in addition to the period. Zero unless the product is a term.
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

    /// One of the app's own values from `perennial.yaml`.
    public struct MetadataValue: Hashable, Sendable {
        /// The value, if it is text; otherwise nil.
        public var text: String?
        /// The value, if it is a number; otherwise nil.
        public var number: Double?
        /// The value, if it is true or false; otherwise nil.
        public var flag: Bool?
        /// The value, if it is a list; otherwise nil.
        public var list: [MetadataValue]?
        /// The members of the value, if it is a mapping; otherwise nil.
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
