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

extension DatabaseSession {
    /// What to render of an event: with what is known now.
    ///
    /// - Parameter holder: whose the event is, if it has no customer itself. Only RevenueCat's form
    ///   needs one.
    func subject(
        of event: LoggedEvent, _ epochs: LogEpochs, _ webhook: WebhookEndpoint, _ app: AppSettings,
        for holder: CustomerID? = nil, at now: Instant
    ) throws -> WebhookSubject {
        switch webhook.settings.format {
        case .perennial:
            let state = try state(after: event.entry, in: app, at: now)
            return WebhookSubject(app: app.id, .perennial(event, epochs, state))
        case .revenueCat:
            var context = try context(of: event, in: app, for: holder, at: now)
            if event.entry.change.kind == .linked {
                try setTold(of: event, toldTo: webhook, epochs, &context)
            } else {
                context.former = try people(event.entry.other, in: app.id)
                try setRemaining(of: event.entry, in: app, &context)
            }
            return WebhookSubject(app: app.id, .revenueCat(event, epochs, context))
        }
    }

    private func state(
        after entry: EventEntry, in app: AppSettings, at now: Instant
    ) throws -> CustomerState? {
        guard let id = entry.customer, try customer(known: id, in: app.id) != nil else {
            return nil
        }
        return try state(
            of: id, in: app, environment: entry.environment ?? .production, at: now)
    }

    private func context(
        of event: LoggedEvent, in app: AppSettings, for holder: CustomerID?, at now: Instant
    ) throws -> EventContext {
        let entry = event.entry
        let timeline = try entry.purchase.flatMap { try self.timeline(of: $0, in: app.id) }
        let token = try token(of: entry, in: app)
        let named = try token.flatMap { try customer(named: $0, in: app.id) }
        let entitlements = app.entitlements.filter { _, products in
            entry.change.product.map(products.contains) ?? false
        }
        return EventContext(
            customer: try people(entry.customer ?? named ?? holder, in: app.id),
            accountToken: token, former: nil, now: now, timeline: timeline,
            entitlements: entitlements.keys.sorted(),
            placement: try timeline.flatMap { try placement(entry.change, $0, in: app.id) },
            movements: try movements(with: event, in: app.id), money: app.money,
            rights: app.entitlements)
    }

    /// The token of a purchase without an owner, if it is the id of a customer.
    private func token(of entry: EventEntry, in app: AppSettings) throws -> String? {
        guard app.accountTokens == .customers, let token = entry.accountToken,
            CustomerID(accountToken: token) != nil, try !isErased(token: token, in: app.id)
        else { return nil }
        return token
    }

    private func people(_ id: CustomerID?, in app: AppID) throws -> EventContext.People? {
        try id.flatMap { try customer(known: $0, in: app) }.map(EventContext.People.init)
    }

    /// Where the event's transaction was bought; a renewal was bought where its purchase was.
    private func placement(_ change: Change, _ timeline: Timeline, in app: AppID) throws -> String?
    {
        let origins = try self.origins(of: timeline.purchase, in: app)
        if let own = change.transaction.flatMap({ origins[$0]?.placement }) { return own }
        let earlier = timeline.periods.map(\.payment.transaction).prefix {
            $0 != change.transaction
        }
        return earlier.reversed().lazy.compactMap { origins[$0]?.placement }.first
    }

    // MARK: - What other events say

    /// What a purchase changed in a customer's wallets at once: an event for each currency. The
    /// first one says it of all. On PostgreSQL the others may have no number yet.
    private func movements(with event: LoggedEvent, in app: AppID) throws -> [WalletChange]? {
        let entry = event.entry
        guard let own = entry.change.wallet, let customer = entry.customer,
            entry.purchase != nil, entry.change.transaction != nil
        else { return [] }
        let near = try events(around: event.sequence, of: customer, in: app)
        let together = near.filter { $0.entry.isBooked(with: entry) }
        if let first = together.first, first.sequence < event.sequence { return nil }
        let later = try pendingEntries(of: customer, in: app).filter { $0.isBooked(with: entry) }
        let others = together.filter { $0.sequence > event.sequence }.map(\.entry) + later
        return [own] + others.compactMap(\.change.wallet)
    }

    /// Before a purchase was linked, events of nobody may have gone out as somebody's: those of an
    /// account token, and those of an earlier owner. Nobody else is named, because an erasure would
    /// not find an id there.
    private func setTold(
        of event: LoggedEvent, toldTo webhook: WebhookEndpoint, _ epochs: LogEpochs,
        _ context: inout EventContext
    ) throws {
        let app = webhook.app
        for earlier in try unownedEvents(before: event, in: app) {
            let message = NewDelivery.message(of: earlier, epochs)
            guard let sent = try delivery(message, to: webhook.id, of: app),
                sent.stream != earlier.entry.purchase?.description
            else { continue }
            let told = CustomerID(rawValue: sent.stream)
            let owner = context.customer
            if told == owner?.id || owner?.all.contains(told) == true { return }
            context.isToldOfAnother = try people(told, in: app)?.id != owner?.id
            // The account token is the customer's, and the receiver does not know it as theirs.
            if !context.isToldOfAnother, sent.stream == earlier.entry.accountToken {
                context.former = EventContext.People(id: told)
            }
            return
        }
    }

    /// Finds what somebody still has who lost a purchase.
    private func setRemaining(
        of entry: EventEntry, in app: AppSettings, _ context: inout EventContext
    ) throws {
        switch entry.change.kind {
        case .moved: context.loser = context.former
        case .unlinked: context.loser = context.customer
        default: return
        }
        guard let loser = context.loser?.id, let purchase = entry.purchase else { return }
        let state = try state(
            of: loser, in: app, environment: purchase.environment, at: context.now)
        for term in state.terms where term.covers(context.now) {
            let isLonger = context.remainingTerms[term.purchase].map { $0.until < term.until }
            if isLonger ?? true { context.remainingTerms[term.purchase] = term }
        }
        context.remaining = state.purchases.filter {
            $0.isOwn && $0.timeline.purchase != purchase
                && ($0.access?.isOpen == true
                    || context.remainingTerms[$0.timeline.purchase] != nil)
        }
    }

    /// The events of a purchase from before it was linked to anybody.
    func unownedEvents(before event: LoggedEvent, in app: AppID) throws -> [LoggedEvent] {
        guard let purchase = event.entry.purchase else { return [] }
        return try unownedEvents(of: purchase, in: app, before: event.sequence)
    }

    /// The customer to whom an event of nobody went, or goes. Nil if it went to nobody.
    func holder(
        of event: LoggedEvent, _ epochs: LogEpochs, toldTo webhook: WebhookID, in app: AppID
    ) throws -> CustomerID? {
        guard event.entry.customer == nil, event.entry.purchase != nil,
            let sent = try delivery(
                NewDelivery.message(of: event, epochs), to: webhook, of: app)
        else { return nil }
        return try customer(known: CustomerID(rawValue: sent.stream), in: app)?.customer
    }
}

extension EventEntry {
    /// Whether both are about the same payment, or refund, in the same customer's wallets.
    fileprivate func isBooked(with other: EventEntry) -> Bool {
        purchase == other.purchase && change.kind == other.change.kind
            && change.transaction == other.change.transaction && knownAt == other.knownAt
            && change.wallet?.environment == other.change.wallet?.environment
    }
}
