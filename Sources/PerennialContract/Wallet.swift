/// How much of one consumable currency a customer has.
public struct Wallet: Hashable, Sendable, Codable {
    public var balance: Int64

    public init(balance: Int64) { self.balance = balance }
}

/// What `POST /v1/customers/{id}/wallets/{currency}/debits` takes. With the header
/// `Idempotency-Key` harmless to repeat.
public struct DebitRequest: Hashable, Sendable, Codable {
    /// More than 0.
    public var amount: Int64
    /// Why, for the statement.
    public var reason: String

    public init(amount: Int64, reason: String) {
        self.amount = amount
        self.reason = reason
    }
}

/// A debit as it was made.
public struct Debit: Hashable, Sendable, Codable {
    public var debitID: String
    public var currency: String
    public var amount: Int64
    public var reason: String
    public var at: Timestamp
    /// Of the wallet, just after it.
    public var balance: Int64

    public init(
        debitID: String, currency: String, amount: Int64, reason: String, at: Timestamp,
        balance: Int64
    ) {
        self.debitID = debitID
        self.currency = currency
        self.amount = amount
        self.reason = reason
        self.at = at
        self.balance = balance
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case debitID = "debit_id"
        case currency
        case amount
        case reason
        case at
        case balance
    }
}

/// What `GET /v1/customers/{id}/wallets/{currency}` answers: all that went in and out, the latest
/// first.
public struct WalletStatement: Hashable, Sendable, Codable {
    public var currency: String
    public var balance: Int64
    public var items: [Line]
    /// Of what is older; nil at the end.
    public var nextCursor: String?

    public init(currency: String, balance: Int64, items: [Line], nextCursor: String?) {
        self.currency = currency
        self.balance = balance
        self.items = items
        self.nextCursor = nextCursor
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case currency
        case balance
        case items
        case nextCursor = "next_cursor"
    }

    /// One line of a statement.
    public struct Line: Hashable, Sendable, Codable {
        public var at: Timestamp
        public var kind: Kind
        /// Signed.
        public var amount: Int64
        /// Just after it.
        public var balance: Int64
        /// Of a purchase, and of its refund.
        public var transactionID: String?
        public var productID: String?
        public var debitID: String?
        public var reason: String?

        public init(at: Timestamp, kind: Kind, amount: Int64, balance: Int64) {
            self.at = at
            self.kind = kind
            self.amount = amount
            self.balance = balance
        }

        /// New ones may come: skip what you do not know.
        public struct Kind: RawRepresentable, Hashable, Sendable, Codable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let purchase = Self(rawValue: "purchase")
            public static let refund = Self(rawValue: "refund")
            public static let debit = Self(rawValue: "debit")
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case at
            case kind
            case amount
            case balance
            case transactionID = "transaction_id"
            case productID = "product_id"
            case debitID = "debit_id"
            case reason
        }
    }
}
