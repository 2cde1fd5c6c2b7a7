import PerennialContract

/// The customer's purchases over time: a lane for the subscriptions, and one for each product that
/// is owned permanently. The picture is drawn from the server's events alone, as any client of the
/// API could draw it.
struct PhonePicture: Hashable, Sendable {
    /// A stretch of time in one state.
    struct Span: Hashable, Sendable {
        var from: Timestamp
        var until: Timestamp
        var look: Look
    }

    enum Look: String, Hashable, Sendable {
        case paid, trial, grace, retry, refunded, next
    }

    struct Flag: Hashable, Sendable {
        var at: Timestamp
        var word: String
    }

    struct Lane: Hashable, Sendable {
        var name: String
        var spans: [Span]
    }

    var lanes: [Lane]
    var flags: [Flag]
    let now: Timestamp

    init(_ state: PhoneState) {
        now = state.now
        let own = state.events.filter { state.product($0.productID)?.period != nil }
            .sorted { Self.order($0) < Self.order($1) }
        let chains = Dictionary(grouping: own.filter { $0.after != nil }) { $0.purchaseID ?? "" }
        let spans = chains.sorted { $0.key < $1.key }.flatMap { Self.spans(of: $0.value) }
        lanes = spans.isEmpty ? [] : [Lane(name: state.entitlement, spans: spans)]
        flags = own.compactMap(Self.flag)
        for once in state.customer.oneTime {
            guard state.product(once.productID)?.isConsumable == false else { continue }
            let end = once.revokedAt ?? Self.openEnd
            let span = Span(from: once.purchasedAt, until: end, look: .paid)
            lanes.append(Lane(name: once.productID, spans: [span]))
        }
        if state.access?.willRenew == true, state.access?.state == .paid,
            let end = state.access?.until, !lanes.isEmpty
        {
            lanes[0].spans.append(Span(from: end, until: Self.openEnd, look: .next))
        }
    }

    /// The order of events: by their second, and within a second in the order of the log.
    /// Milliseconds are ignored, because a payment that finally succeeds has the same second as its
    /// refusal, but possibly an earlier millisecond.
    static func order(_ event: Event) -> (Int64, Int64) {
        (event.at.milliseconds / 1000, Int64(event.sequence))
    }

    /// A moment later than anything that is drawn.
    static let openEnd = Timestamp(milliseconds: .max)

    /// Algorithm: each event contains a state, which begins at the event's moment, and the end of
    /// this state. A state lasts until the next event, or until its own end. A refunded period is
    /// drawn until the end that it would have had.
    private static func spans(of events: [Event]) -> [Span] {
        var spans: [Span] = []
        for (index, event) in events.enumerated() {
            guard let after = event.after, let look = shade(of: after) else { continue }
            let next = index + 1 < events.count ? events[index + 1].at : nil
            let own = after.until ?? finish(of: event, look, among: events[...index])
            let until = [next, own].compactMap { $0 }.min() ?? event.at
            // Events that change neither state nor end, such as a link, extend the last span.
            if let last = spans.last, last.look == look, last.until == event.at,
                !startsPeriod(event)
            {
                spans[spans.count - 1].until = until
            } else if until > event.at {
                spans.append(Span(from: event.at, until: until, look: look))
            }
        }
        return spans
    }

    private static func shade(of condition: PurchaseCondition) -> Look? {
        switch condition.state {
        case .paid?, .offer?: .paid
        case .trial?: .trial
        case .grace?, .unconfirmed?: .grace
        case .retry?: .retry
        case .refunded?: .refunded
        default: nil
        }
    }

    /// The end of a state in which the customer has no access.
    private static func finish(
        of event: Event, _ look: Look, among earlier: ArraySlice<Event>
    ) -> Timestamp? {
        switch look {
        case .refunded:
            earlier.last { $0.after?.active == true }?.after?.until
        case .retry:
            earlier.last { $0.type == .billingFailed }.map {
                Timestamp(milliseconds: $0.at.milliseconds + PhoneDue.retryDays * 86_400_000)
            }
        case .paid, .trial, .grace, .next: nil
        }
    }

    private static let periodStarts: Set<EventType> = [
        .purchased, .renewed, .trialConverted, .resubscribed, .billingRecovered, .productChanged,
        .upgraded, .periodBegan,
    ]

    private static func startsPeriod(_ event: Event) -> Bool { periodStarts.contains(event.type) }

    private static let flagWords: [EventType: String] = [
        .billingFailed: "card failed", .refunded: "refunded", .expired: "ended",
        .resubscribed: "back", .productChanged: "changed", .upgraded: "changed",
    ]

    private static func flag(_ event: Event) -> Flag? {
        flagWords[event.type].map { Flag(at: event.at, word: $0) }
    }
}
