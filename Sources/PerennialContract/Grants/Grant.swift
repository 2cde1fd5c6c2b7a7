/// The body of `POST /v1/customers/{id}/grants`. Idempotent if the request has the header
/// `Idempotency-Key`.
public struct GrantRequest: Hashable, Sendable, Codable {
    public var entitlement: String
    /// Nil: until it is withdrawn.
    public var until: Timestamp?
    /// For support staff. Not shown to the customer.
    public var reason: String

    public init(entitlement: String, until: Timestamp? = nil, reason: String) {
        self.entitlement = entitlement
        self.until = until
        self.reason = reason
    }
}

/// An entitlement that was granted by hand.
public struct Grant: Hashable, Sendable, Codable {
    public var grantID: String
    public var entitlement: String
    public var from: Timestamp
    public var until: Timestamp?
    public var reason: String
    /// When the grant was withdrawn. Nil if it was not.
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

/// Everything known about a customer, in chronological order.
public struct History: Hashable, Sendable, Codable {
    public var items: [Line]
    /// The cursor of the page with later lines. Nil on the last page.
    public var nextCursor: String?

    public init(items: [Line], nextCursor: String?) {
        self.items = items
        self.nextCursor = nextCursor
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case items
        case nextCursor = "next_cursor"
    }

    /// One line of a history.
    public struct Line: Hashable, Sendable, Codable {
        public var at: Timestamp
        /// One of `fact`, `link`, `share`, `transfer`, `block`, `grant`, `debit`, `consumption`,
        /// `event`. New kinds may be added.
        public var kind: String
        /// One sentence for a person.
        public var sentence: String
        public var purchaseID: String?
        public var documentID: String?
        /// The id of the transfer, grant, debit, or event.
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

/// The customers found by `GET /v1/customers?query=`.
public struct CustomerList: Hashable, Sendable, Codable {
    public var items: [Found]

    public init(items: [Found]) { self.items = items }

    /// One customer or purchase that was found.
    public struct Found: Hashable, Sendable, Codable {
        /// Nil if the purchase that was found belongs to no customer.
        public var customerID: String?
        public var aliases: [String]
        /// What matched: `id`, `transaction_id`, `order_id`.
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

/// The result of `DELETE /v1/customers/{id}`.
public struct Erasure: Hashable, Sendable, Codable {
    /// How many purchases belong to no customer now.
    public var unlinkedPurchases: Int

    public init(unlinkedPurchases: Int) { self.unlinkedPurchases = unlinkedPurchases }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case unlinkedPurchases = "unlinked_purchases"
    }
}
