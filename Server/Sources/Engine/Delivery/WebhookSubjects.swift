import Ledger
import Logging
import Storage

/// Collects the data from which messages about an event are rendered.
struct WebhookSubjects {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// The data from which an event is rendered, as it is at present.
    ///
    /// - Parameter holder: the customer for an event that has no customer. Only RevenueCat's format
    ///   needs this customer.
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
            if let customer = context.customer?.id {
                context.attributes = try tx.attributes.all(of: customer, in: app.id)
                    .filter { $0.value != nil }
            }
            context.anonymousID = try event.entry.purchase.map {
                try AnonymousIDs(tx).id(of: $0, in: app.id)
            }
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
        guard let id = entry.customer, try tx.customers.find(known: id, in: app.id) != nil else {
            return nil
        }
        return try CustomerReader(tx).state(
            of: id, in: app, environment: entry.environment ?? .production, at: now)
    }

    private func context(
        of event: LoggedEvent, in app: AppSettings, for holder: CustomerID?, at now: Instant
    ) throws -> EventContext {
        let entry = event.entry
        let timeline = try entry.purchase.flatMap { try tx.purchases.timeline(of: $0, in: app.id) }
        let token = try token(of: entry, in: app)
        let named = try token.flatMap { try tx.accountTokens.customer(named: $0, in: app.id) }
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

    /// The account token of a purchase without an owner, if it is the id of a customer.
    private func token(of entry: EventEntry, in app: AppSettings) throws -> String? {
        guard app.accountTokens == .customers, let token = entry.accountToken,
            CustomerID(accountToken: token) != nil,
            try !tx.erasedIDs.contains(token: token, in: app.id)
        else { return nil }
        return token
    }

    private func people(_ id: CustomerID?, in app: AppID) throws -> EventContext.People? {
        try id.flatMap { try tx.customers.find(known: $0, in: app) }.map(EventContext.People.init)
    }

    /// Where the event's transaction was bought. For a renewal, where the purchase was bought
    /// first.
    private func placement(_ change: Change, _ timeline: Timeline, in app: AppID) throws -> String?
    {
        let origins = try tx.purchases.origins(of: timeline.purchase, in: app)
        if let own = change.transaction.flatMap({ origins[$0]?.placement }) { return own }
        let earlier = timeline.periods.map(\.payment.transaction).prefix {
            $0 != change.transaction
        }
        return earlier.reversed().lazy.compactMap { origins[$0]?.placement }.first
    }

    // MARK: - What other events say

    /// The changes that one payment or refund made in a customer's wallets. Each currency has a
    /// separate event, but the first event reports all changes. On PostgreSQL the other events may
    /// have no number yet. Returns nil if an earlier event reports the changes.
    private func movements(with event: LoggedEvent, in app: AppID) throws -> [WalletChange]? {
        let entry = event.entry
        guard let own = entry.change.wallet, let customer = entry.customer,
            entry.purchase != nil, entry.change.transaction != nil
        else { return [] }
        let near = try tx.events.all(around: event.sequence, of: customer, in: app)
        let together = near.filter { $0.entry.isBooked(with: entry) }
        if let first = together.first, first.sequence < event.sequence { return nil }
        let later = try tx.pendingEvents.entries(of: customer, in: app).filter {
            $0.isBooked(with: entry)
        }
        let others = together.filter { $0.sequence > event.sequence }.map(\.entry) + later
        return [own] + others.compactMap(\.change.wallet)
    }

    /// Finds the stream in which events of a purchase were delivered before the purchase was
    /// linked: the stream of an account token, or of an earlier owner. The result does not name
    /// another customer, because an erasure would not find that customer's id there.
    private func setTold(
        of event: LoggedEvent, toldTo webhook: WebhookEndpoint, _ epochs: LogEpochs,
        _ context: inout EventContext
    ) throws {
        let app = webhook.app
        for earlier in try unownedEvents(before: event, in: app) {
            let message = NewDelivery.message(of: earlier, epochs)
            guard let sent = try tx.deliveries.find(message, to: webhook.id, of: app),
                sent.stream != earlier.entry.purchase?.description
            else { continue }
            let told = CustomerID(rawValue: sent.stream)
            let owner = context.customer
            if told == owner?.id || owner?.all.contains(told) == true { return }
            context.isToldOfAnother = try people(told, in: app)?.id != owner?.id
            // The account token is an id of the customer, but the receiver does not know that yet.
            if !context.isToldOfAnother, sent.stream == earlier.entry.accountToken {
                context.former = EventContext.People(id: told)
            }
            return
        }
    }

    /// Finds the other purchases that a customer who lost a purchase still has.
    private func setRemaining(
        of entry: EventEntry, in app: AppSettings, _ context: inout EventContext
    ) throws {
        switch entry.change.kind {
        case .moved: context.loser = context.former
        case .unlinked: context.loser = context.customer
        default: return
        }
        guard let loser = context.loser?.id, let purchase = entry.purchase else { return }
        let state = try CustomerReader(tx).state(
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

    /// The events of a purchase from before it was linked to a customer.
    func unownedEvents(before event: LoggedEvent, in app: AppID) throws -> [LoggedEvent] {
        guard let purchase = event.entry.purchase else { return [] }
        return try tx.events.unowned(of: purchase, in: app, before: event.sequence)
    }

    /// The customer under whom an event without a customer was delivered, or is to be delivered.
    /// Nil if there is no such customer.
    func holder(
        of event: LoggedEvent, _ epochs: LogEpochs, toldTo webhook: WebhookID, in app: AppID
    ) throws -> CustomerID? {
        guard event.entry.customer == nil, event.entry.purchase != nil,
            let sent = try tx.deliveries.find(
                NewDelivery.message(of: event, epochs), to: webhook, of: app)
        else { return nil }
        return try tx.customers.find(known: CustomerID(rawValue: sent.stream), in: app)?.customer
    }

    /// The events to deliver when an event was read: the event itself, if the webhook wants it.
    /// RevenueCat's format does not report a purchase without an owner. When a purchase without an
    /// owner is linked, its earlier events are delivered, too, as events of the new owner.
    /// Deliveries that exist already are not added again.
    func subjects(
        of event: LoggedEvent, _ epochs: LogEpochs, _ webhook: WebhookEndpoint, _ app: AppSettings,
        at now: Instant
    ) throws -> [(LoggedEvent, WebhookSubject)] {
        let (filter, format) = (webhook.settings.filter, webhook.settings.format)
        var subjects: [(LoggedEvent, WebhookSubject)] = []
        if format == .revenueCat, event.entry.change.kind == .linked {
            for earlier in try unownedEvents(before: event, in: app.id)
            where filter.permits(earlier.entry) {
                let subject = try subject(
                    of: earlier, epochs, webhook, app, for: event.entry.customer, at: now)
                subjects.append((earlier, subject))
            }
        }
        guard filter.permits(event.entry) else { return subjects }
        return subjects + [(event, try subject(of: event, epochs, webhook, app, at: now))]
    }
}
