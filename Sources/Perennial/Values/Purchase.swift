internal import Foundation
public import StoreKit

extension Perennial {
    /// How to buy.
    public struct PurchaseOptions: Hashable, Sendable {
        /// An offer from ``Perennial/offers(for:)``. An introductory offer needs none.
        public var offer: Offer?
        /// One of the product's ``Product/plans``. Nil: the whole period at once.
        public var plan: Plan?
        /// 1 to 10, for consumables and terms.
        public var quantity: Int
        /// How many seats the subscription has after the purchase: 12, to add 4 to 8. Nil: it is
        /// bought for one person.
        public var seats: Int?
        /// The place in the app from which it is bought.
        public var placement: PlacementID?
        /// Buys also what the customer has already, or what would belong to another customer.
        public var regardlessOfAdvice: Bool
        /// Added to ours as they are.
        public var storeOptions: Set<StoreKit.Product.PurchaseOption>

        public init(
            offer: Offer? = nil, plan: Plan? = nil, quantity: Int = 1, seats: Int? = nil,
            placement: PlacementID? = nil,
            regardlessOfAdvice: Bool = false,
            storeOptions: Set<StoreKit.Product.PurchaseOption> = []
        ) {
            self.offer = offer
            self.plan = plan
            self.quantity = quantity
            self.seats = seats
            self.placement = placement
            self.regardlessOfAdvice = regardlessOfAdvice
            self.storeOptions = storeOptions
        }
    }

    /// What became of a purchase.
    public struct Purchase: Hashable, Sendable {
        public var outcome: Outcome
        public var product: ProductID
        public var transactionID: String?
        /// What is known now, with the purchase in it.
        public var snapshot: Snapshot
        /// False if it is paid and kept on this device, and will be posted as soon as the server
        /// can be reached.
        public var isKeptByServer: Bool

        public init(
            outcome: Outcome, product: ProductID, transactionID: String? = nil,
            snapshot: Snapshot, isKeptByServer: Bool = false
        ) {
            self.outcome = outcome
            self.product = product
            self.transactionID = transactionID
            self.snapshot = snapshot
            self.isKeptByServer = isKeptByServer
        }

        public struct Outcome: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            /// Paid, or nothing to pay.
            public static let bought = Self(rawValue: "bought")
            /// A parent or a bank has to agree. It comes by ``Perennial/changes``.
            public static let pending = Self(rawValue: "pending")
            public static let cancelled = Self(rawValue: "cancelled")
            /// A downgrade: it counts from the next period.
            public static let planChangeScheduled = Self(rawValue: "plan_change_scheduled")
            /// The customer has it already.
            public static let alreadyHad = Self(rawValue: "already_had")
            /// It belongs to another customer.
            public static let belongsToAnother = Self(rawValue: "belongs_to_another")
        }
    }

    /// Whether to sell a product to the customer now.
    public struct Advice: Hashable, Sendable {
        public var product: ProductID
        public var buy: Bool
        /// Why not. Nil if ``buy`` is true.
        public var reason: Reason?

        public init(product: ProductID, buy: Bool, reason: Reason? = nil) {
            self.product = product
            self.buy = buy
            self.reason = reason
        }

        public struct Reason: RawRepresentable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let alreadyHad = Self(rawValue: "already_had")
            /// A term runs, and the app sells no second one while it does.
            public static let termRuns = Self(rawValue: "term_runs")
            /// The store account of this device pays for another customer.
            public static let storeAccountOfAnother = Self(rawValue: "store_account_of_another")
        }
    }

    /// A purchase that began outside the app: a promoted product, or a win-back offer.
    public struct PurchaseRequest: Hashable, Sendable {
        public var product: ProductID
        /// The id of the offer that was chosen with it.
        public var offerID: String?

        public init(product: ProductID, offerID: String? = nil) {
            self.product = product
            self.offerID = offerID
        }
    }

    /// Why purchases are handed over.
    public struct Intent: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The customer has just bought.
        public static let purchase = Self(rawValue: "purchase")
        /// The customer asked for it.
        public static let restore = Self(rawValue: "restore")
        /// The app found it by itself. Takes nothing from another customer.
        public static let sync = Self(rawValue: "sync")
    }
}
