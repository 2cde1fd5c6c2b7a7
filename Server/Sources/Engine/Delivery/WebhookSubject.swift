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
                ? context.customer?.id.rawValue ?? event.entry.stream : event.entry.stream
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
    /// The event's customer, or else whose the purchase is at present. Nil if it is nobody's.
    package var customer: People?
    /// The account token of the purchase. Nil if it was the id of a person who is erased.
    package var accountToken: String?
    /// The other customer of the event, such as the former owner.
    package var other: People?
    package var timeline: Timeline?
    /// The entitlements that the event's product gives, by name.
    package var entitlements: [EntitlementID]
    /// Where the app said that it was bought.
    package var placement: String?

    /// The ids of one customer, without those that the server made.
    package struct People: Hashable, Sendable {
        /// The id that represents the customer in this database.
        var id: CustomerID
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
    }
}

extension DatabaseSession {
    /// What to render of an event: with what is known now.
    func subject(
        of event: LoggedEvent, _ epochs: LogEpochs, _ webhook: WebhookEndpoint, _ app: AppSettings,
        at now: Instant
    ) throws -> WebhookSubject {
        switch webhook.settings.format {
        case .perennial:
            let state = try state(after: event.entry, in: app, at: now)
            return WebhookSubject(app: app.id, .perennial(event, epochs, state))
        case .revenueCat:
            let context = try context(of: event.entry, in: app)
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

    private func context(of entry: EventEntry, in app: AppSettings) throws -> EventContext {
        let owner = try entry.purchase.flatMap { try beneficiary(of: $0, in: app.id) }
        let timeline = try entry.purchase.flatMap { try self.timeline(of: $0, in: app.id) }
        let entitlements = app.entitlements.filter { _, products in
            entry.change.product.map(products.contains) ?? false
        }
        return EventContext(
            customer: try people(entry.customer ?? owner, in: app.id),
            accountToken: try timeline?.accountToken.flatMap {
                try isErased(token: $0, in: app.id) ? nil : $0
            }, other: try people(entry.other, in: app.id), timeline: timeline,
            entitlements: entitlements.keys.sorted(),
            placement: try timeline.flatMap { try placement(entry.change, $0, in: app.id) })
    }

    private func people(_ id: CustomerID?, in app: AppID) throws -> EventContext.People? {
        try id.flatMap { try customer(known: $0, in: app) }.map(EventContext.People.init)
    }

    /// Where the event's transaction was bought; a renewal was bought where its purchase was.
    private func placement(
        _ change: Change, _ timeline: Timeline, in app: AppID
    ) throws -> String? {
        let origins = try self.origins(of: timeline.purchase, in: app)
        if let own = change.transaction.flatMap({ origins[$0]?.placement }) { return own }
        let earlier = timeline.periods.map(\.payment.transaction).prefix {
            $0 != change.transaction
        }
        return earlier.reversed().lazy.compactMap { origins[$0]?.placement }.first
    }
}
