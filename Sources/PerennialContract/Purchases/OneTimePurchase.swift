/// A one-time purchase: non-consumable or consumable.
public struct OneTimePurchase: Hashable, Sendable, Codable {
    public var productID: String
    public var purchasedAt: Timestamp
    /// When it was revoked, for example by a refund. Nil if it was not.
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

/// A non-renewing subscription. The app, not the App Store, defines its duration; `until` is nil if
/// no duration is configured. If it was revoked, it ended at the revocation.
public struct NonRenewing: Hashable, Sendable, Codable {
    public var productID: String
    public var from: Timestamp
    public var until: Timestamp?
    /// Days until the term ends, in the app's time zone. 0 if it has ended, nil if the end is
    /// unknown.
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
