/// The response of `GET /v1/audit`: what operators of the dashboard did manually for the app,
/// newest first.
public struct AuditList: Hashable, Sendable, Codable {
    public var items: [AuditEntry]
    /// The cursor of the page with older entries. Nil on the last page.
    public var nextCursor: String?

    public init(items: [AuditEntry], nextCursor: String?) {
        self.items = items
        self.nextCursor = nextCursor
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case items
        case nextCursor = "next_cursor"
    }
}

/// One action of an operator. Its result is added when the action ends. After that, the entry never
/// changes, except for the id of a customer who is erased.
public struct AuditEntry: Hashable, Sendable, Codable {
    public var auditID: String
    public var at: Timestamp
    /// The name of the operator.
    public var author: String
    /// The name of the action, such as `customers.grants` or `webhooks.pause`: docs/dashboard.md
    /// lists all.
    public var act: String
    /// The environment of the action. Nil if the action was not about one environment.
    public var environment: StoreEnvironment?
    /// The customer whom the action was about. Nil if it was about no customer.
    public var customerID: String?
    /// The object of the action, such as the id of a webhook.
    public var subject: String?
    /// The values before the action. Nil if they are unknown, or if there were none.
    public var before: [String: String]?
    /// The values after the action.
    public var after: [String: String]?

    public init(
        auditID: String, at: Timestamp, author: String, act: String,
        environment: StoreEnvironment? = nil, customerID: String? = nil, subject: String? = nil,
        before: [String: String]? = nil, after: [String: String]? = nil
    ) {
        self.auditID = auditID
        self.at = at
        self.author = author
        self.act = act
        self.environment = environment
        self.customerID = customerID
        self.subject = subject
        self.before = before
        self.after = after
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case auditID = "audit_id"
        case at
        case author
        case act
        case environment
        case customerID = "customer_id"
        case subject
        case before
        case after
    }
}
