/// The body of `POST /v1/customers/{id}/grants`. Idempotent if the request has the header
/// `Idempotency-Key`.
public struct GrantRequest: Hashable, Sendable, Codable {
    public var entitlement: String
    /// When the grant ends. If nil, the grant lasts until it is withdrawn.
    public var until: Timestamp?
    /// Why the grant is made, for support staff. The customer does not see it.
    public var reason: String

    public init(entitlement: String, until: Timestamp? = nil, reason: String) {
        self.entitlement = entitlement
        self.until = until
        self.reason = reason
    }
}

/// An entitlement that was granted manually.
public struct Grant: Hashable, Sendable, Codable {
    public var grantID: String
    public var entitlement: String
    public var from: Timestamp
    public var until: Timestamp?
    public var reason: String
    /// When the grant was withdrawn. Nil if it was not withdrawn.
    public var withdrawnAt: Timestamp?

    public init(
        grantID: String, entitlement: String, from: Timestamp, until: Timestamp?, reason: String,
        withdrawnAt: Timestamp?
    ) {
        self.grantID = grantID
        self.entitlement = entitlement
        self.from = from
        self.until = until
        self.reason = reason
        self.withdrawnAt = withdrawnAt
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case grantID = "grant_id"
        case entitlement
        case from
        case until
        case reason
        case withdrawnAt = "withdrawn_at"
    }
}

/// The response of `GET /v1/customers/{id}/grants`.
public struct GrantList: Hashable, Sendable, Codable {
    public var items: [Grant]

    public init(items: [Grant]) { self.items = items }
}

/// The result of `DELETE /v1/customers/{id}`.
public struct Erasure: Hashable, Sendable, Codable {
    /// The number of purchases that now belong to no customer.
    public var unlinkedPurchases: Int

    public init(unlinkedPurchases: Int) { self.unlinkedPurchases = unlinkedPurchases }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case unlinkedPurchases = "unlinked_purchases"
    }
}
