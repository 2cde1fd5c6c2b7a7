/// A one-time purchase: non-consumable or consumable.
public struct OneTimePurchase: Hashable, Sendable, Codable {
    public var productID: String
    public var purchasedAt: Timestamp
    /// When the purchase was revoked, for example by a refund. Nil if the purchase was not revoked.
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
}

/// A non-renewing subscription, whose duration the app defines, not the App Store. `until` is nil
/// if no duration is configured. A revoked purchase ends at its revocation.
public struct NonRenewing: Hashable, Sendable, Codable {
    public var productID: String
    public var from: Timestamp
    public var until: Timestamp?
    /// The days until the term ends, in the app's time zone. 0 if the term has ended, nil if its
    /// end is unknown.
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
}
