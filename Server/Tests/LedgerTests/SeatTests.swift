import Dice
import Ledger
import Testing

private let start = Instant(milliseconds: 1_700_000_000_000)
private let end = start + .days(30)
private let purchase = PurchaseID("1000", in: .production)

/// Payments for four seats, and for added seats. The App Store may give both the same line item.
private func payment(
    _ transaction: TransactionID, seats count: Int, from: Instant = start, until: Instant = end,
    isPart: Bool = true, refunded: Int = 0, revokedAt: Instant? = nil
) -> Payment {
    Payment(
        transaction: transaction, line: from < end ? "a" : "b", product: "pro.monthly", from: from,
        until: until, quantity: count,
        price: Money(milliunits: Int64(count) * 9_990, currency: "USD"), isRenewal: from >= end,
        revocation: revokedAt.map { Revocation(at: $0, kind: .refund) },
        seats: Seats(
            tiers: [Seats.Tier(price: 9_990, count: count)], refunded: refunded,
            isPart: isPart, invitations: .developer))
}

private func fact(_ payment: Payment, at: Instant) -> Fact {
    Fact(about: purchase, attestedAt: at, .payment(payment))
}

private func planned(_ renewal: Renewal, at: Instant) -> Fact {
    Fact(about: purchase, attestedAt: at, .renewal(renewal))
}

/// Facts about the first month, and about the seats that were added to it.
private enum Told {
    static let first = fact(payment("1000", seats: 4, isPart: false), at: start)
    static let firstOfTwo = fact(payment("1000", seats: 4), at: start + .days(10))
    static let added = fact(
        payment("1001", seats: 2, from: start + .days(10)), at: start + .days(10))
    static let firstRefunded = fact(
        payment("1000", seats: 4, revokedAt: start + .days(15)), at: start + .days(15))
    static let addedRefunded = fact(
        payment("1001", seats: 2, from: start + .days(10), revokedAt: start + .days(15)),
        at: start + .days(15))
    static let firstSeatRefunded = fact(
        payment("1000", seats: 4, refunded: 1), at: start + .days(15))
    /// Renewal information in which three seats are planned, and later four.
    static let plans = [(3, 16), (4, 18)].map { seats, day in
        planned(Renewal(willRenew: true, renewsAt: end, seats: seats), at: start + .days(day))
    }
    static let next = fact(
        payment("1002", seats: 3, from: end, until: end + .days(30), isPart: false), at: end)
}

@Suite struct SeatTests {
    @Test(arguments: 0..<20 as Range<UInt64>)
    func `seats added during a period are a part of that period, in any order of documents`(
        seed: UInt64
    ) {
        var dice = Dice(seed: seed)
        let facts =
            [Told.first, Told.firstOfTwo, Told.added, Told.firstSeatRefunded, Told.next]
            + Told.plans
        var told = facts + facts.filter { _ in Bool.random(using: &dice) }
        told.shuffle(using: &dice)
        var timeline = Timeline(of: purchase, [])
        for fact in told { timeline = timeline.adding([fact]) }
        #expect(timeline == Timeline(of: purchase, facts), "seed \(seed)")
        #expect(timeline.periods.map(\.payment.transaction) == ["1000", "1001", "1002"])
        #expect(timeline.periods.map(\.isAddition) == [false, true, false])
        #expect(timeline.periods.map(\.end) == [end, end, end + .days(30)])
        #expect(timeline.periods.filter(\.isReplaced).isEmpty)
        // The next period was charged for three seats, although four had been planned last.
        #expect(timeline.seatsAtRenewal(at: start + .days(20)) == 3)
    }

    /// All four seats are refunded, and four are bought again before the first period would have
    /// ended. The first period's renewal was charged ahead and is refunded before it begins.
    @Test(arguments: [(0, end - .days(16)), (4, nil)] as [(Int, Instant?)])
    func `if seats are bought again within a period, a separate period begins`(
        refunded: Int, revokedAt: Instant?
    ) {
        let (charged, anew) = (end - .days(1), end - .days(15))
        let facts = [
            fact(payment("1000", seats: 4, refunded: refunded, revokedAt: revokedAt), at: charged),
            fact(payment("1003", seats: 4, from: anew, until: anew + .days(30)), at: charged),
            fact(
                payment(
                    "1002", seats: 4, from: end, until: end + .days(30), isPart: false,
                    revokedAt: charged), at: charged),
        ]
        let timeline = Timeline(of: purchase, facts)
        #expect(timeline.periods.map(\.isAddition) == [false, false, false])
        #expect(timeline.periods[1].end == anew + .days(30))
        #expect(timeline.period(at: end + .days(1))?.payment.transaction == "1003")
        #expect(timeline == Timeline(of: purchase, facts.reversed()))
    }

    @Test
    func `planned seats are ignored if the plan is older than the period or the latest addition`() {
        let early = planned(Renewal(willRenew: true, renewsAt: end, seats: 4), at: start + .days(5))
        let timeline = Timeline(of: purchase, [Told.first, early])
        #expect(timeline.seatsAtRenewal(at: start + .days(20)) == 4)
        #expect(timeline.adding([Told.added]).seatsAtRenewal(at: start + .days(20)) == nil)
        var late = planned(Renewal(willRenew: true), at: end + .days(4))
        late.grade = .legacy
        let later = Timeline(of: purchase, [Told.first, early, Told.next, late])
        #expect(later.seats(at: end + .days(5)) == 3)
        #expect(later.seatsAtRenewal(at: end + .days(5)) == nil)
    }

    @Test(
        arguments: [
            (Renewal(willRenew: true, renewsAt: end, seats: 3), 3),
            (Renewal(willRenew: false, renewsAt: end, seats: 3), nil),
            (Renewal(willRenew: true, renewsAt: end), nil),
            // This plan is about another period.
            (Renewal(willRenew: true, renewsAt: start, seats: 3), nil),
        ] as [(Renewal, Int?)])
    func `the seats of the next period are known if renewal is on and the store named them`(
        renewal: Renewal, seats: Int?
    ) {
        let at = renewal.renewsAt == start ? start - .days(1) : start + .days(12)
        let timeline = Timeline(
            of: purchase, [Told.firstOfTwo, Told.added, planned(renewal, at: at)])
        #expect(timeline.seatsAtRenewal(at: start + .days(20)) == seats)
        #expect(timeline.seats(at: start + .days(20)) == 6)
        #expect(Timeline(of: purchase, [Told.first]).seatsAtRenewal(at: start) == nil)
    }

    @Test func `a later receipt removes the planned seats only if it plans another product`() {
        func legacy(to product: ProductID?) -> Fact {
            var fact = planned(
                Renewal(willRenew: true, renewsTo: product, isRetrying: true),
                at: start + .days(19))
            fact.grade = .legacy
            return fact
        }
        for (product, seats) in [(nil, 4), ("pro.yearly", nil)] as [(ProductID?, Int?)] {
            let facts = [Told.first] + Told.plans + [legacy(to: product)]
            let timeline = Timeline(of: purchase, facts)
            #expect(timeline.renewal?.value.seats == seats)
            #expect(timeline == Timeline(of: purchase, facts.reversed()))
        }
    }

    @Test(
        arguments: [
            ([Told.first, Told.added], .paid, 6), ([Told.first, Told.addedRefunded], .paid, 4),
            ([Told.firstRefunded, Told.added], .paid, 2),
            ([Told.firstRefunded, Told.addedRefunded], .refunded, 0),
            ([Told.firstSeatRefunded, Told.added], .paid, 5),
            // Only one of the two payments has arrived.
            ([Told.firstRefunded], .refunded, 0), ([Told.added], .paid, 2),
        ] as [([Fact], Access.State, Int)])
    func `a purchaser has access while any part of the period is left`(
        facts: [Fact], state: Access.State, seats: Int
    ) {
        let timeline = Timeline(of: purchase, facts)
        let now = start + .days(20)
        #expect(timeline.access(at: now)?.state == state)
        #expect(timeline.seats(at: now) == seats)
        if state == .paid { #expect(timeline.access(at: now)?.until == end) }
    }

    @Test func `a period with some refunded seats ends as expired`() {
        let timeline = Timeline(of: purchase, [Told.first, Told.addedRefunded])
        #expect(timeline.access(at: end + .days(2))?.state == .expired)
        #expect(timeline.access(at: end + .days(2))?.until == end)
        let other = Timeline(of: purchase, [Told.firstRefunded, Told.added])
        #expect(other.access(at: end + .days(2))?.state == .expired)
    }

    @Test func `a purchase after the refund of all seats is a new period`() {
        let again = payment(
            "1003", seats: 1, from: start + .days(17), until: start + .days(47), isPart: false)
        var state = ReportedState(nil, until: start)
        let before = Timeline(of: purchase, [Told.firstRefunded, Told.addedRefunded])
        _ = state.changes(
            from: Timeline(of: purchase, []), to: before, at: start + .days(15))
        let after = before.adding([fact(again, at: start + .days(17))])
        #expect(after.periods.map(\.isAddition) == [false, true, false])
        #expect(after.latestPeriod?.payment.transaction == "1003")
        let changes = state.changes(from: before, to: after, at: start + .days(17))
        #expect(changes.map(\.kind) == [.resubscribed])
    }

    @Test
    func `the payment that gave access longest decides the state after the period`() {
        let refunded = fact(
            payment(
                "1004", seats: 1, from: start + .days(20), revokedAt: start + .days(22)),
            at: start + .days(22))
        let timeline = Timeline(of: purchase, [Told.firstRefunded, Told.added, refunded])
        #expect(timeline.access(at: start + .days(25))?.state == .paid)
        #expect(timeline.access(at: end + .hours(1))?.state == .unconfirmed)
        #expect(timeline.access(at: end + .days(2))?.state == .expired)
    }

    @Test
    func `added seats belong to the same period as the first seats, and do not convert a trial`() {
        var trial = payment("1000", seats: 4)
        (trial.terms, trial.price) = (.trial, Money(milliunits: 0, currency: "USD"))
        let timeline = Timeline(
            of: purchase, [fact(trial, at: start + .days(10)), Told.added, Told.next])
        #expect(timeline.periods.map { timeline.number(of: $0) } == [1, 1, 2])
        #expect(timeline.periods.map(timeline.convertsFreePeriod) == [false, false, true])
    }

    @Test func `added seats are extended together with their period`() {
        let longer = fact(payment("1000", seats: 4, until: end + .days(7)), at: start + .days(20))
        let timeline = Timeline(of: purchase, [Told.first, Told.added, longer])
        #expect(timeline.seats(at: end + .days(3)) == 6)
        #expect(timeline.seats(at: end + .days(8)) == 0)
    }

    @Test func `a change of product ends all parts of a period`() {
        var upgrade = payment("1003", seats: 1, from: start + .days(20), isPart: false)
        (upgrade.product, upgrade.line) = ("pro.yearly", "c")
        let timeline = Timeline(
            of: purchase, [Told.first, Told.added, fact(upgrade, at: start + .days(20))])
        #expect(timeline.periods.map(\.end) == [start + .days(20), start + .days(20), end])
        #expect(timeline.seats(at: start + .days(21)) == 1)
    }

    @Test
    func `an addition of seats is reported by a separate event, with the money for these seats`() {
        var state = ReportedState(nil, until: start)
        var timeline = Timeline(of: purchase, [])
        var changes: [Change] = []
        for fact in [
            Told.first, Told.firstOfTwo, Told.added, Told.addedRefunded, Told.next,
        ] {
            let after = timeline.adding([fact])
            changes += state.changes(from: timeline, to: after, at: fact.attestedAt)
            timeline = after
        }
        #expect(changes.map(\.kind) == [.purchased, .seatsAdded, .refunded, .renewed])
        #expect(changes.map { $0.money?.milliunits } == [39_960, 19_980, -19_980, 29_970])
        #expect(changes.map { $0.after?.state == .paid } == [true, true, true, true])
        #expect(timeline.netAmounts == ["USD": 69_930])
    }

    @Test func `an assigned seat has separate events for its beginning and its end`() {
        func seat(revokedAt: Instant? = nil) -> Payment {
            Payment(
                transaction: "1000", product: "pro.monthly", from: start, until: end,
                price: Money(milliunits: 9_990, currency: "USD"), ownership: .assigned,
                revocation: revokedAt.map { Revocation(at: $0, kind: .sharingEnded) })
        }
        var renewed = seat()
        (renewed.transaction, renewed.isRenewal) = ("1001", true)
        (renewed.from, renewed.until) = (end, end + .days(30))
        var state = ReportedState(nil, until: start)
        var timeline = Timeline(of: purchase, [])
        var changes: [Change] = []
        for (payment, at) in [
            (seat(), start), (seat(revokedAt: start + .days(3)), start + .days(3)),
            (seat(), start + .days(4)), (renewed, end),
        ] {
            let after = timeline.adding([fact(payment, at: at)])
            changes += state.changes(from: timeline, to: after, at: at)
            timeline = after
        }
        #expect(changes.map(\.kind) == [.seatAssigned, .seatRevoked, .seatAssigned, .renewed])
        #expect(changes.compactMap(\.money).isEmpty)
        #expect(timeline.seats(at: start + .days(5)) == 0)
    }

    /// Older documents have no field for seats, and call every end a refund.
    @Test func `if a receipt calls a seat refunded, the seat is reported as revoked`() {
        func seat(_ ownership: Ownership, revokedAt: Instant? = nil) -> Payment {
            Payment(
                transaction: "1000", line: "a", product: "pro.monthly", from: start, until: end,
                ownership: ownership,
                revocation: revokedAt.map { Revocation(at: $0, kind: .refund) })
        }
        let assigned = fact(seat(.assigned), at: start)
        let receipt = Fact(
            about: purchase, attestedAt: start + .days(4), grade: .legacy,
            .payment(seat(.purchased, revokedAt: start + .days(3))))
        var state = ReportedState(nil, until: start)
        let before = Timeline(of: purchase, [assigned])
        _ = state.changes(from: Timeline(of: purchase, []), to: before, at: start)
        let after = before.adding([receipt])
        #expect(after == Timeline(of: purchase, [receipt, assigned]))
        let changes = state.changes(from: before, to: after, at: start + .days(4))
        #expect(changes.map(\.kind) == [.seatRevoked])
        #expect(after.access(at: start + .days(5))?.state == .revoked)
    }
}
