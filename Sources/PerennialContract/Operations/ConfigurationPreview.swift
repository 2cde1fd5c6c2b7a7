/// The body of `POST /v1/configuration/preview`.
public struct ConfigurationPreviewRequest: Hashable, Sendable, Codable {
    /// The text of a configuration file, in YAML. The server neither stores nor logs the text.
    public var configuration: String

    public init(configuration: String) { self.configuration = configuration }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case configuration
    }
}

/// What a configuration would change for an app and its customers, if it took effect now.
public struct ConfigurationPreview: Hashable, Sendable, Codable {
    /// One line for each rule that would be removed (`-`) or added (`+`).
    public var differences: [String]
    /// The number of customers that were examined.
    public var customers: Int
    /// Whether all customers were examined. False if the time was too short. In that case only the
    /// customers with the first ids were examined.
    public var complete: Bool
    /// How many customers would lose or gain each entitlement. Entitlements that no customer would
    /// lose or gain are left out.
    public var entitlements: [Change]

    /// How many customers would lose or gain one entitlement.
    public struct Change: Hashable, Sendable, Codable {
        public var entitlement: String
        public var environment: StoreEnvironment
        public var losing: Int
        public var gaining: Int
        /// The first customers who would lose the entitlement, at most 10.
        public var losingIDs: [String]
        /// The first customers who would gain the entitlement, at most 10.
        public var gainingIDs: [String]

        public init(
            entitlement: String, environment: StoreEnvironment, losing: Int, gaining: Int,
            losingIDs: [String], gainingIDs: [String]
        ) {
            self.entitlement = entitlement
            self.environment = environment
            self.losing = losing
            self.gaining = gaining
            self.losingIDs = losingIDs
            self.gainingIDs = gainingIDs
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case entitlement
            case environment
            case losing
            case gaining
            case losingIDs = "losing_ids"
            case gainingIDs = "gaining_ids"
        }
    }

    public init(
        differences: [String], customers: Int, complete: Bool, entitlements: [Change]
    ) {
        self.differences = differences
        self.customers = customers
        self.complete = complete
        self.entitlements = entitlements
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case differences
        case customers
        case complete
        case entitlements
    }
}
