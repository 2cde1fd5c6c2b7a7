/// The response of `GET /v1/notifications/asked`: the server's requests to the App Store, for
/// missing notifications and about purchases.
public struct StoreInquiries: Hashable, Sendable, Codable {
    public var environment: StoreEnvironment
    /// The number of notifications that were recorded in the last seven days.
    public var notifications: Int
    /// The number of those notifications that were requested from the App Store.
    public var backfilled: Int
    /// The longest time from signature to arrival among the requested notifications, in
    /// milliseconds. Nil if no notifications were requested.
    public var longestDelayMilliseconds: Int?
    /// Whether all notifications were counted. False if there were so many that only the latest
    /// were counted.
    public var complete: Bool
    /// When the server requests missing notifications again. Nil if that is not known yet.
    public var nextBackfillAt: Timestamp?
    /// Whether the configuration has a key for the App Store Server API.
    public var configured: Bool
    public var respondedAt: Timestamp?
    /// The number of requests that failed since the last response.
    public var failures: Int
    /// When the pause of requests ends. Nil if requests are not paused.
    public var pausedUntil: Timestamp?
    /// The number of purchases that are due for a check now.
    public var due: Int
    /// The purchases that are checked next, at most 20.
    public var next: [Check]

    /// The next check of one purchase with the App Store.
    public struct Check: Hashable, Sendable, Codable {
        /// The original transaction id of the purchase.
        public var originalTransactionID: String
        public var dueAt: Timestamp
        public var askedAt: Timestamp?
        /// The number of checks that failed since the last answer.
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
