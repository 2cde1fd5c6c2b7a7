/// The customers found by `GET /v1/customers?query=`.
public struct CustomerList: Hashable, Sendable, Codable {
    public var items: [Found]
    /// Whether the App Store was also asked, and whether it answered.
    public var appStore: AppStore
    /// The original transaction ids of the purchases that the App Store knows under the searched
    /// number. Nil if the App Store was not asked, or has not answered.
    public var originalTransactionIDs: [String]?

    public init(
        items: [Found], appStore: AppStore = .notAsked, originalTransactionIDs: [String]? = nil
    ) {
        self.items = items
        self.appStore = appStore
        self.originalTransactionIDs = originalTransactionIDs
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case items
        case appStore = "app_store"
        case originalTransactionIDs = "original_transaction_ids"
    }

    /// Whether the App Store was asked about a number that is unknown to this server.
    public struct AppStore: ContractWord {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// This server found a customer or a purchase, or the text is not a number that the App
        /// Store uses.
        public static let notAsked = Self(rawValue: "not_asked")
        public static let answered = Self(rawValue: "answered")
        /// The app has no key for the App Store Server API.
        public static let notConfigured = Self(rawValue: "not_configured")
        /// The App Store did not answer, or its answer could not be used. Search again later.
        public static let failed = Self(rawValue: "failed")

        public static let known: [AppStore] = [notAsked, answered, notConfigured, failed]
    }

    /// One customer or purchase that was found.
    public struct Found: Hashable, Sendable, Codable {
        /// The customer. Nil if the purchase that was found belongs to no customer.
        public var customerID: String?
        public var aliases: [String]
        /// The kind of id that matched: `id`, `transaction_id`, `order_id`, `claim_id` or
        /// `mail_address`.
        public var by: String
        public var purchaseID: String?

        public init(customerID: String?, aliases: [String], by: String, purchaseID: String?) {
            self.customerID = customerID
            self.aliases = aliases
            self.by = by
            self.purchaseID = purchaseID
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case customerID = "customer_id"
            case aliases
            case by
            case purchaseID = "purchase_id"
        }
    }
}
