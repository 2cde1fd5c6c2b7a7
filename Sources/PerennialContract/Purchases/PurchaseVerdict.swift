/// The owner of a purchase, as seen from the customer of the response.
public struct PurchaseVerdict: Hashable, Sendable, Codable {
    public var purchaseID: String
    public var originalTransactionID: String
    public var verdict: Word
    /// Why the customer does not get the purchase: see ``PurchasePreview/Shown/why``. Nil if the
    /// customer gets it.
    public var why: String?
    /// Whether the owner is a person or an anonymous customer. Nil if there is no owner.
    public var owner: OwnerKind?
    /// The purchase's product, if the server's configuration does not list it. Such a purchase
    /// gives no access. See ``Customer/unlistedProducts``.
    public var unlistedProductID: String?

    public init(
        purchaseID: String, originalTransactionID: String, verdict: Word, why: String? = nil,
        owner: OwnerKind? = nil, unlistedProductID: String? = nil
    ) {
        self.purchaseID = purchaseID
        self.originalTransactionID = originalTransactionID
        self.verdict = verdict
        self.why = why
        self.owner = owner
        self.unlistedProductID = unlistedProductID
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case purchaseID = "purchase_id"
        case originalTransactionID = "original_transaction_id"
        case verdict
        case why
        case owner
        case unlistedProductID = "unlisted_product_id"
    }

    public struct Word: ContractWord {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The purchase belongs to the customer.
        public static let theirs = Self(rawValue: "theirs")
        /// The purchase had no owner, and belongs to the customer from now on.
        public static let linked = Self(rawValue: "linked")
        /// The purchase belonged to another customer, and belongs to this one from now on.
        public static let moved = Self(rawValue: "moved")
        /// The purchase belongs to another customer, and is shared with this one.
        public static let shared = Self(rawValue: "shared")
        /// The purchase belongs to another customer. This customer gets no access from the
        /// purchase.
        public static let another = Self(rawValue: "another")
        /// The purchase has no owner yet, and this customer does not become its owner.
        public static let refused = Self(rawValue: "refused")

        public static let known: [Self] = [theirs, linked, moved, shared, another, refused]
    }
}

/// Whether a customer is a person whom the app has named.
public struct OwnerKind: ContractWord {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let person = Self(rawValue: "person")
    /// A device whose user has not signed in: all ids of the customer begin with `anon_`.
    public static let anonymous = Self(rawValue: "anonymous")

    public static let known: [Self] = [person, anonymous]
}
