import Ledger
import Storage

/// The data from which bodies are rendered.
package struct WebhookSubject: Sendable {
    package var app: AppID
    package var content: Content

    package enum Content: Sendable {
        /// An event, and the state of its customer when the body is rendered. The customer is nil
        /// if the event has none.
        case perennial(LoggedEvent, LogEpochs, CustomerState?)
        case revenueCat(LoggedEvent, LogEpochs, EventContext)
        /// A test delivery, which somebody has requested.
        case test(WebhookFormat, message: String, at: Instant)
    }

    package init(app: AppID, _ content: Content) {
        self.app = app
        self.content = content
    }

    /// The customer whose ids are in the bodies: deliveries are ordered and erased by this value.
    /// Nil for a test.
    var stream: String? {
        switch content {
        case .perennial(let event, _, _): event.entry.stream
        case .revenueCat(let event, _, let context):
            event.entry.customer == nil
                ? context.customer?.id?.rawValue ?? event.entry.stream : event.entry.stream
        case .test: nil
        }
    }

    /// The subject for a body in a stream. If the customer belongs to another stream, the customer
    /// is removed, because an erasure of the customer would not erase the body.
    func staying(in stream: String) -> WebhookSubject {
        guard case .revenueCat(let event, let epochs, var context) = content,
            self.stream != stream
        else { return self }
        context.customer = nil
        context.attributes = []
        return WebhookSubject(app: app, .revenueCat(event, epochs, context))
    }
}

/// The data from which the bodies of an event are rendered. It describes the event's customers and
/// its purchase.
package struct EventContext: Sendable {
    /// The event's customer, or else the customer who was found for it. Nil if the event has no
    /// customer and none was found.
    package var customer: People?
    /// The account token of a purchase without an owner. Nil if the token is not a customer's id,
    /// or belonged to an erased person.
    package var accountToken: String?
    /// The id that stands for the unknown owner of the event's purchase. Nil if the purchase has an
    /// owner, or if the event is about no purchase.
    package var anonymousID: CustomerID?
    /// If the purchase moved, its former owner. If the purchase was linked, the account token under
    /// which earlier events were delivered. Nil if that token is not one of the customer's ids.
    package var former: People?
    /// Whether the purchase was linked, and its earlier events were delivered under another
    /// customer.
    package var isToldOfAnother = false
    /// The other purchases that the former owner (``loser``) still has after the purchase moved.
    package var remaining: [PurchaseState] = []
    /// For each remaining purchase that does not renew, the term that covers ``now``.
    package var remainingTerms: [PurchaseID: Term] = [:]
    package var loser: People?
    /// When the body is rendered.
    package var now: Instant
    package var timeline: Timeline?
    /// The entitlements that the event's product gives, by name.
    package var entitlements: [EntitlementID]
    /// The place in the app where the transaction was bought, according to the app.
    package var placement: String?
    /// All changes that the event's payment or refund made in wallets, in order. Nil if an earlier
    /// event reports them.
    package var movements: [WalletChange]?
    /// What the app says about the event's customer.
    package var attributes: [CustomerAttribute] = []
    package var money: MoneySettings
    /// The products that give each entitlement.
    package var rights: [EntitlementID: Set<ProductID>]

    /// The ids of one customer, without ids that the server made.
    package struct People: Hashable, Sendable {
        /// The id that represents the customer in this database. Nil if the customer is unknown
        /// there.
        var id: CustomerID?
        /// The oldest id.
        package var first: CustomerID
        /// The id that best identifies the person to the app: the newest id that is not anonymous.
        package var last: CustomerID
        /// All ids, the oldest first.
        package var all: [CustomerID]

        init(_ customer: StoredCustomer) {
            let own = customer.ids.filter { !customer.accountTokens.contains($0) }
            id = customer.customer
            all = own.isEmpty ? [customer.customer] : own
            first = all[0]
            last = customer.personalIDs.last ?? all[all.count - 1]
        }

        /// Creates the ids of a person who is known by only one id, such as an account token.
        init(id: CustomerID) { (all, first, last) = ([id], id, id) }
    }
}

extension EventEntry {
    /// Whether both events are about the same payment or refund, in wallets of the same customer.
    func isBooked(with other: EventEntry) -> Bool {
        purchase == other.purchase && change.kind == other.change.kind
            && change.transaction == other.change.transaction && knownAt == other.knownAt
            && change.wallet?.environment == other.change.wallet?.environment
    }
}
