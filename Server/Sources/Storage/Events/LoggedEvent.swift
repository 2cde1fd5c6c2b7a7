import Ledger

/// One change, as recorded in an app's log.
///
/// The log is primary data: events are appended in the transaction that causes the change, and are
/// not changed later. There is one exception: the ids of erased customers are replaced. The log
/// records what was learned, and when. If a rebuild reaches another result, it appends events for
/// the difference.
package struct LoggedEvent: Hashable, Sendable {
    /// The position in the app's log, from 1, without gaps. If a client can see an event, it can
    /// also see all earlier events.
    package var sequence: Int64
    /// The position among the customer's events, from 1, without gaps; nil if the event has no
    /// customer.
    package var customerSequence: Int64?
    package var entry: EventEntry

    package init(sequence: Int64, customerSequence: Int64?, entry: EventEntry) {
        self.sequence = sequence
        self.customerSequence = customerSequence
        self.entry = entry
    }
}

/// The content of an event, without its position.
package struct EventEntry: Hashable, Sendable {
    package var app: AppID
    /// The customer to whom the event belonged when it became known. Nil if the purchase had no
    /// owner then.
    package var customer: CustomerID?
    /// The purchase that the event is about. Nil if the event is about the customer only.
    package var purchase: PurchaseID?
    package var change: Change
    /// When the change became known to Perennial.
    package var knownAt: Instant
    package var cause: Cause
    /// The account token of a purchase without an owner; nil if the token was the id of an erased
    /// customer.
    package var accountToken: String?
    /// The former owner of the purchase, the merged customer, or the added id.
    package var other: CustomerID?
    /// Why the purchase belongs to the customer; only for ``Change/Kind/linked``.
    package var evidence: Link.Evidence?
    /// True for an event ``Change/Kind/linked`` by which support confirmed the present owner. Nil
    /// for all other events.
    package var isConfirmation: Bool?
    /// How many events the purchase had before it was linked; only for ``Change/Kind/linked``.
    /// Counted when the event is read.
    package var earlierEvents: Int64?
    /// The author of the request that caused the event. Nil if no request caused it, or if the
    /// request needed no key.
    package var author: EventAuthor?

    package enum Cause: Hashable, Sendable {
        /// A document, identified by its id.
        case document([UInt8])
        /// The passage of time.
        case time
        /// A request.
        case request
        /// A rebuild of derived data.
        case rebuild
    }

    package init(
        app: AppID, customer: CustomerID?, purchase: PurchaseID?, change: Change, knownAt: Instant,
        cause: Cause, accountToken: String? = nil, other: CustomerID? = nil,
        evidence: Link.Evidence? = nil
    ) {
        self.app = app
        self.customer = customer
        self.purchase = purchase
        self.change = change
        self.knownAt = knownAt
        self.cause = cause
        self.accountToken = accountToken
        self.other = other
        self.evidence = evidence
    }
}

extension EventEntry {
    /// The environment of the purchase, the wallet or the grant; nil if the event is about the
    /// customer only.
    package var environment: Environment? {
        purchase?.environment ?? change.wallet?.environment ?? change.grantEnvironment
    }

    /// Whether the event linked a purchase that had no owner to the event's customer.
    var linksPurchase: Bool {
        change.kind == .linked && purchase != nil && isConfirmation != true
    }
}
