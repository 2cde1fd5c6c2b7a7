/// The response of `GET /v1/webhooks/{webhook_id}/deliveries`, newest first.
public struct WebhookDeliveryList: Hashable, Sendable, Codable {
    public var items: [WebhookDelivery]
    /// The cursor of the page with older deliveries. Nil on the last page.
    public var nextCursor: String?

    public init(
        items: [WebhookDelivery], nextCursor: String? = nil
    ) {
        self.items = items
        self.nextCursor = nextCursor
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case items
        case nextCursor = "next_cursor"
    }
}

/// The delivery of one event to one webhook.
public struct WebhookDelivery: Hashable, Sendable, Codable {
    /// The value of the header `webhook-id`, the same for every attempt.
    public var deliveryID: String
    /// The type of the event, or `test`.
    public var type: String
    /// The position of the event in the log. Nil for a test.
    public var sequence: Int64?
    public var state: State
    public var createdAt: Timestamp
    public var attempts: Int
    public var lastAttemptAt: Timestamp?
    /// The HTTP status of the last answer. Nil if no answer arrived.
    public var lastStatus: Int?
    /// Why no answer to the last attempt arrived. Nil if an answer arrived.
    public var lastTrouble: String?
    /// When the next attempt is due. Nil if there will be no further attempt, or if the delivery
    /// waits for an earlier delivery of the same customer.
    public var nextAttemptAt: Timestamp?
    public var endedAt: Timestamp?
    /// Every attempt of the delivery. Nil in lists.
    public var log: [WebhookAttempt]?

    /// The state of a delivery.
    public struct State: ContractWord {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let waiting = Self(rawValue: "waiting")
        public static let delivered = Self(rawValue: "delivered")
        /// The maximum number of attempts was made, without success.
        public static let failed = Self(rawValue: "failed")

        /// All states that this version of the server reports.
        public static let known: [State] = [waiting, delivered, failed]
    }

    public init(
        deliveryID: String, type: String, sequence: Int64? = nil, state: State,
        createdAt: Timestamp, attempts: Int, lastAttemptAt: Timestamp? = nil,
        lastStatus: Int? = nil, lastTrouble: String? = nil, nextAttemptAt: Timestamp? = nil,
        endedAt: Timestamp? = nil, log: [WebhookAttempt]? = nil
    ) {
        self.deliveryID = deliveryID
        self.type = type
        self.sequence = sequence
        self.state = state
        self.createdAt = createdAt
        self.attempts = attempts
        self.lastAttemptAt = lastAttemptAt
        self.lastStatus = lastStatus
        self.lastTrouble = lastTrouble
        self.nextAttemptAt = nextAttemptAt
        self.endedAt = endedAt
        self.log = log
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case deliveryID = "delivery_id"
        case type
        case sequence
        case state
        case createdAt = "created_at"
        case attempts
        case lastAttemptAt = "last_attempt_at"
        case lastStatus = "last_status"
        case lastTrouble = "last_trouble"
        case nextAttemptAt = "next_attempt_at"
        case endedAt = "ended_at"
        case log
    }
}

/// One attempt of a delivery.
public struct WebhookAttempt: Hashable, Sendable, Codable {
    public var at: Timestamp
    /// How long the attempt took, in milliseconds.
    public var milliseconds: Int64
    /// The HTTP status of the answer. Nil if no answer arrived.
    public var status: Int?
    /// Why no answer arrived. Nil if an answer arrived.
    public var trouble: String?
    /// The first 4 KiB of the answer, without the secrets of the webhook.
    public var answer: String?

    public init(
        at: Timestamp, milliseconds: Int64, status: Int? = nil, trouble: String? = nil,
        answer: String? = nil
    ) {
        self.at = at
        self.milliseconds = milliseconds
        self.status = status
        self.trouble = trouble
        self.answer = answer
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case at
        case milliseconds
        case status
        case trouble
        case answer
    }
}

/// The body that is posted to a webhook.
public struct WebhookMessage: Hashable, Sendable, Codable {
    /// The type of the event, or `test`.
    public var type: EventType
    /// When the server learned of the event.
    public var timestamp: Timestamp
    public var data: Content

    /// An event and its customer.
    public struct Content: Hashable, Sendable, Codable {
        /// The event. Nil for a test.
        public var event: Event?
        /// The customer after the event. Later events may already be included. Nil if the event has
        /// no customer.
        public var customer: Customer?

        public init(event: Event?, customer: Customer?) {
            self.event = event
            self.customer = customer
        }
    }

    public init(
        type: EventType, timestamp: Timestamp, data: Content
    ) {
        self.type = type
        self.timestamp = timestamp
        self.data = data
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case type
        case timestamp
        case data
    }
}
