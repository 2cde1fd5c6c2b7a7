/// The response of `GET /v1/notifications`: the recorded notifications of the App Store, latest
/// signature first.
public struct NotificationList: Hashable, Sendable, Codable {
    public var items: [Line]
    /// The cursor of the page with older notifications. Nil on the last page. A page may have fewer
    /// items than were requested, even if it is not the last page.
    public var nextCursor: String?

    /// One notification.
    public struct Line: Hashable, Sendable, Codable {
        /// The id of the signed document, like ``Event/Cause/documentID``.
        public var documentID: String
        /// The type in Apple's word, such as `DID_RENEW`. Empty if the stored document is damaged.
        public var type: String
        public var subtype: String?
        public var environment: StoreEnvironment
        /// How the notification arrived: `notification` if Apple sent it, `reconciliation` if the
        /// server requested it from Apple, `import`, or `device`.
        public var source: String
        public var signedAt: Timestamp
        public var receivedAt: Timestamp
        /// The owner of the purchase. Nil if the notification is about no purchase, or if the
        /// purchase has no owner.
        public var customerID: String?
        /// The original transaction id of the purchase that the notification is about.
        public var originalTransactionID: String?
        /// The number of forwarding addresses that have accepted the notification.
        public var forwardsAccepted: Int
        /// The number of forwarding addresses that have not accepted the notification yet.
        public var forwardsWaiting: Int

        public init(
            documentID: String, type: String, subtype: String? = nil,
            environment: StoreEnvironment, source: String, signedAt: Timestamp,
            receivedAt: Timestamp, customerID: String? = nil, originalTransactionID: String? = nil,
            forwardsAccepted: Int = 0, forwardsWaiting: Int = 0
        ) {
            self.documentID = documentID
            self.type = type
            self.subtype = subtype
            self.environment = environment
            self.source = source
            self.signedAt = signedAt
            self.receivedAt = receivedAt
            self.customerID = customerID
            self.originalTransactionID = originalTransactionID
            self.forwardsAccepted = forwardsAccepted
            self.forwardsWaiting = forwardsWaiting
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case documentID = "document_id"
            case type
            case subtype
            case environment
            case source
            case signedAt = "signed_at"
            case receivedAt = "received_at"
            case customerID = "customer_id"
            case originalTransactionID = "original_transaction_id"
            case forwardsAccepted = "forwards_accepted"
            case forwardsWaiting = "forwards_waiting"
        }
    }

    public init(items: [Line], nextCursor: String?) {
        self.items = items
        self.nextCursor = nextCursor
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case items
        case nextCursor = "next_cursor"
    }
}

/// The response of `GET /v1/notifications/summary`: the notifications of the last 24 hours.
public struct NotificationSummary: Hashable, Sendable, Codable {
    public var environment: StoreEnvironment
    public var from: Timestamp
    public var until: Timestamp
    /// Whether all notifications were counted. False if there were so many that only the latest
    /// were counted.
    public var complete: Bool
    public var received: Int
    /// The number of notifications that had not arrived, so that the server requested them from the
    /// App Store.
    public var backfilled: Int
    /// The median time from signature to arrival, in milliseconds. Nil if there were no
    /// notifications.
    public var medianDelayMilliseconds: Int?
    /// The 99th percentile of the time from signature to arrival, in milliseconds. Nil if there
    /// were no notifications.
    public var slowDelayMilliseconds: Int?
    /// The counts for each hour, by time of signature, oldest first. The last hour is not over yet.
    public var hours: [Hour]
    /// The number of notifications that arrived more than once since this server started.
    public var repeated: Int
    /// The number of notifications that were refused since this server started.
    public var refused: Int

    /// The counts of one hour.
    public struct Hour: Hashable, Sendable, Codable {
        public var from: Timestamp
        public var received: Int
        /// The number of notifications of the hour that the server requested from the App Store.
        public var backfilled: Int

        public init(from: Timestamp, received: Int = 0, backfilled: Int = 0) {
            self.from = from
            self.received = received
            self.backfilled = backfilled
        }
    }

    public init(
        environment: StoreEnvironment, from: Timestamp, until: Timestamp, complete: Bool,
        received: Int, backfilled: Int, medianDelayMilliseconds: Int? = nil,
        slowDelayMilliseconds: Int? = nil, hours: [Hour], repeated: Int, refused: Int
    ) {
        self.environment = environment
        self.from = from
        self.until = until
        self.complete = complete
        self.received = received
        self.backfilled = backfilled
        self.medianDelayMilliseconds = medianDelayMilliseconds
        self.slowDelayMilliseconds = slowDelayMilliseconds
        self.hours = hours
        self.repeated = repeated
        self.refused = refused
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case environment
        case from
        case until
        case complete
        case received
        case backfilled
        case medianDelayMilliseconds = "median_delay_ms"
        case slowDelayMilliseconds = "slow_delay_ms"
        case hours
        case repeated
        case refused
    }
}
