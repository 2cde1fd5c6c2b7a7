/// The amount of one consumable currency that a customer has.
public struct Wallet: Hashable, Sendable, Codable {
    public var balance: Int64

    public init(balance: Int64) { self.balance = balance }
}

/// The body of `POST /v1/customers/{id}/wallets/{currency}/debits`. Idempotent if the request has
/// the header `Idempotency-Key`. A request with an app key must have this header.
public struct DebitRequest: Hashable, Sendable, Codable {
    /// The amount to deduct. More than 0.
    public var amount: Int64
    /// The reason, as the statement shows it.
    public var reason: String

    public init(amount: Int64, reason: String) {
        self.amount = amount
        self.reason = reason
    }
}

/// A debit that was booked.
public struct Debit: Hashable, Sendable, Codable {
    public var debitID: String
    public var currency: String
    public var amount: Int64
    public var reason: String
    public var at: Timestamp
    /// The wallet's balance just after the debit.
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

/// The body of `POST /v1/customers/{id}/wallets/{currency}/credits`. The request needs the header
/// `Idempotency-Key`, and is idempotent.
public struct CreditRequest: Hashable, Sendable, Codable {
    /// The amount to add. More than 0.
    public var amount: Int64
    /// The reason, as the statement shows it. The text must not be empty.
    public var reason: String

    public init(amount: Int64, reason: String) {
        self.amount = amount
        self.reason = reason
    }
}

/// A credit that was added manually.
public struct Credit: Hashable, Sendable, Codable {
    public var creditID: String
    public var currency: String
    public var amount: Int64
    public var reason: String
    public var at: Timestamp
    /// The wallet's balance just after the credit.
    public var balance: Int64

    public init(
        creditID: String, currency: String, amount: Int64, reason: String, at: Timestamp,
        balance: Int64
    ) {
        self.creditID = creditID
        self.currency = currency
        self.amount = amount
        self.reason = reason
        self.at = at
        self.balance = balance
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case creditID = "credit_id"
        case currency
        case amount
        case reason
        case at
        case balance
    }
}

/// A change of a wallet's balance, as reported in an event.
public struct WalletMovement: Hashable, Sendable, Codable {
    public var currency: String
    /// The change of the balance. Negative if the amount was deducted.
    public var amount: Int64
    /// The balance that was reported last. 0 if no balance was reported yet.
    public var before: Int64
    public var after: Int64
    /// The id of the debit. Set for debits only.
    public var debitID: String?
    /// The reason of the debit or of the manual credit. Nil for other changes.
    public var reason: String?
    /// The idempotency key of the debit or the manual credit. Nil if the request had no key.
    public var idempotencyKey: String?
    /// The id of the manual credit. Set for manual credits only.
    public var creditID: String?

    public init(
        currency: String, amount: Int64, before: Int64, after: Int64, debitID: String? = nil,
        reason: String? = nil, idempotencyKey: String? = nil, creditID: String? = nil
    ) {
        self.currency = currency
        self.amount = amount
        self.before = before
        self.after = after
        self.debitID = debitID
        self.reason = reason
        self.idempotencyKey = idempotencyKey
        self.creditID = creditID
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case currency
        case amount
        case before
        case after
        case debitID = "debit_id"
        case reason
        case idempotencyKey = "idempotency_key"
        case creditID = "credit_id"
    }
}

/// The response of `GET /v1/customers/{id}/wallets/{currency}`: all amounts that were added or
/// deducted, latest first.
public struct WalletStatement: Hashable, Sendable, Codable {
    public var currency: String
    public var balance: Int64
    public var items: [Line]
    /// The cursor of the page with older lines. Nil on the last page.
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
        /// The change of the balance. Negative if the amount was deducted.
        public var amount: Int64
        /// The balance just after this change.
        public var balance: Int64
        /// The transaction of the purchase. ``transactionID`` and ``productID`` are set only for a
        /// purchase and for its refund.
        public var transactionID: String?
        public var productID: String?
        public var debitID: String?
        /// The reason of the debit or of the manual credit. Nil for other lines.
        public var reason: String?
        /// The id of the manual credit. Set for manual credits only.
        public var creditID: String?

        public init(at: Timestamp, kind: Kind, amount: Int64, balance: Int64) {
            self.at = at
            self.kind = kind
            self.amount = amount
            self.balance = balance
        }

        /// The cause of the change. Later versions may add kinds: skip those that you do not know.
        public struct Kind: ContractWord {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let purchase = Self(rawValue: "purchase")
            public static let refund = Self(rawValue: "refund")
            public static let debit = Self(rawValue: "debit")
            /// Somebody added the amount manually, without a purchase.
            public static let credit = Self(rawValue: "credit")

            public static let known: [Self] = [purchase, refund, debit, credit]
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
            case creditID = "credit_id"
        }
    }
}
