/// What `POST /v1/customers/{id}/grants` takes. With the header `Idempotency-Key` harmless to
/// repeat.
public struct GrantRequest: Hashable, Sendable, Codable {
    public var entitlement: String
    /// Nil: until it is taken back.
    public var until: Timestamp?
    /// For those who look later; the customer is not told.
    public var reason: String

    public init(entitlement: String, until: Timestamp? = nil, reason: String) {
        self.entitlement = entitlement
        self.until = until
        self.reason = reason
    }
}

/// A right that was given by hand.
public struct Grant: Hashable, Sendable, Codable {
    public var grantID: String
    public var entitlement: String
    public var from: Timestamp
    public var until: Timestamp?
    public var reason: String
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

    // Written by hand so that what does not end is an explicit null and not a missing member.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(grantID, forKey: .grantID)
        try members.encode(entitlement, forKey: .entitlement)
        try members.encode(from, forKey: .from)
        try members.encode(until, forKey: .until)
        try members.encode(reason, forKey: .reason)
        try members.encode(withdrawnAt, forKey: .withdrawnAt)
    }
}

public struct GrantList: Hashable, Sendable, Codable {
    public var items: [Grant]

    public init(items: [Grant]) { self.items = items }
}

/// All that is known of a customer, in the order of time.
public struct History: Hashable, Sendable, Codable {
    public var items: [Line]
    /// Of what is later; nil at the end.
    public var nextCursor: String?

    public init(items: [Line], nextCursor: String?) {
        self.items = items
        self.nextCursor = nextCursor
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case items
        case nextCursor = "next_cursor"
    }

    public struct Line: Hashable, Sendable, Codable {
        public var at: Timestamp
        /// `fact`, `link`, `share`, `transfer`, `block`, `grant`, `debit`, `consumption`, `event`.
        /// New ones may come.
        public var kind: String
        /// For a person.
        public var sentence: String
        public var purchaseID: String?
        public var documentID: String?
        /// The id of the transfer, grant, debit or event.
        public var reference: String?

        public init(
            at: Timestamp, kind: String, sentence: String, purchaseID: String?,
            documentID: String?, reference: String?
        ) {
            self.at = at
            self.kind = kind
            self.sentence = sentence
            self.purchaseID = purchaseID
            self.documentID = documentID
            self.reference = reference
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case at
            case kind
            case sentence
            case purchaseID = "purchase_id"
            case documentID = "document_id"
            case reference
        }
    }
}

/// Whom `GET /v1/customers?query=` has found.
public struct CustomerList: Hashable, Sendable, Codable {
    public var items: [Found]

    public init(items: [Found]) { self.items = items }

    public struct Found: Hashable, Sendable, Codable {
        /// Nil where a purchase was found that is nobody's.
        public var customerID: String?
        public var aliases: [String]
        /// By what: `id`, `transaction_id`, `order_id`.
        public var by: String
        public var purchaseID: String?

        public init(customerID: String?, aliases: [String], by: String, purchaseID: String?) {
            self.customerID = customerID
            self.aliases = aliases
            self.by = by
            self.purchaseID = purchaseID
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case customerID = "customer_id"
            case aliases
            case by
            case purchaseID = "purchase_id"
        }
    }
}

/// What `DELETE /v1/customers/{id}` has done.
public struct Erasure: Hashable, Sendable, Codable {
    /// Purchases that are nobody's now.
    public var unlinkedPurchases: Int

    public init(unlinkedPurchases: Int) { self.unlinkedPurchases = unlinkedPurchases }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case unlinkedPurchases = "unlinked_purchases"
    }
}
