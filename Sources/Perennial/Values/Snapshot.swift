public import Foundation

extension Perennial {
    /// All that is known about the customer at one moment.
    public struct Snapshot: Hashable, Sendable {
        public var customer: Customer
        public var environment: StoreEnvironment
        /// By entitlement. One that the customer never had is absent: use the subscript.
        public var access: [EntitlementID: Access]
        public var subscriptions: [Subscription]
        public var terms: [Term]
        public var owned: [OwnedProduct]
        public var wallets: [WalletID: Wallet]
        /// Purchases that wait for a parent, for a bank, or for the server.
        public var waiting: [WaitingPurchase]
        /// False only until the first evidence about this customer.
        public var isKnown: Bool
        /// When the server last answered. Nil if it did not yet.
        public var serverAnswered: Date?
        /// When the App Store last answered. Nil if it did not yet.
        public var storeAnswered: Date?

        public init(
            customer: Customer, environment: StoreEnvironment = .production,
            access: [EntitlementID: Access] = [:], subscriptions: [Subscription] = [],
            terms: [Term] = [], owned: [OwnedProduct] = [], wallets: [WalletID: Wallet] = [:],
            waiting: [WaitingPurchase] = [], isKnown: Bool = true, serverAnswered: Date? = nil,
            storeAnswered: Date? = nil
        ) {
            self.customer = customer
            self.environment = environment
            self.access = access
            self.subscriptions = subscriptions
            self.terms = terms
            self.owned = owned
            self.wallets = wallets
            self.waiting = waiting
            self.isKnown = isKnown
            self.serverAnswered = serverAnswered
            self.storeAnswered = storeAnswered
        }

        public subscript(_ entitlement: EntitlementID) -> Access {
            access[entitlement]
                ?? Access(
                    entitlement: entitlement, isActive: false, isKnown: isKnown,
                    state: isKnown ? .never : .unknown, basis: .nothing)
        }

        /// The entitlements that are open.
        public var active: Set<EntitlementID> {
            Set(access.values.lazy.filter(\.isActive).map(\.entitlement))
        }
    }

    /// Whom the app speaks for.
    public struct Customer: Hashable, Sendable {
        /// Empty for an instant at the very first launch, until one was made.
        public var id: String
        /// Other ids of the same customer.
        public var aliases: [String]
        /// Whether nobody has signed in.
        public var isAnonymous: Bool
        /// What purchases carry as `appAccountToken`. Nil until the server has said.
        public var accountToken: UUID?

        public init(
            id: String, aliases: [String] = [], isAnonymous: Bool = false,
            accountToken: UUID? = nil
        ) {
            self.id = id
            self.aliases = aliases
            self.isAnonymous = isAnonymous
            self.accountToken = accountToken
        }
    }

    /// Where purchases are made.
    public struct StoreEnvironment: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let production = Self(rawValue: "production")
        /// TestFlight, App Review, and sandbox accounts.
        public static let sandbox = Self(rawValue: "sandbox")
        /// A `.storekit` file that Xcode runs. Its purchases are not posted.
        public static let xcode = Self(rawValue: "xcode")
    }
}
