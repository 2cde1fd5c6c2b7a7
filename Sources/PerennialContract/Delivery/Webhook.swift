/// The response of `GET /v1/webhooks`.
public struct WebhookList: Hashable, Sendable, Codable {
    public var items: [Webhook]

    public init(
        items: [Webhook]
    ) {
        self.items = items
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case items
    }
}

/// An address to which the events of an app are posted.
public struct Webhook: Hashable, Sendable, Codable {
    public var webhookID: String
    /// The scheme, host and port of the address. The path and the query are left out, because they
    /// may contain a secret.
    public var url: String
    /// The types of events that are delivered. Nil means all.
    public var types: [EventType]?
    /// The products whose events are delivered. Nil means all.
    public var products: [String]?
    /// The environments whose events are delivered. Nil means all.
    public var environments: [StoreEnvironment]?
    public var format: Format
    /// Whether requests have the header `Authorization`. Its value is never shown.
    public var hasAuthorization: Bool
    /// Whether the webhook is in perennial.yaml. A request can pause such a webhook, but not change
    /// or remove it.
    public var isConfigured: Bool
    public var isPaused: Bool
    /// Why the webhook is paused: `asked` if a request paused it, or `gone` if the receiver
    /// answered 410.
    public var pauseReason: String?
    public var createdAt: Timestamp
    /// When the first failure since the last success occurred. Nil if the last attempt succeeded.
    public var failingSince: Timestamp?
    /// The secret. The secret is shown only once: in the response that adds the webhook or rotates
    /// its secret.
    public var secret: String?

    /// The form of the body.
    public struct Format: ContractWord {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The form of ``WebhookMessage``.
        public static let perennial = Self(rawValue: "perennial")
        /// The form of RevenueCat's webhooks. One event can cause no webhook, one or several.
        public static let revenueCat = Self(rawValue: "revenuecat")

        /// All formats that this version of the server has.
        public static let known: [Format] = [perennial, revenueCat]
    }

    public init(
        webhookID: String, url: String, types: [EventType]? = nil, products: [String]? = nil,
        environments: [StoreEnvironment]? = nil, format: Format, hasAuthorization: Bool,
        isConfigured: Bool, isPaused: Bool, pauseReason: String? = nil, createdAt: Timestamp,
        failingSince: Timestamp? = nil, secret: String? = nil
    ) {
        self.webhookID = webhookID
        self.url = url
        self.types = types
        self.products = products
        self.environments = environments
        self.format = format
        self.hasAuthorization = hasAuthorization
        self.isConfigured = isConfigured
        self.isPaused = isPaused
        self.pauseReason = pauseReason
        self.createdAt = createdAt
        self.failingSince = failingSince
        self.secret = secret
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case webhookID = "webhook_id"
        case url
        case types
        case products
        case environments
        case format
        case hasAuthorization = "has_authorization"
        case isConfigured = "configured"
        case isPaused = "paused"
        case pauseReason = "pause_reason"
        case createdAt = "created_at"
        case failingSince = "failing_since"
        case secret
    }
}

/// The body of `POST /v1/webhooks`.
public struct WebhookRequest: Hashable, Sendable, Codable {
    public var url: String
    /// The types of events to deliver. An empty list means all, and so does nil for a new webhook.
    public var types: [String]?
    public var products: [String]?
    public var environments: [String]?
    public var format: String?
    /// The value of the header `Authorization`. An empty text means none.
    public var authorization: String?
    /// The secret: `whsec_` and the Base64 of 24 to 64 bytes. If nil, the server creates one.
    public var secret: String?
    public var paused: Bool?

    public init(
        url: String, types: [String]? = nil, products: [String]? = nil,
        environments: [String]? = nil, format: String? = nil, authorization: String? = nil,
        secret: String? = nil, paused: Bool? = nil
    ) {
        self.url = url
        self.types = types
        self.products = products
        self.environments = environments
        self.format = format
        self.authorization = authorization
        self.secret = secret
        self.paused = paused
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case url
        case types
        case products
        case environments
        case format
        case authorization
        case secret
        case paused
    }
}

/// The body of `PATCH /v1/webhooks/{webhook_id}`. A nil member leaves the value unchanged.
public struct WebhookChangeRequest: Hashable, Sendable, Codable {
    public var url: String?
    /// The types of events to deliver. An empty list means all; nil changes nothing.
    public var types: [String]?
    public var products: [String]?
    public var environments: [String]?
    public var format: String?
    /// The value of the header `Authorization`. An empty text means none.
    public var authorization: String?
    public var paused: Bool?

    public init(
        url: String? = nil, types: [String]? = nil, products: [String]? = nil,
        environments: [String]? = nil, format: String? = nil, authorization: String? = nil,
        paused: Bool? = nil
    ) {
        self.url = url
        self.types = types
        self.products = products
        self.environments = environments
        self.format = format
        self.authorization = authorization
        self.paused = paused
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case url
        case types
        case products
        case environments
        case format
        case authorization
        case paused
    }
}

/// The body of `POST /v1/webhooks/{webhook_id}/secret`.
public struct WebhookSecretRequest: Hashable, Sendable, Codable {
    /// The new secret. If nil, the server creates a secret.
    public var secret: String?
    /// The number of hours for which requests are also signed with the former secret. If nil, 24.
    public var overlapHours: Int?

    public init(
        secret: String? = nil, overlapHours: Int? = nil
    ) {
        self.secret = secret
        self.overlapHours = overlapHours
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case secret
        case overlapHours = "overlap_hours"
    }
}

/// The body of `POST /v1/webhooks/{webhook_id}/replay`, which selects the events that are delivered
/// once more. A nil member does not restrict the selection.
public struct WebhookReplayRequest: Hashable, Sendable, Codable {
    /// The cursor after which the selection begins.
    public var after: String?
    /// The cursor of the last event.
    public var until: String?
    /// Selects only events that the server learned of at this time or later.
    public var from: Timestamp?
    /// Selects only events that the server learned of before this time.
    public var to: Timestamp?
    /// The id of the only event to deliver.
    public var eventID: String?
    /// Selects only events of this customer.
    public var customerID: String?

    public init(
        after: String? = nil, until: String? = nil, from: Timestamp? = nil, to: Timestamp? = nil,
        eventID: String? = nil, customerID: String? = nil
    ) {
        self.after = after
        self.until = until
        self.from = from
        self.to = to
        self.eventID = eventID
        self.customerID = customerID
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case after
        case until
        case from
        case to
        case eventID = "event_id"
        case customerID = "customer_id"
    }
}

/// The response of `POST /v1/webhooks/{webhook_id}/replay`.
public struct WebhookReplayResult: Hashable, Sendable, Codable {
    /// The number of events that are delivered once more.
    public var count: Int
    /// The cursor of the last selected event if there are more events: send it as `after`, with the
    /// other members unchanged. Nil if there are no more.
    public var nextCursor: String?

    public init(
        count: Int, nextCursor: String? = nil
    ) {
        self.count = count
        self.nextCursor = nextCursor
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case count
        case nextCursor = "next_cursor"
    }
}
