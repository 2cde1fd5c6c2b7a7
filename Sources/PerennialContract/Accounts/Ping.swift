/// The response of `GET /v1/ping`: the kind of a key, and its app.
public struct Ping: Hashable, Sendable, Codable {
    /// The kind of the key: `app` or `secret`.
    public var keyKind: String
    /// The app's name in the server's configuration.
    public var app: String
    public var bundleID: String
    /// Whether the app's purchases are made in a simulator.
    public var simulated: Bool
    /// The environments whose purchases the server accepts.
    public var environments: [StoreEnvironment]
    /// Products that the server's configuration names but that the app's `.storekit` file does not
    /// contain. Nil if no such file is configured.
    public var unknownProductIDs: [String]?
    /// Products that were bought but that the server's configuration does not list. Nil in
    /// responses of earlier versions.
    public var unlistedProducts: [UnlistedProduct]?
    public var serverVersion: String
    public var serverTime: Timestamp

    public init(
        keyKind: String, app: String, bundleID: String, simulated: Bool,
        environments: [StoreEnvironment], unknownProductIDs: [String]?,
        unlistedProducts: [UnlistedProduct]? = nil, serverVersion: String, serverTime: Timestamp
    ) {
        self.keyKind = keyKind
        self.app = app
        self.bundleID = bundleID
        self.simulated = simulated
        self.environments = environments
        self.unknownProductIDs = unknownProductIDs
        self.unlistedProducts = unlistedProducts
        self.serverVersion = serverVersion
        self.serverTime = serverTime
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case keyKind = "key_kind"
        case app
        case bundleID = "bundle_id"
        case simulated
        case environments
        case unknownProductIDs = "unknown_product_ids"
        case unlistedProducts = "unlisted_products"
        case serverVersion = "server_version"
        case serverTime = "server_time"
    }
}
