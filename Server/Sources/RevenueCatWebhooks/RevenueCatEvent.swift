import Ledger
import PerennialContract

/// A webhook in RevenueCat's format, with the content of one of our events.
///
/// The webhook has every key that RevenueCat's documentation promises for its type, with null for
/// unknown values. This is necessary because typed handlers read all keys. The table is in
/// docs/webhooks-revenuecat.md.
package struct RevenueCatEvent: Encodable, Sendable {
    /// RevenueCat's `api_version`.
    package static let apiVersion = "1.0"

    package let kind: RevenueCatKind
    /// A UUID that is derived from our event's id. So the UUID is the same in each attempt to
    /// deliver.
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
    /// - Parameter id: the id of the test, which is the same in each attempt to deliver.
    package static func test(_ id: String, at moment: Timestamp, app: String) -> RevenueCatEvent {
        let event = PerennialContract.Event(
            id: id, sequence: 0, type: EventType(rawValue: "test"), at: moment, knownAt: moment,
            environment: .sandbox, cause: .init(kind: "request"))
        let uuid = StableUUID.text(of: [app, id])
        let rendered = RevenueCatMembers(
            event: event, context: RevenueCatContext(app: app), kind: .test, id: uuid)
        return RevenueCatEvent(kind: .test, id: uuid, members: rendered.list)
    }

    /// The webhooks for one of our events, in the order in which to send them. Most events have one
    /// webhook. Some events have none, such as an event of a purchase without an owner. A failed
    /// payment has up to three webhooks.
    package static func events(
        for event: PerennialContract.Event, in context: RevenueCatContext
    ) -> [RevenueCatEvent] {
        let kinds = RevenueCatKind.kinds(for: event, in: context)
        let own = kinds.map { rendered(event, in: context, as: $0) }
        guard kinds.contains(.transfer) else { return own }
        return own
            + context.remaining.map {
                rendered($0.event, in: $0.context, as: .subscriptionExtended)
            }
    }

    private static func rendered(
        _ event: PerennialContract.Event, in context: RevenueCatContext, as kind: RevenueCatKind
    ) -> RevenueCatEvent {
        let id = StableUUID.text(
            of: [context.app, event.id, "\(event.knownAt)", event.purchaseID ?? "", kind.type])
        let rendered = RevenueCatMembers(event: event, context: context, kind: kind, id: id)
        return RevenueCatEvent(kind: kind, id: id, members: rendered.list)
    }
}

/// The data that a rendering needs besides the event itself, as known when the webhook is sent.
package struct RevenueCatContext: Sendable {
    /// The ids of one customer.
    package struct CustomerIDs: Hashable, Sendable {
        /// The id that was seen first.
        package var first: String
        /// The id that was seen last.
        package var last: String
        /// All ids, including ``first`` and ``last``.
        package var all: [String]

        package init(first: String, last: String, all: [String]) {
            (self.first, self.last, self.all) = (first, last, all)
        }
    }

    /// A purchase that the former owner of another purchase keeps. A webhook reports the purchase
    /// as if it had been extended to its present end.
    package struct Remaining: Sendable {
        var event: PerennialContract.Event
        var context: RevenueCatContext

        package init(_ event: PerennialContract.Event, _ context: RevenueCatContext) {
            (self.event, self.context) = (event, context)
        }
    }

    /// The app, as `app_id`.
    package var app: String
    /// The customer of the event. Nil if the app knows no such customer.
    package var customer: CustomerIDs?
    /// If the purchase moved, its former owner. If the purchase was linked, the account token that
    /// this receiver got as its customer before.
    package var formerCustomer: CustomerIDs?
    /// Whether the purchase was linked, and this receiver was sent another customer as its owner
    /// before.
    package var isToldOfAnother = false
    /// If the purchase moved, the other purchases that the former owner still has. A TRANSFER names
    /// no purchase, so a receiver may have ended the access of these purchases as well.
    package var remaining: [Remaining] = []
    /// The account token of a purchase without an owner, if tokens are ids of customers.
    package var accountToken: String?
    /// The id that stands for the owner of the event's purchase while the purchase has no owner. A
    /// purchase always has the same id, and nobody can guess it. Nil if the event is about no
    /// purchase.
    package var anonymousID: String?
    /// The facts of the event's purchase.
    package var timeline: Timeline?
    /// The entitlements that the event's product gives.
    package var entitlements: [String]
    /// The offering that the customer bought from.
    package var offering: String?
    /// What the app says about the event's customer.
    package var attributes: [CustomerAttribute] = []
    /// The changes that a purchase made in all wallets at once. Nil if another event contains them.
    package var movements: [WalletMovement]? = []
    /// An amount that was charged at a moment, in thousandths of a US dollar. Nil without rates.
    package var dollars: @Sendable (Ledger.Money, Instant) -> Int64? = { _, _ in nil }

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

extension RevenueCatContext.CustomerIDs {
    /// The ids of this customer, without the ids that another customer also has.
    func subtracting(_ other: Self?) -> [String] { all.filter { other?.all.contains($0) != true } }
}

extension RevenueCatContext {
    /// The payment that an event is about. If the event names no payment, the payment of the latest
    /// period that had begun.
    func payment(of event: PerennialContract.Event) -> Payment? { period(of: event)?.payment }

    func period(of event: PerennialContract.Event) -> Timeline.Period? {
        guard let timeline else { return nil }
        let named = event.transactionID.flatMap { number in
            timeline.periods.last { period in
                period.transactions.contains { $0.rawValue == number }
            }
        }
        return named
            ?? timeline.periods.last {
                !$0.isVoid && $0.from.milliseconds <= event.at.milliseconds
            } ?? timeline.periods.last
    }

    /// The number of the event's period among the periods of its purchase, from 1.
    func renewalNumber(of event: PerennialContract.Event) -> Int? {
        guard let timeline, let period = period(of: event) else { return nil }
        return timeline.number(of: period)
    }

    /// Whether the event's transaction is the first transaction after a free transaction. The
    /// event's type does not matter.
    func convertsFreePeriod(_ event: PerennialContract.Event) -> Bool {
        guard let timeline, let period = period(of: event) else { return false }
        return timeline.convertsFreePeriod(period)
    }
}
