public import Foundation

extension Perennial {
    /// Everything that is known about the customer at one moment.
    public struct Snapshot: Hashable, Sendable {
        public var customer: Customer
        public var environment: StoreEnvironment
        /// The access by entitlement. An entitlement without any evidence is absent: use the
        /// subscript.
        public var access: [EntitlementID: Access]
        public var subscriptions: [Subscription]
        public var terms: [Term]
        public var owned: [OwnedProduct]
        public var wallets: [WalletID: Wallet]
        /// Whether the server has reported the wallets since the launch.
        public var areWalletsKnown: Bool
        /// Purchases that wait for a parent, for a bank, or for the server.
        public var waiting: [WaitingPurchase]
        /// Whether an entitlement that is missing from ``access`` is shut. False until the server
        /// has reported about this customer on this installation, and while the server has not
        /// decided about every purchase.
        public var isKnown: Bool
        /// When the server last answered. Nil before its first answer.
        public var serverAnswered: Date?
        /// When the App Store last answered. Nil before its first answer.
        public var storeAnswered: Date?

        public init(
            customer: Customer, environment: StoreEnvironment = .production,
            access: [EntitlementID: Access] = [:], subscriptions: [Subscription] = [],
            terms: [Term] = [], owned: [OwnedProduct] = [], wallets: [WalletID: Wallet] = [:],
            areWalletsKnown: Bool = true, waiting: [WaitingPurchase] = [], isKnown: Bool = true,
            serverAnswered: Date? = nil, storeAnswered: Date? = nil
        ) {
            self.customer = customer
            self.environment = environment
            self.access = access
            self.subscriptions = subscriptions
            self.terms = terms
            self.owned = owned
            self.wallets = wallets
            self.areWalletsKnown = areWalletsKnown
            self.waiting = waiting
            self.isKnown = isKnown
            self.serverAnswered = serverAnswered
            self.storeAnswered = storeAnswered
        }

        /// The snapshot before anything is known about a customer.
        package static func unknown(_ customer: Customer) -> Self {
            Self(customer: customer, areWalletsKnown: false, isKnown: false)
        }

        public subscript(_ entitlement: EntitlementID) -> Access {
            access[entitlement]
                ?? Access(
                    entitlement: entitlement, isActive: false, isKnown: isKnown,
                    state: isKnown ? .never : .unknown, basis: .nothing)
        }

        /// The wallet with this id, or an empty wallet if the customer has no such wallet.
        public subscript(wallet wallet: WalletID) -> Wallet {
            var found = wallets[wallet] ?? Wallet(balance: 0)
            found.isKnown = areWalletsKnown
            return found
        }

        /// Whether anything is known: that an entitlement is open, or which entitlements are shut.
        var isAnythingKnown: Bool { isKnown || access.values.contains(where: \.isActive) }

        /// The subscriptions that the customer has bought for several people.
        public var groups: [Subscription] { subscriptions.filter { $0.seats != nil } }

        /// The subscriptions in which another person or an organization pays for the customer's
        /// seat.
        public var memberships: [Subscription] {
            subscriptions.filter { $0.ownership == .assigned }
        }

        /// The entitlements that are open.
        public var active: Set<EntitlementID> {
            Set(access.values.lazy.filter(\.isActive).map(\.entitlement))
        }
    }

    /// The customer that the app uses now.
    public struct Customer: Hashable, Sendable {
        /// The customer's id. Empty for an instant at the very first launch, until an id is
        /// created.
        public var id: String
        /// Other ids of the same customer.
        public var aliases: [String]
        /// Whether no person has signed in.
        public var isAnonymous: Bool
        /// The `appAccountToken` of purchases. Nil until the server has said.
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

    /// The App Store environment in which purchases are made.
    public struct StoreEnvironment: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let production = Self(rawValue: "production")
        /// TestFlight, App Review and sandbox accounts.
        public static let sandbox = Self(rawValue: "sandbox")
        /// A `.storekit` file that Xcode runs. The SDK does not post purchases of this environment.
        public static let xcode = Self(rawValue: "xcode")
    }
}
