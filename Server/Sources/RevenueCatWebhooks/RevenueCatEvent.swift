import Ledger
import PerennialContract

/// A webhook of RevenueCat's that says what one of our events says.
///
/// Every key that RevenueCat's documentation promises for a type is there, null where nothing is
/// known, because handlers with types read them all. docs/webhooks-revenuecat.md has the table.
package struct RevenueCatEvent: Encodable, Sendable {
    /// RevenueCat's `api_version`.
    package static let apiVersion = "1.0"

    package let kind: RevenueCatKind
    /// A UUID. It follows from our event's id, so each attempt to deliver has the same one.
    package let id: String
    /// The members of `event`.
    package let members: [RevenueCatValue.Member]

    /// The names of the members, in order.
    package var keys: [String] { members.map(\.key) }

    package func encode(to encoder: any Encoder) throws {
        try RevenueCatValue.object([
            .init("api_version", .text(Self.apiVersion)), .init("event", .object(members)),
        ]).encode(to: encoder)
    }

    /// A test webhook: shaped like a purchase, without a customer or product.
    ///
    /// - Parameter id: the same for each attempt to deliver.
    package static func test(_ id: String, at moment: Timestamp, app: String) -> RevenueCatEvent {
        let event = PerennialContract.Event(
            id: id, sequence: 0, type: EventType(rawValue: "test"), at: moment, knownAt: moment,
            environment: .sandbox, cause: .init(kind: "request"))
        let uuid = StableUUID.text(of: [app, id])
        let rendered = RevenueCatMembers(
            event: event, context: RevenueCatContext(app: app), kind: .test, id: uuid)
        return RevenueCatEvent(kind: .test, id: uuid, members: rendered.list)
    }

    /// The webhooks for one of our events, in the order in which to send them. Most events have
    /// one; some have none, such as `wallet_adjusted` of no purchase; a failed payment has up to
    /// three.
    package static func events(
        for event: PerennialContract.Event, in context: RevenueCatContext
    ) -> [RevenueCatEvent] {
        RevenueCatKind.kinds(for: event, in: context).map { kind in
            let id = StableUUID.text(
                of: [context.app, event.id, "\(event.knownAt)", event.purchaseID ?? "", kind.type])
            let rendered = RevenueCatMembers(event: event, context: context, kind: kind, id: id)
            return RevenueCatEvent(kind: kind, id: id, members: rendered.list)
        }
    }
}

/// What a rendering needs besides the event itself: what is known when it is sent.
package struct RevenueCatContext: Sendable {
    /// The ids of one customer.
    package struct CustomerIDs: Hashable, Sendable {
        /// The id that was seen first.
        package var first: String
        /// The id that was seen last.
        package var last: String
        /// All ids, these two included.
        package var all: [String]

        package init(first: String, last: String, all: [String]) {
            (self.first, self.last, self.all) = (first, last, all)
        }
    }

    /// The app, as `app_id`.
    package var app: String
    /// The event's customer; if it has none, the present owner of the purchase. Nil if nobody owns
    /// it.
    package var customer: CustomerIDs?
    /// For a purchase that moved: its owner before.
    package var formerCustomer: CustomerIDs?
    /// The account token of the purchase, if it may be shown.
    package var accountToken: String?
    /// The facts of the event's purchase.
    package var timeline: Timeline?
    /// The entitlements that the event's product gives.
    package var entitlements: [String]
    /// The offering that the customer bought from.
    package var offering: String?

    package init(
        app: String, customer: CustomerIDs? = nil, formerCustomer: CustomerIDs? = nil,
        accountToken: String? = nil, timeline: Timeline? = nil, entitlements: [String] = [],
        offering: String? = nil
    ) {
        self.app = app
        self.customer = customer
        self.formerCustomer = formerCustomer
        self.accountToken = accountToken
        self.timeline = timeline
        self.entitlements = entitlements
        self.offering = offering
    }
}

extension RevenueCatContext {
    /// The payment that an event is about; if the event names none, that of the last period that
    /// had begun.
    func payment(of event: PerennialContract.Event) -> Payment? { period(of: event)?.payment }

    func period(of event: PerennialContract.Event) -> Timeline.Period? {
        guard let timeline else { return nil }
        let named = event.transactionID.flatMap { number in
            timeline.periods.last { $0.payment.transaction.rawValue == number }
        }
        return named
            ?? timeline.periods.last {
                !$0.isVoid && $0.from.milliseconds <= event.at.milliseconds
            } ?? timeline.periods.last
    }

    /// The number of the period of an event among those of its purchase, from 1.
    func renewalNumber(of event: PerennialContract.Event) -> Int? {
        guard let timeline, let period = period(of: event) else { return nil }
        let counted = timeline.periods.filter { !$0.isVoid }
        return counted.firstIndex { $0.id == period.id }.map { $0 + 1 }
    }

    /// Whether the period before the event's one was a trial.
    func followsTrial(_ event: PerennialContract.Event) -> Bool {
        guard let timeline, let period = period(of: event),
            let index = timeline.periods.firstIndex(where: { $0.id == period.id }), index > 0
        else { return false }
        return timeline.periods[index - 1].payment.terms == .trial
    }
}
