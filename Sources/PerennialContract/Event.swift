/// One thing that changed, as the app's log tells it.
///
/// Later versions may say more types and words: keep those you do not know, and look at `after`.
public struct Event: Hashable, Sendable, Codable {
    /// The same whenever it is told.
    public var id: String
    /// Its place in the app's log, from 1, without gaps.
    public var sequence: Int64
    public var type: EventType
    /// When it happened, by the store's word.
    public var at: Timestamp
    /// When the server learned of it.
    public var knownAt: Timestamp
    /// Nil while the purchase is nobody's.
    public var customerID: String?
    /// Its place among those of the customer, from 1, without gaps.
    public var customerSequence: Int64?
    /// Who had the purchase before, who became one with the customer, or the id that is new.
    public var otherCustomerID: String?
    /// The account that the app named at the purchase, while the purchase is nobody's.
    public var accountToken: String?
    /// Nil where it is about the customer alone, and so are all that follow but the cause.
    public var purchaseID: String?
    public var originalTransactionID: String?
    public var environment: StoreEnvironment?
    /// The product that it is about; the one that is had is in `after`.
    public var productID: String?
    public var transactionID: String?
    public var ownership: Ownership?
    /// As it was told before; nil where nothing was known.
    public var before: PurchaseCondition?
    /// As it is told from now on.
    public var after: PurchaseCondition?
    /// What was paid, or with a minus given back. The sum over all events of a purchase is what the
    /// seller has of it, before the store's commission and taxes.
    public var money: Money?
    /// Why nothing follows, where the purchase expired.
    public var why: String?
    /// The offer of what was bought, or of the next period.
    public var offer: RedeemedOffer?
    /// The product of the next period, where that is what changed.
    public var nextProductID: String?
    public var nextPrice: Money?
    /// What was given by hand, or ended; then it is about no purchase.
    public var grant: Grant?
    /// What does not renew and will be over soon; of `term_ending` only.
    public var term: TermEnding?
    /// What went into a wallet or out of it.
    public var wallet: WalletMovement?
    public var cause: Cause

    /// By what we know of it.
    public struct Cause: Hashable, Sendable, Codable {
        /// `document`, `time`, `request`, `rebuild`.
        public var kind: String
        /// Names the signed document: the SHA-256 of what is signed in it, in hexadecimal; of one
        /// that was kept by an earlier version, of the whole document.
        public var documentID: String?

        public init(kind: String, documentID: String? = nil) {
            self.kind = kind
            self.documentID = documentID
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case kind
            case documentID = "document_id"
        }

        public func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(kind, forKey: .kind)
            try members.encode(documentID, forKey: .documentID)
        }
    }

    public init(
        id: String, sequence: Int64, type: EventType, at: Timestamp, knownAt: Timestamp,
        customerID: String? = nil, customerSequence: Int64? = nil,
        otherCustomerID: String? = nil, accountToken: String? = nil, purchaseID: String? = nil,
        originalTransactionID: String? = nil, environment: StoreEnvironment? = nil,
        productID: String? = nil, transactionID: String? = nil, ownership: Ownership? = nil,
        before: PurchaseCondition? = nil, after: PurchaseCondition? = nil, money: Money? = nil,
        why: String? = nil, offer: RedeemedOffer? = nil, nextProductID: String? = nil,
        nextPrice: Money? = nil, grant: Grant? = nil, term: TermEnding? = nil,
        wallet: WalletMovement? = nil, cause: Cause
    ) {
        self.id = id
        self.sequence = sequence
        self.type = type
        self.at = at
        self.knownAt = knownAt
        self.customerID = customerID
        self.customerSequence = customerSequence
        self.otherCustomerID = otherCustomerID
        self.accountToken = accountToken
        self.purchaseID = purchaseID
        self.originalTransactionID = originalTransactionID
        self.environment = environment
        self.productID = productID
        self.transactionID = transactionID
        self.ownership = ownership
        self.before = before
        self.after = after
        self.money = money
        self.why = why
        self.offer = offer
        self.nextProductID = nextProductID
        self.nextPrice = nextPrice
        self.grant = grant
        self.term = term
        self.wallet = wallet
        self.cause = cause
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case id
        case sequence
        case type
        case at
        case knownAt = "known_at"
        case customerID = "customer_id"
        case customerSequence = "customer_sequence"
        case otherCustomerID = "other_customer_id"
        case accountToken = "account_token"
        case purchaseID = "purchase_id"
        case originalTransactionID = "original_transaction_id"
        case environment
        case productID = "product_id"
        case transactionID = "transaction_id"
        case ownership
        case before
        case after
        case money
        case why
        case offer
        case nextProductID = "next_product_id"
        case nextPrice = "next_price"
        case grant
        case term
        case wallet
        case cause
    }

    // Written by hand so that what does not apply is an explicit null and not a missing member.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(id, forKey: .id)
        try members.encode(sequence, forKey: .sequence)
        try members.encode(type, forKey: .type)
        try members.encode(at, forKey: .at)
        try members.encode(knownAt, forKey: .knownAt)
        try members.encode(customerID, forKey: .customerID)
        try members.encode(customerSequence, forKey: .customerSequence)
        try members.encode(otherCustomerID, forKey: .otherCustomerID)
        try members.encode(accountToken, forKey: .accountToken)
        try members.encode(purchaseID, forKey: .purchaseID)
        try members.encode(originalTransactionID, forKey: .originalTransactionID)
        try members.encode(environment, forKey: .environment)
        try members.encode(productID, forKey: .productID)
        try members.encode(transactionID, forKey: .transactionID)
        try members.encode(ownership, forKey: .ownership)
        try members.encode(before, forKey: .before)
        try members.encode(after, forKey: .after)
        try members.encode(money, forKey: .money)
        try members.encode(why, forKey: .why)
        try members.encode(offer, forKey: .offer)
        try members.encode(nextProductID, forKey: .nextProductID)
        try members.encode(nextPrice, forKey: .nextPrice)
        try members.encode(grant, forKey: .grant)
        try members.encode(term, forKey: .term)
        try members.encode(wallet, forKey: .wallet)
        try members.encode(cause, forKey: .cause)
    }
}

/// What a purchase gives, in few words.
public struct PurchaseCondition: Hashable, Sendable, Codable {
    public var productID: String
    public var active: Bool
    /// Nil for what gives nothing by time or ownership, such as a consumable.
    public var state: AccessState?
    /// Active: where it ends if nothing else happens. Nil: never, or it is not active.
    public var until: Timestamp?
    /// Nil where the store has not said.
    public var willRenew: Bool?

    public init(
        productID: String, active: Bool, state: AccessState?, until: Timestamp?, willRenew: Bool?
    ) {
        self.productID = productID
        self.active = active
        self.state = state
        self.until = until
        self.willRenew = willRenew
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case productID = "product_id"
        case active
        case state
        case until
        case willRenew = "will_renew"
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(productID, forKey: .productID)
        try members.encode(active, forKey: .active)
        try members.encode(state, forKey: .state)
        try members.encode(until, forKey: .until)
        try members.encode(willRenew, forKey: .willRenew)
    }
}

/// Terms that follow each other without a gap, so many days before their end.
public struct TermEnding: Hashable, Sendable, Codable {
    /// The name of the chain, as the configuration says.
    public var chain: String
    /// Where the first of them begins.
    public var from: Timestamp
    public var until: Timestamp
    public var daysBefore: Int

    public init(chain: String, from: Timestamp, until: Timestamp, daysBefore: Int) {
        self.chain = chain
        self.from = from
        self.until = until
        self.daysBefore = daysBefore
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case chain
        case from
        case until
        case daysBefore = "days_before"
    }
}

/// A reduced or free period, and how the customer came by it.
public struct RedeemedOffer: Hashable, Sendable, Codable {
    /// `introductory`, `promotional`, `code`, `win_back`, `retention`, `unknown`.
    public var kind: String
    /// The app's name for it; an introductory offer has none.
    public var id: String?

    public init(kind: String, id: String? = nil) {
        self.kind = kind
        self.id = id
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case kind
        case id
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(kind, forKey: .kind)
        try members.encode(id, forKey: .id)
    }
}
