internal import Foundation
public import StoreKit

extension Perennial {
    /// Options of a purchase.
    public struct PurchaseOptions: Hashable, Sendable {
        /// An offer from ``Perennial/offers(for:of:)``. For an introductory offer, nil is
        /// sufficient: the store applies such an offer by itself.
        public var offer: Offer?
        /// The plan to pay by: one of the product's ``Product/plans``. If nil, the plan that pays
        /// the whole period at once.
        public var plan: Plan?
        /// The number of units, 1 to 10, for consumables and terms.
        public var quantity: Int
        /// The total number of seats after the purchase: to add 4 seats to 8, pass 12. Nil for a
        /// purchase for one person.
        public var seats: Int?
        /// The place in the app from which the product is bought.
        public var placement: PlacementID?
        /// Whether to buy even if the customer already has the product, or if another customer
        /// would own the purchase.
        public var regardlessOfAdvice: Bool
        /// StoreKit options that are added unchanged.
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

    /// The result of a purchase.
    public struct Purchase: Hashable, Sendable {
        public var outcome: Outcome
        public var product: ProductID
        public var transactionID: String?
        /// The snapshot after the purchase.
        public var snapshot: Snapshot
        /// Whether the server has recorded the purchase. If false, the purchase is paid, saved on
        /// this device, and posted as soon as the server can be reached.
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

            /// The product was bought, even if nothing had to be paid.
            public static let bought = Self(rawValue: "bought")
            /// A parent or a bank must approve the purchase. After the approval, the purchase
            /// arrives through ``Perennial/changes``.
            public static let pending = Self(rawValue: "pending")
            public static let cancelled = Self(rawValue: "cancelled")
            /// The purchase is a downgrade, which takes effect in the next period.
            public static let planChangeScheduled = Self(rawValue: "plan_change_scheduled")
            /// The customer already has the product.
            public static let alreadyHad = Self(rawValue: "already_had")
            /// The purchase belongs to another customer.
            public static let belongsToAnother = Self(rawValue: "belongs_to_another")
        }
    }

    /// Whether this device advises that the customer buys a product now.
    public struct Advice: Hashable, Sendable {
        public var product: ProductID
        public var buy: Bool
        /// Why the customer should not buy the product. Nil if ``buy`` is true.
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
            /// A term is running, and the app does not sell another term during this time.
            public static let termRuns = Self(rawValue: "term_runs")
            /// The store account of this device pays for another customer.
            public static let storeAccountOfAnother = Self(rawValue: "store_account_of_another")
        }
    }

    /// A purchase that began outside the app: a promoted product, or a win-back offer.
    public struct PurchaseRequest: Hashable, Sendable {
        public var product: ProductID
        /// The id of the offer that was chosen with the product. Nil if no offer was chosen.
        public var offerID: String?

        public init(product: ProductID, offerID: String? = nil) {
            self.product = product
            self.offerID = offerID
        }
    }

    /// Why the app posts purchases.
    public struct Intent: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The customer has just bought.
        public static let purchase = Self(rawValue: "purchase")
        /// The customer asked for a restore.
        public static let restore = Self(rawValue: "restore")
        /// The app found the purchases without a request by the customer. Such a posting takes
        /// nothing from another customer.
        public static let sync = Self(rawValue: "sync")
    }
}
