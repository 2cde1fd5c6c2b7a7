import Ledger
import Storage

/// What bodies are rendered from.
package struct WebhookSubject: Sendable {
    package var app: AppID
    package var content: Content

    package enum Content: Sendable {
        /// An event, and the state of its customer when the body is rendered. The customer is nil
        /// if the event has none.
        case perennial(LoggedEvent, LogEpochs, CustomerState?)
        case revenueCat(LoggedEvent, LogEpochs, EventContext)
        /// A delivery that was asked for, to see whether it arrives.
        case test(WebhookFormat, message: String, at: Instant)
    }

    package init(app: AppID, _ content: Content) {
        self.app = app
        self.content = content
    }

    /// What the deliveries are ordered with, and erased with: the customer whose ids are in the
    /// bodies. Nil for a test.
    var stream: String? {
        switch content {
        case .perennial(let event, _, _): event.entry.stream
        case .revenueCat(let event, _, let context):
            event.entry.customer == nil
                ? context.customer?.id?.rawValue ?? event.entry.stream : event.entry.stream
        case .test: nil
        }
    }

    /// Drops a customer of another stream: erasing them would not reach this one.
    func staying(in stream: String) -> WebhookSubject {
        guard case .revenueCat(let event, let epochs, var context) = content,
            self.stream != stream
        else { return self }
        context.customer = nil
        return WebhookSubject(app: app, .revenueCat(event, epochs, context))
    }
}

/// What is known about an event's people and purchase when its bodies are rendered.
package struct EventContext: Sendable {
    /// The event's customer, or else who was found for it. Nil if it is nobody's.
    package var customer: People?
    /// The account token of a purchase without an owner. Nil if it is no id of a customer, or was
    /// that of a person who is erased.
    package var accountToken: String?
    /// For a purchase that moved: who had it before. For one that was linked: the mere account
    /// token that the receiver was told of, if it is one of the customer's.
    package var former: People?
    /// For a purchase that was linked: whether the receiver was told of another customer.
    package var isToldOfAnother = false
    /// What the former owner of a purchase that moved still has, and who that is.
    package var remaining: [PurchaseState] = []
    /// The terms that cover the moment, of what remains and does not renew.
    package var remainingTerms: [PurchaseID: Term] = [:]
    package var loser: People?
    /// When it is rendered.
    package var now: Instant
    package var timeline: Timeline?
    /// The entitlements that the event's product gives, by name.
    package var entitlements: [EntitlementID]
    /// Where the app said that it was bought.
    package var placement: String?
    /// What a purchase changed in all wallets at once, in order. Nil if an earlier event of them
    /// says so.
    package var movements: [WalletChange]?
    package var money: MoneySettings
    /// Which products give each entitlement.
    package var rights: [EntitlementID: Set<ProductID>]

    /// The ids of one customer, without those that the server made.
    package struct People: Hashable, Sendable {
        /// The id that represents the customer in this database. Nil if they are unknown here.
        var id: CustomerID?
        /// The oldest one.
        package var first: CustomerID
        /// The id by which the app knows the person best: the newest that is not anonymous.
        package var last: CustomerID
        /// Oldest first.
        package var all: [CustomerID]

        init(_ customer: StoredCustomer) {
            let own = customer.ids.filter { !customer.accountTokens.contains($0) }
            id = customer.customer
            all = own.isEmpty ? [customer.customer] : own
            first = all[0]
            last = customer.personalIDs.last ?? all[all.count - 1]
        }

        /// Somebody who is known by one id only, such as an account token.
        init(id: CustomerID) { (all, first, last) = ([id], id, id) }
    }
}

extension EventEntry {
    /// Whether both are about the same payment, or refund, in the same customer's wallets.
    func isBooked(with other: EventEntry) -> Bool {
        purchase == other.purchase && change.kind == other.change.kind
            && change.transaction == other.change.transaction && knownAt == other.knownAt
            && change.wallet?.environment == other.change.wallet?.environment
    }
}
