/// A chain of renewals, with the period that counts at the time of the response.
public struct Subscription: Hashable, Sendable, Codable {
    public var purchaseID: String
    public var productID: String
    public var originalTransactionID: String
    public var state: AccessState
    public var period: Period
    /// Nil if the App Store has not said.
    public var willRenew: Bool?
    /// The product of the next period. Nil if there will be none, or if the App Store has not said.
    public var renewsTo: String?
    /// The end of the grace period, in which the App Store grants access although it could not
    /// collect the renewal. After its end it stays until the next payment. Nil if there was none.
    public var graceUntil: Timestamp?
    /// Nil if the App Store does not say, for example for a family member's purchase.
    public var price: Money?
    /// Set if the customer has committed to a number of months and pays monthly.
    public var commitment: Commitment?
    public var ownership: Ownership
    public var store: StoreName
    public var environment: StoreEnvironment

    /// A period of time, excluding its end.
    public struct Period: Hashable, Sendable, Codable {
        public var from: Timestamp
        public var until: Timestamp?

        public init(from: Timestamp, until: Timestamp?) {
            self.from = from
            self.until = until
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case from
            case until
        }
    }

    /// The current month within the months of the commitment.
    public struct Commitment: Hashable, Sendable, Codable {
        /// The number of the current month, from 1.
        public var month: Int
        /// How many months the customer has committed to.
        public var months: Int
        /// When the commitment ends.
        public var until: Timestamp?
        /// Whether another commitment follows. Nil if the App Store has not said.
        public var renews: Bool?

        public init(month: Int, months: Int, until: Timestamp?, renews: Bool?) {
            self.month = month
            self.months = months
            self.until = until
            self.renews = renews
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case month
            case months
            case until
            case renews
        }
    }

    public init(
        purchaseID: String, productID: String, originalTransactionID: String, state: AccessState,
        period: Period, willRenew: Bool?, renewsTo: String?, graceUntil: Timestamp?, price: Money?,
        commitment: Commitment? = nil, ownership: Ownership, store: StoreName = .appStore,
        environment: StoreEnvironment
    ) {
        self.purchaseID = purchaseID
        self.productID = productID
        self.originalTransactionID = originalTransactionID
        self.state = state
        self.period = period
        self.willRenew = willRenew
        self.renewsTo = renewsTo
        self.graceUntil = graceUntil
        self.price = price
        self.commitment = commitment
        self.ownership = ownership
        self.store = store
        self.environment = environment
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case purchaseID = "purchase_id"
        case productID = "product_id"
        case originalTransactionID = "original_transaction_id"
        case state
        case period
        case willRenew = "will_renew"
        case renewsTo = "renews_to"
        case graceUntil = "grace_until"
        case price
        case commitment
        case ownership
        case store
        case environment
    }
}
