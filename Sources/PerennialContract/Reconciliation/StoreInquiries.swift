/// The response of `GET /v1/notifications/asked`: the server's requests to the App Store, for
/// notifications that did not arrive and about purchases.
public struct StoreInquiries: Hashable, Sendable, Codable {
    public var environment: StoreEnvironment
    /// How many notifications were recorded in the last seven days. The next member says how many
    /// of them had to be requested from the App Store.
    public var notifications: Int
    public var backfilled: Int
    /// The longest time from signature to arrival among the requested notifications, in
    /// milliseconds. Nil if there were none.
    public var longestDelayMilliseconds: Int?
    /// False if there were so many that only the latest of them were counted.
    public var complete: Bool
    /// When notifications are requested again. Nil if that is not known yet.
    public var nextBackfillAt: Timestamp?
    /// Whether the configuration has a key for the App Store Server API.
    public var configured: Bool
    public var respondedAt: Timestamp?
    /// The number of requests that failed since the last response.
    public var failures: Int
    /// Until when requests are paused. Nil if there is no pause.
    public var pausedUntil: Timestamp?
    /// How many purchases are due for a check now.
    public var due: Int
    /// The purchases that are checked next, 20 at most.
    public var next: [Check]

    /// When a purchase is checked with the App Store.
    public struct Check: Hashable, Sendable, Codable {
        /// The first transaction of the purchase.
        public var originalTransactionID: String
        public var dueAt: Timestamp
        public var askedAt: Timestamp?
        /// How many checks failed since the last answer.
        public var failures: Int

        public init(
            originalTransactionID: String, dueAt: Timestamp, askedAt: Timestamp? = nil,
            failures: Int
        ) {
            self.originalTransactionID = originalTransactionID
            self.dueAt = dueAt
            self.askedAt = askedAt
            self.failures = failures
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case originalTransactionID = "original_transaction_id"
            case dueAt = "due_at"
            case askedAt = "asked_at"
            case failures
        }
    }

    public init(
        environment: StoreEnvironment, notifications: Int, backfilled: Int,
        longestDelayMilliseconds: Int? = nil, complete: Bool, nextBackfillAt: Timestamp? = nil,
        configured: Bool, respondedAt: Timestamp? = nil, failures: Int,
        pausedUntil: Timestamp? = nil, due: Int, next: [Check]
    ) {
        self.environment = environment
        self.notifications = notifications
        self.backfilled = backfilled
        self.longestDelayMilliseconds = longestDelayMilliseconds
        self.complete = complete
        self.nextBackfillAt = nextBackfillAt
        self.configured = configured
        self.respondedAt = respondedAt
        self.failures = failures
        self.pausedUntil = pausedUntil
        self.due = due
        self.next = next
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case environment
        case notifications
        case backfilled
        case longestDelayMilliseconds = "longest_delay_ms"
        case complete
        case nextBackfillAt = "next_backfill_at"
        case configured
        case respondedAt = "responded_at"
        case failures
        case pausedUntil = "paused_until"
        case due
        case next
    }
}
