/// The body of `POST /v1/purchases/{original_transaction_id}/invitations`.
public struct SeatInvitationRequest: Hashable, Sendable, Codable {
    /// The customer who may use the invitation. If nil, any customer who has the token may use it.
    public var customerID: String?
    /// How long the invitation can be used: 60 to 2,592,000 seconds (30 days). If nil, 7 days.
    public var expiresInSeconds: Int?

    public init(customerID: String? = nil, expiresInSeconds: Int? = nil) {
        self.customerID = customerID
        self.expiresInSeconds = expiresInSeconds
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case customerID = "customer_id"
        case expiresInSeconds = "expires_in_seconds"
    }
}

/// An invitation with which one person can join a group.
public struct SeatInvitation: Hashable, Sendable, Codable {
    public var invitationID: String
    /// The secret that the invited person sends. Only the response that creates the invitation
    /// contains it.
    public var token: String?
    /// The customer who may use the invitation. Nil if any customer who has the token may use it.
    public var customerID: String?
    public var createdAt: Timestamp
    public var expiresAt: Timestamp
    /// When the invitation was used. Nil if it was not used.
    public var usedAt: Timestamp?
    /// When the invitation was withdrawn. Nil if it was not withdrawn.
    public var withdrawnAt: Timestamp?

    public init(
        invitationID: String, token: String? = nil, customerID: String? = nil,
        createdAt: Timestamp, expiresAt: Timestamp, usedAt: Timestamp? = nil,
        withdrawnAt: Timestamp? = nil
    ) {
        self.invitationID = invitationID
        self.token = token
        self.customerID = customerID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.usedAt = usedAt
        self.withdrawnAt = withdrawnAt
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case invitationID = "invitation_id"
        case token
        case customerID = "customer_id"
        case createdAt = "created_at"
        case expiresAt = "expires_at"
        case usedAt = "used_at"
        case withdrawnAt = "withdrawn_at"
    }
}

/// The response of `GET /v1/purchases/{original_transaction_id}/invitations`: the invitations that
/// can be used, the newest first.
public struct SeatInvitationList: Hashable, Sendable, Codable {
    public var items: [SeatInvitation]

    public init(items: [SeatInvitation]) { self.items = items }
}
