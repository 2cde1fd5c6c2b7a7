/// The response of `GET /v1/offerings`: the products of an app, what each product gives, and the
/// rules that an app needs while it cannot reach the server.
///
/// ``jws`` contains the same members, signed. The payload has all members except `jws`, and also
/// `iss`, `aud` and `iat`. So this type can be decoded from the payload.
public struct Offerings: Hashable, Sendable, Codable {
    /// The app's name in the configuration.
    public var app: String
    public var bundleID: String
    public var environment: StoreEnvironment
    /// Every product that gives an entitlement or a credit, sorted by id. Any other product gives
    /// nothing.
    public var products: [Product]
    /// The placements, in the order of the configuration. The first one is the default.
    public var placements: [Placement]
    /// What the app may do with the wallets of each currency, by the currency's name.
    public var wallets: [String: Wallet]
    /// The time zone in which the days and months of terms are counted, such as `Europe/Vienna`.
    public var timeZone: String
    /// What happens to a term that is bought while another term of its chain runs: `stack`,
    /// `extend` or `refuse`.
    public var overlap: String
    /// How long access stays open after the end of a period if its renewal is not confirmed.
    public var unconfirmedHoldHours: Int
    /// The number of days for which an app without a network may rely on a token.
    public var offlineDays: Int
    /// The offerings signed with ES256 by the key of the app's tokens. Nil if the app has no
    /// tokens.
    public var jws: String?

    public init(
        app: String, bundleID: String, environment: StoreEnvironment, products: [Product] = [],
        placements: [Placement] = [], wallets: [String: Wallet] = [:], timeZone: String,
        overlap: String, unconfirmedHoldHours: Int, offlineDays: Int, jws: String? = nil
    ) {
        self.app = app
        self.bundleID = bundleID
        self.environment = environment
        self.products = products
        self.placements = placements
        self.wallets = wallets
        self.timeZone = timeZone
        self.overlap = overlap
        self.unconfirmedHoldHours = unconfirmedHoldHours
        self.offlineDays = offlineDays
        self.jws = jws
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case app
        case bundleID = "bundle_id"
        case environment
        case products
        case placements
        case wallets
        case timeZone = "time_zone"
        case overlap
        case unconfirmedHoldHours = "unconfirmed_hold_hours"
        case offlineDays = "offline_days"
        case jws
    }

    /// The entitlements and credits that one product gives.
    public struct Product: Hashable, Sendable, Codable {
        public var productID: String
        /// The entitlements that the product gives, sorted by name.
        public var entitlements: [String]
        /// The length of the term. Nil unless the product is a term, which does not renew.
        public var term: Term?
        /// The amount that one unit of the product adds to each wallet, by currency.
        public var credits: [String: Int64]
        /// Whether the product can be shared by Family Sharing. Nil if the configuration names no
        /// `.storekit` file with this product.
        public var familyShareable: Bool?

        public init(
            productID: String, entitlements: [String] = [], term: Term? = nil,
            credits: [String: Int64] = [:], familyShareable: Bool? = nil
        ) {
            self.productID = productID
            self.entitlements = entitlements
            self.term = term
            self.credits = credits
            self.familyShareable = familyShareable
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case productID = "product_id"
            case entitlements
            case term
            case credits
            case familyShareable = "family_shareable"
        }
    }

    /// The length of a term by the calendar: the months first, then the days.
    public struct Term: Hashable, Sendable, Codable {
        public var months: Int
        /// The whole days of the term in addition to the months, without the bonus.
        public var days: Int
        /// The bonus days in addition to the paid time.
        public var bonusDays: Int
        /// The name of the chain. Terms of one chain follow each other; terms of different chains
        /// run in parallel.
        public var chain: String

        public init(months: Int, days: Int, bonusDays: Int, chain: String) {
            self.months = months
            self.days = days
            self.bonusDays = bonusDays
            self.chain = chain
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case months
            case days
            case bonusDays = "bonus_days"
            case chain
        }
    }

    /// A place in the app where products are offered, such as a paywall.
    public struct Placement: Hashable, Sendable, Codable {
        public var placementID: String
        /// The products' ids, in the order in which they are shown.
        public var products: [String]
        /// The app's own values, as configured.
        public var metadata: [String: MetadataValue]

        public init(
            placementID: String, products: [String], metadata: [String: MetadataValue] = [:]
        ) {
            self.placementID = placementID
            self.products = products
            self.metadata = metadata
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case placementID = "placement_id"
            case products
            case metadata
        }
    }

    /// What an app may do with the wallets of one currency.
    public struct Wallet: Hashable, Sendable, Codable {
        /// Who may debit a wallet: `server` (only the app's server, with a secret key) or `app`
        /// (the app, too).
        public var spend: String
        /// The amount that the app may spend before the server has confirmed it. Nil if the app may
        /// spend nothing.
        public var maxOffline: Int64?
        /// Whether spending may make the balance negative.
        public var allowsDebt: Bool

        public init(spend: String, maxOffline: Int64?, allowsDebt: Bool) {
            self.spend = spend
            self.maxOffline = maxOffline
            self.allowsDebt = allowsDebt
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case spend
            case maxOffline = "max_offline"
            case allowsDebt = "allows_debt"
        }
    }
}
