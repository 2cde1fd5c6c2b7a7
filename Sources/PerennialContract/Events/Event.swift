/// One change, as an entry in the app's event log.
///
/// Later versions may add types and words. Tolerate values that you do not know, and read `after`.
public struct Event: Hashable, Sendable, Codable {
    /// The event's id, the same each time the event is delivered. Use it to detect duplicates.
    public var id: String
    /// The event's position in the app's log: from 1, without gaps.
    public var sequence: Int64
    public var type: EventType
    /// When the change happened, according to the App Store.
    public var at: Timestamp
    /// When the server learned of the change.
    public var knownAt: Timestamp
    /// The customer who owns the purchase. Nil while the purchase belongs to no customer.
    public var customerID: String?
    /// The event's position among the customer's events: from 1, without gaps.
    public var customerSequence: Int64?
    /// Another customer id: the previous owner of the purchase, the customer that was merged into
    /// this one, or the new alias.
    public var otherCustomerID: String?
    /// The `appAccountToken` that the app set at the purchase. Nil once the purchase belongs to a
    /// customer.
    public var accountToken: String?
    /// The purchase that the event is about. Nil if the event is about the customer alone, such as
    /// the event of a grant. The other properties of the purchase are then nil, too.
    public var purchaseID: String?
    public var originalTransactionID: String?
    public var environment: StoreEnvironment?
    /// The product that the event is about. ``after`` contains the product of the present period.
    public var productID: String?
    public var transactionID: String?
    public var ownership: Ownership?
    /// The purchase's state as reported before the event. Nil if no state was reported.
    public var before: PurchaseCondition?
    /// The purchase's state after the event.
    public var after: PurchaseCondition?
    /// The amount paid or, if negative, refunded. The sum over all events of a purchase is the
    /// seller's revenue from the purchase, before Apple's commission and taxes.
    public var money: Money?
    /// The reason why the purchase expired, if no other period follows.
    public var why: String?
    /// The offer applied to the purchase, or to the next period.
    public var offer: RedeemedOffer?
    /// The product of the next period, if the event is a change of that product.
    public var nextProductID: String?
    public var nextPrice: Money?
    /// The grant that was made manually, or that ended. Such an event is about no purchase.
    public var grant: Grant?
    /// The non-renewing term that ends soon. Set for `term_ending` only.
    public var term: TermEnding?
    /// The change of a wallet's balance.
    public var wallet: WalletMovement?
    /// The seat claim that began or ended. Events of other types do not say who the member is.
    public var seat: SeatChange?
    /// The number of events that the purchase had while it belonged to no customer. In the
    /// customer's history, these events now come before this event. Set for `linked` only.
    public var earlierEvents: Int?
    public var cause: Cause

    /// How the server learned of the change.
    public struct Cause: Hashable, Sendable, Codable {
        /// The kind of the cause: `document`, `time`, `request` or `rebuild`.
        public var kind: String
        /// The id of the signed document: the SHA-256 of its signed part, in hexadecimal. Nil if no
        /// document caused the event.
        public var documentID: String?
        /// The author of the request that caused the event. Nil if no request caused it.
        public var author: Author?

        public init(kind: String, documentID: String? = nil, author: Author? = nil) {
            self.kind = kind
            self.documentID = documentID
            self.author = author
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case kind
            case documentID = "document_id"
            case author
        }

        /// The key of a request, and the person for whom a server sent it.
        public struct Author: Hashable, Sendable, Codable {
            /// The name of the key. The text is empty if the key has no name.
            public var keyName: String
            /// The first hexadecimal digits of the key's hash, as `perennial keys list` shows them.
            public var keyDigits: String
            /// The value of the request's header `Perennial-Actor`.
            public var actor: String?

            public init(keyName: String, keyDigits: String, actor: String? = nil) {
                self.keyName = keyName
                self.keyDigits = keyDigits
                self.actor = actor
            }

            enum CodingKeys: String, CodingKey, CaseIterable {
                case keyName = "key_name"
                case keyDigits = "key_digits"
                case actor
            }
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
        wallet: WalletMovement? = nil, seat: SeatChange? = nil, earlierEvents: Int? = nil,
        cause: Cause
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
        self.seat = seat
        self.earlierEvents = earlierEvents
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
        case seat
        case earlierEvents = "earlier_events"
        case cause
    }
}

/// The state of a purchase, in a short form.
public struct PurchaseCondition: Hashable, Sendable, Codable {
    public var productID: String
    public var active: Bool
    /// The state of the purchase's access. Nil for purchases that give no access, such as
    /// consumables.
    public var state: AccessState?
    /// When access ends if nothing else happens. Nil if it never ends, or if the purchase is not
    /// active.
    public var until: Timestamp?
    /// Whether the subscription renews. Nil if the App Store has not said.
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
}

/// Non-renewing terms that follow each other without a gap and end in a number of days.
public struct TermEnding: Hashable, Sendable, Codable {
    /// The name of the chain in the configuration.
    public var chain: String
    /// When the first of these terms begins.
    public var from: Timestamp
    public var until: Timestamp
    /// How many days before ``until`` the reminder is configured.
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

/// A reduced or free period, and how the customer got it.
public struct RedeemedOffer: Hashable, Sendable, Codable {
    /// The kind of the offer: `introductory`, `promotional`, `code`, `win_back`, `retention` or
    /// `unknown`.
    public var kind: String
    /// The app's id for the offer. Nil for an introductory offer, which has no id.
    public var id: String?

    public init(kind: String, id: String? = nil) {
        self.kind = kind
        self.id = id
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case kind
        case id
    }
}
