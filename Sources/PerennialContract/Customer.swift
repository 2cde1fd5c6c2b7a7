/// A customer: what they have access to and why, and what they bought.
///
/// `entitlements` does not contain an entitlement that the customer never had. An ended entitlement
/// is present, with `active` false.
public struct Customer: Hashable, Sendable, Codable {
    public var customerID: String
    /// Other ids of the same customer.
    public var aliases: [String]
    public var environment: StoreEnvironment
    /// The moment that this response describes.
    public var asOf: Timestamp
    public var entitlements: [String: Entitlement]
    public var subscriptions: [Subscription]
    public var nonRenewing: [NonRenewing]
    public var oneTime: [OneTimePurchase]
    public var wallets: [String: Wallet]
    /// The owner of each purchase that the customer has, except consumables, and of each purchase
    /// that the request posted.
    public var purchases: [PurchaseVerdict]
    /// The products of the customer's purchases that the server's configuration does not list. Such
    /// purchases give no access, although the customer may have paid for them. Nil if all products
    /// are listed.
    public var unlistedProducts: [UnlistedProduct]?
    /// The result for each document that the request posted. Nil if the request posted no document,
    /// or had no `intent`.
    public var outcomes: [DocumentOutcome]?
    /// The UUID to set as `appAccountToken` when the customer buys. Nil if the customer has no such
    /// UUID: see `POST /v1/customers/{id}/account_token`.
    public var accountToken: String?
    /// A signed (ES256) token with the customer's entitlements, for checks without the server. Nil
    /// if the app has no tokens configured.
    public var token: String?
    /// The server's time when it answered. Nil in responses of earlier versions.
    public var serverTime: Timestamp?

    public init(
        customerID: String, aliases: [String] = [], environment: StoreEnvironment, asOf: Timestamp,
        entitlements: [String: Entitlement] = [:], subscriptions: [Subscription] = [],
        nonRenewing: [NonRenewing] = [], oneTime: [OneTimePurchase] = [],
        wallets: [String: Wallet] = [:], purchases: [PurchaseVerdict] = [],
        unlistedProducts: [UnlistedProduct]? = nil,
        outcomes: [DocumentOutcome]? = nil, accountToken: String? = nil, token: String? = nil,
        serverTime: Timestamp? = nil
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
        self.purchases = purchases
        self.unlistedProducts = unlistedProducts
        self.outcomes = outcomes
        self.accountToken = accountToken
        self.token = token
        self.serverTime = serverTime
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
        case purchases
        case unlistedProducts = "unlisted_products"
        case outcomes
        case accountToken = "account_token"
        case token
        case serverTime = "server_time"
    }
}
