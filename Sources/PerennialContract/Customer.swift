/// What one customer may use, why, and what they bought: the answer to most questions.
///
/// A name that was never had is absent from `entitlements`; one that ended is there, and not
/// active.
public struct Customer: Hashable, Sendable, Codable {
    public var customerID: String
    /// The other ids of the same customer.
    public var aliases: [String]
    public var environment: StoreEnvironment
    /// The moment for which this answer holds.
    public var asOf: Timestamp
    public var entitlements: [String: Entitlement]
    public var subscriptions: [Subscription]
    public var nonRenewing: [NonRenewing]
    public var oneTime: [OneTimePurchase]
    public var wallets: [String: Wallet]
    /// What they may use, signed (ES256), for checks without the server; nil where the app wants
    /// none.
    public var token: String?

    public init(
        customerID: String, aliases: [String] = [], environment: StoreEnvironment, asOf: Timestamp,
        entitlements: [String: Entitlement] = [:], subscriptions: [Subscription] = [],
        nonRenewing: [NonRenewing] = [], oneTime: [OneTimePurchase] = [],
        wallets: [String: Wallet] = [:], token: String? = nil
    ) {
        self.customerID = customerID
        self.aliases = aliases
        self.environment = environment
        self.asOf = asOf
        self.entitlements = entitlements
        self.subscriptions = subscriptions
        self.nonRenewing = nonRenewing
        self.oneTime = oneTime
        self.wallets = wallets
        self.token = token
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
        case aliases
        case environment
        case asOf = "as_of"
        case entitlements
        case subscriptions
        case nonRenewing = "non_renewing"
        case oneTime = "one_time"
        case wallets
        case token
    }
}
