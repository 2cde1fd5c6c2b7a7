/// Something bought once: to keep, or to use up.
public struct OneTimePurchase: Hashable, Sendable, Codable {
    public var productID: String
    public var purchasedAt: Timestamp
    /// When it was taken back, as by a refund.
    public var revokedAt: Timestamp?

    public init(productID: String, purchasedAt: Timestamp, revokedAt: Timestamp?) {
        self.productID = productID
        self.purchasedAt = purchasedAt
        self.revokedAt = revokedAt
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case productID = "product_id"
        case purchasedAt = "purchased_at"
        case revokedAt = "revoked_at"
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(productID, forKey: .productID)
        try members.encode(purchasedAt, forKey: .purchasedAt)
        try members.encode(revokedAt, forKey: .revokedAt)
    }
}

/// A term that does not renew. How long it lasts is the app's to say, not the store's: nil where
/// nobody said. One that was taken back ended there.
public struct NonRenewing: Hashable, Sendable, Codable {
    public var productID: String
    public var from: Timestamp
    public var until: Timestamp?
    public var daysRemaining: Int?

    public init(productID: String, from: Timestamp, until: Timestamp?, daysRemaining: Int?) {
        self.productID = productID
        self.from = from
        self.until = until
        self.daysRemaining = daysRemaining
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case productID = "product_id"
        case from
        case until
        case daysRemaining = "days_remaining"
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(productID, forKey: .productID)
        try members.encode(from, forKey: .from)
        try members.encode(until, forKey: .until)
        try members.encode(daysRemaining, forKey: .daysRemaining)
    }
}
