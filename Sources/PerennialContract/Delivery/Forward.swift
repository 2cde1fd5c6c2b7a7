/// The response of `GET /v1/forwards`: notifications that were forwarded to other addresses, or
/// that wait to be forwarded, newest first.
public struct ForwardList: Hashable, Sendable, Codable {
    public var items: [Forward]
    /// The cursor of the page with older forwards. Nil on the last page.
    public var nextCursor: String?

    public init(items: [Forward], nextCursor: String?) {
        self.items = items
        self.nextCursor = nextCursor
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case items
        case nextCursor = "next_cursor"
    }
}

/// One notification, and one address to which it is forwarded.
public struct Forward: Hashable, Sendable, Codable {
    /// The id of the signed document, like ``Event/Cause/documentID``.
    public var documentID: String
    /// The scheme, host and port of the address. If the app has several addresses there, some
    /// digits distinguish them: `https://old.example.com#1a2b`. The path and the query are left
    /// out, because they may contain a secret.
    public var url: String
    public var environment: StoreEnvironment
    public var state: State
    public var createdAt: Timestamp
    public var attempts: Int
    public var lastAttemptAt: Timestamp?
    /// The HTTP status of the last response. Nil if no response arrived.
    public var lastStatus: Int?
    /// Why no response arrived. Nil if a response arrived.
    public var lastTrouble: String?
    /// When the next attempt is due. Nil if there is no further attempt.
    public var nextAttemptAt: Timestamp?
    public var acceptedAt: Timestamp?

    /// The state of a forward.
    public struct State: ContractWord {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let waiting = Self(rawValue: "waiting")
        public static let accepted = Self(rawValue: "accepted")
        /// The maximum number of attempts was made, without success.
        public static let givenUp = Self(rawValue: "given_up")
        /// No attempt was made, because too many notifications already waited for this address.
        public static let leftOut = Self(rawValue: "left_out")

        /// All states that this version of the server reports.
        public static let known: [State] = [waiting, accepted, givenUp, leftOut]
    }

    public init(
        documentID: String, url: String, environment: StoreEnvironment, state: State,
        createdAt: Timestamp, attempts: Int, lastAttemptAt: Timestamp? = nil,
        lastStatus: Int? = nil, lastTrouble: String? = nil, nextAttemptAt: Timestamp? = nil,
        acceptedAt: Timestamp? = nil
    ) {
        self.documentID = documentID
        self.url = url
        self.environment = environment
        self.state = state
        self.createdAt = createdAt
        self.attempts = attempts
        self.lastAttemptAt = lastAttemptAt
        self.lastStatus = lastStatus
        self.lastTrouble = lastTrouble
        self.nextAttemptAt = nextAttemptAt
        self.acceptedAt = acceptedAt
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case documentID = "document_id"
        case url
        case environment
        case state
        case createdAt = "created_at"
        case attempts
        case lastAttemptAt = "last_attempt_at"
        case lastStatus = "last_status"
        case lastTrouble = "last_trouble"
        case nextAttemptAt = "next_attempt_at"
        case acceptedAt = "accepted_at"
    }
}
