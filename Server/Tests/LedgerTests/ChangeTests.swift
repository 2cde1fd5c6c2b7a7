import Ledger
import Testing

private let start = Chronicle.start
private let end = start + .days(30)

private func payment(
    _ number: Int, _ product: ProductID = "pro.monthly", from: Instant = start,
    until: Instant? = nil, price: Int64 = 9_990, isRenewal: Bool = false, isUpgraded: Bool = false,
    terms: Terms = .full, ownership: Ownership = .purchased, revocation: Revocation? = nil,
    at: Instant? = nil
) -> Fact {
    Fact(
        about: RandomLife.purchase, attestedAt: at ?? from,
        .payment(
            Payment(
                transaction: TransactionID(rawValue: "\(999 + number)"), line: "l\(number)",
                product: product, from: from, until: until ?? from + .days(30), terms: terms,
                price: Money(milliunits: price, currency: "USD"), ownership: ownership,
                isRenewal: isRenewal, isUpgraded: isUpgraded, revocation: revocation)))
}

private func renewal(_ renewal: Renewal, at: Instant) -> Fact {
    Fact(about: RandomLife.purchase, attestedAt: at, .renewal(renewal))
}

private let on = Renewal(willRenew: true, renewsTo: "pro.monthly")

/// The kind of each change.
@Suite struct ChangeTests {
    /// Anna has paid for a month, and her renewal is on.
    private func anna() -> Chronicle {
        var anna = Chronicle()
        anna.hear([payment(1), renewal(on, at: start)], at: start)
        return anna
    }

    private func kinds(_ chronicle: Chronicle, after count: Int = 1) -> [Change.Kind] {
        chronicle.changes.dropFirst(count).map(\.kind)
    }

    private func states(_ chronicle: Chronicle, after count: Int = 1) -> [Access.State?] {
        chronicle.changes.dropFirst(count).map(\.after?.state)
    }

    @Test func `if a renewal is reported when the period ends, the only event is a renewal`() {
        for late in [Duration.zero, .seconds(30), .hours(3)] {
            var anna = anna()
            anna.hear([payment(2, from: end, isRenewal: true)], at: end + late)
            #expect(kinds(anna) == [.renewed])
            #expect(anna.changes.last?.before?.until == end)
            #expect(anna.changes.last?.after?.until == end + .days(30))
            #expect(anna.changes.last?.money == Money(milliunits: 9_990, currency: "USD"))
            anna.check("\(late)")
        }
    }

    @Test
    func `unconfirmed access is reported a minute after the end, and expiry a day after the end`() {
        var anna = anna()
        anna.pass(until: end + .seconds(59))
        #expect(kinds(anna) == [])
        anna.pass(until: end + .seconds(60))
        #expect(kinds(anna) == [.accessUnconfirmed])
        anna.pass(until: end + .days(3))
        #expect(kinds(anna) == [.accessUnconfirmed, .expired])
        #expect(anna.changes.last?.expirationReason == .neverConfirmed)
        #expect(anna.changes.last?.at == end + .hours(24))
        anna.check("doubt")
    }

    @Test func `if a payment arrives after expiry was reported, access opens again`() {
        var anna = anna()
        anna.pass(until: end + .days(3))
        anna.hear([payment(2, from: end, isRenewal: true)], at: end + .days(3))
        #expect(kinds(anna).last == .renewed)
        #expect(anna.changes.last?.before?.state == .expired)
        #expect(anna.changes.last?.after?.state == .paid)
        anna.check("late")
    }

    @Test func `if a period's end was not reported in time, it is reported before later changes`() {
        var anna = anna()
        anna.hear([renewal(Renewal(willRenew: false), at: start + .days(2))], at: start + .days(2))
        let back = end + .days(9)
        anna.hear([payment(2, from: back), renewal(on, at: back)], at: back)
        #expect(kinds(anna) == [.renewalTurnedOff, .expired, .resubscribed])
        #expect(anna.changes.map(\.at) == [start, start + .days(2), end, back])
        #expect(states(anna) == [.paid, .expired, .paid])
        anna.check("downtime")
    }

    @Test func `if a late report says that renewal was off, the subscription expired as cancelled`()
    {
        var anna = anna()
        anna.hear(
            [renewal(Renewal(willRenew: false, ending: .cancelled), at: end)], at: end + .hours(1))
        #expect(kinds(anna) == [.renewalTurnedOff, .expired])
        #expect(anna.changes.last?.after?.state == .expired)
        #expect(anna.changes.first { $0.kind == .expired }?.expirationReason == .cancelled)
        anna.check("off")
    }

    @Test
    func `a charge ahead is reported at once, and the charged period is reported at its start`() {
        var anna = Chronicle()
        anna.hear([payment(1, price: 0, terms: .trial), renewal(on, at: start)], at: start)
        let ahead = end - .hours(20)
        anna.hear([payment(2, from: end, isRenewal: true, at: ahead)], at: ahead)
        anna.pass(until: end + .days(1))
        #expect(anna.changes.map(\.kind) == [.trialStarted, .trialConverted, .periodBegan])
        #expect(anna.changes.map(\.after?.state) == [.trial, .trial, .paid])
        #expect(anna.changes.map(\.money?.milliunits) == [nil, 9_990, nil])
        anna.check("ahead")
    }

    @Test
    func `an upgrade takes effect at once, and the credit for the old product is not a refund`() {
        var anna = anna()
        let then = start + .days(10)
        anna.hear([payment(2, "max.monthly", from: then, price: 19_990)], at: then)
        let back = Revocation(at: then, kind: .refund, percentage: 66_666)
        anna.hear([payment(1, isUpgraded: true, revocation: back, at: then)], at: then)
        #expect(kinds(anna) == [.upgraded, .credited])
        #expect(anna.changes.compactMap(\.money?.milliunits) == [9_990, 19_990, -6_659])
        #expect(anna.changes.last?.after?.product == "max.monthly")
        anna.check("upgrade")
    }

    @Test func `an upgrade after a renewal was charged ahead credits the whole renewal`() {
        var anna = anna()
        let ahead = end - .hours(20)
        anna.hear([payment(2, from: end, isRenewal: true, at: ahead)], at: ahead)
        let then = end - .hours(3)
        anna.hear([payment(3, "max.monthly", from: then, price: 19_990)], at: then)
        #expect(Set(kinds(anna)) == [.renewed, .upgraded, .credited])
        #expect(anna.changes.first { $0.kind == .credited }?.money?.milliunits == -9_990)
        #expect(anna.timeline.netAmounts == ["USD": 9_990 + 19_990])
        anna.check("void")
    }

    @Test func `a refund of a past period changes the money, but not access`() {
        var anna = anna()
        anna.hear([payment(2, from: end, isRenewal: true), renewal(on, at: end)], at: end)
        let then = end + .days(2)
        anna.hear(
            [payment(1, revocation: Revocation(at: then, kind: .refund), at: then)], at: then)
        #expect(kinds(anna) == [.renewed, .refunded])
        #expect(anna.changes.last?.money?.milliunits == -9_990)
        #expect(anna.changes.last?.before == anna.changes.last?.after)
        anna.hear([payment(1, at: then + .days(1))], at: then + .days(1))
        #expect(kinds(anna).last == .refundReversed)
        #expect(anna.changes.last?.money?.milliunits == 9_990)
        anna.check("past")
    }

    @Test(arguments: ["pro.monthly", "max.monthly"] as [ProductID])
    func `a purchase within a refunded period is a resubscription`(
        product: ProductID
    ) {
        var anna = anna()
        let (over, again) = (start + .days(10), start + .days(12))
        let back = Revocation(at: over, kind: .refund)
        anna.hear([payment(1, revocation: back, at: over)], at: over)
        let goesOn = Renewal(willRenew: true, renewsTo: product)
        anna.hear([payment(2, product, from: again), renewal(goesOn, at: again)], at: again)
        #expect(kinds(anna) == [.refunded, .resubscribed])
        #expect(anna.changes.last?.money?.milliunits == 9_990)
        anna.check("back")
    }

    @Test func `family sharing that starts again before the period's end is not a renewal`() {
        var ben = Chronicle()
        ben.hear([payment(1, ownership: .familyShared)], at: start)
        let (over, again) = (start + .days(3), start + .days(4))
        let back = Revocation(at: over, kind: .sharingEnded)
        ben.hear([payment(1, ownership: .familyShared, revocation: back, at: over)], at: over)
        ben.hear([payment(2, from: again, ownership: .familyShared)], at: again)
        #expect(ben.changes.map(\.kind) == [.familyShared, .revoked, .familyShared])
        ben.check("again")
    }

    @Test func `a failed payment, the end of grace and the recovery are three changes`() {
        var cleo = anna()
        let failed = Renewal(
            willRenew: true, isRetrying: true, graceUntil: end + .days(16), ending: .billing)
        cleo.hear([renewal(failed, at: end)], at: end)
        // The store reports the same failure again, with another price.
        var again = failed
        again.price = Money(milliunits: 4_990, currency: "USD")
        cleo.hear([renewal(again, at: end + .days(2))], at: end + .days(2))
        cleo.pass(until: end + .days(20))
        let paid = end + .days(22)
        cleo.hear([payment(2, from: paid, isRenewal: true), renewal(on, at: paid)], at: paid)
        #expect(kinds(cleo) == [.billingFailed, .graceEnded, .billingRecovered])
        #expect(states(cleo) == [.grace, .retry, .paid])
        cleo.check("cleo")
    }

    @Test func `payments of earlier periods that arrive during billing retry are not a recovery`() {
        let third = end + .days(30)
        let failed = Renewal(willRenew: true, isRetrying: true, ending: .billing)
        let over = third + .days(30)
        var cleo = Chronicle(from: over)
        cleo.hear(
            [payment(3, from: third, isRenewal: true), renewal(failed, at: over)], at: over)
        #expect(cleo.changes.last?.after?.state == .retry)
        for fact in [payment(1), payment(2, from: end, isRenewal: true)] {
            cleo.hear([fact], at: over + .hours(1))
        }
        #expect(kinds(cleo, after: 0).suffix(2) == [.purchased, .renewed])
        #expect(cleo.changes.last?.after?.state == .retry)
        let paid = over + .days(2)
        cleo.hear([payment(4, from: paid, isRenewal: true), renewal(on, at: paid)], at: paid)
        #expect(kinds(cleo, after: 0).last == .billingRecovered)
        cleo.check("a past")
    }

    @Test
    func `in legacy documents, a payment for the same product during retry is a recovery`() {
        func kind(_ failed: Renewal, paid: Instant, _ product: ProductID) -> Change.Kind? {
            var cleo = Chronicle()
            let facts = [
                payment(1), renewal(failed, at: end), payment(2, product, from: paid),
            ].map { fact in
                var fact = fact
                fact.grade = .legacy
                return fact
            }
            for fact in facts { cleo.hear([fact], at: fact.attestedAt) }
            cleo.check("\(product)")
            return cleo.changes.last?.kind
        }
        let failed = Renewal(willRenew: true, isRetrying: true, ending: .billing)
        let paid = end + .days(9)
        #expect(kind(failed, paid: paid, "pro.monthly") == .billingRecovered)
        #expect(kind(failed, paid: paid, "max.monthly") == .resubscribed)
        #expect(kind(failed, paid: end + .days(70), "pro.monthly") == .resubscribed)
        #expect(kind(Renewal(willRenew: false), paid: paid, "pro.monthly") == .resubscribed)
    }

    @Test func `family sharing is reported and moves no money`() {
        var ben = Chronicle()
        ben.hear([payment(1, ownership: .familyShared)], at: start)
        let then = start + .days(3)
        let over = Revocation(at: then, kind: .sharingEnded)
        ben.hear([payment(1, ownership: .familyShared, revocation: over, at: then)], at: then)
        #expect(ben.changes.map(\.kind) == [.familyShared, .revoked])
        #expect(ben.changes.allSatisfy { $0.money == nil })
        ben.check("family")
    }

    @Test
    func `sharing that starts again is reported as sharing, and a shared renewal as a renewal`() {
        func kind(_ fact: Fact, after first: Fact? = nil) -> Change.Kind? {
            var ben = Chronicle()
            if let first { ben.hear([first], at: first.attestedAt) }
            ben.hear([fact], at: fact.attestedAt)
            ben.check("\(fact)")
            return ben.changes.last?.kind
        }
        func next(_ product: ProductID = "pro.monthly", from: Instant, _ renews: Bool) -> Fact {
            payment(2, product, from: from, isRenewal: renews, ownership: .familyShared)
        }
        let first = payment(1, ownership: .familyShared)
        let replaced = payment(1, isUpgraded: true, ownership: .familyShared)
        let over = Revocation(at: start + .days(3), kind: .sharingEnded)
        let ended = payment(1, ownership: .familyShared, revocation: over, at: start + .days(3))
        #expect(kind(next(from: start, true)) == .familyShared)
        #expect(kind(next(from: end, true), after: first) == .renewed)
        #expect(kind(next(from: end, false), after: first) == .renewed)
        #expect(kind(next(from: end + .days(9), false), after: first) == .familyShared)
        #expect(kind(next(from: end, true), after: ended) == .familyShared)
        let larger = next("pro.yearly", from: start + .days(3), false)
        #expect(kind(larger, after: replaced) == .upgraded)
    }

    @Test func `if several changes are reported together, each change has the present state`() {
        var anna = Chronicle()
        anna.hear(
            [payment(1), payment(2, from: end, isRenewal: true), renewal(on, at: end)],
            at: end + .days(1))
        #expect(anna.changes.map(\.kind) == [.purchased, .renewed])
        #expect(anna.changes.map(\.after?.until) == [end + .days(30), end + .days(30)])
        anna.check("history")
    }

    @Test func `after a clock was set back, no change is reported again`() {
        var anna = anna()
        anna.pass(until: end + .days(2))
        let count = anna.changes.count
        anna.pass(until: start)
        anna.hear([payment(2, from: end, isRenewal: true)], at: start + .days(1))
        #expect(anna.changes.count == count + 1)
        #expect(anna.changes.last?.after?.state == .paid)
    }
}

@Suite struct AmountTests {
    private struct Row {
        var ownership = Ownership.purchased
        var revocation: Revocation?
        var expected: Int64?

        init(
            _ expected: Int64?, _ kind: Revocation.Kind? = nil, _ percentage: Int64? = nil,
            ownership: Ownership = .purchased
        ) {
            self.expected = expected
            self.ownership = ownership
            revocation = kind.map { Revocation(at: start, kind: $0, percentage: percentage) }
        }
    }

    private func check(_ rows: Row...) {
        for row in rows {
            let payment = Payment(
                transaction: "1", product: "p", from: start, until: end,
                price: Money(milliunits: 9_990, currency: "USD"), ownership: row.ownership,
                revocation: row.revocation)
            #expect(payment.netAmount?.milliunits == row.expected, "\(row)")
        }
    }

    @Test func `a seller gets the price minus the refunded share, to the thousandth`() {
        check(
            Row(9_990), Row(0, .refund), Row(0, .refund, 100_000), Row(9_990, .refund, 0),
            Row(7_443, .refund, 25_500), Row(9_990, .sharingEnded),
            // The share is limited to the range from nothing to everything.
            Row(0, .refund, 200_000), Row(9_990, .refund, -5),
            Row(nil, ownership: .familyShared), Row(nil, .refund, ownership: .assigned))
    }

    @Test func `the credit of an upgrade is unknown until its share is reported`() {
        func amount(_ percentage: Int64?, at: Instant, isUpgraded: Bool = true) -> Int64? {
            Payment(
                transaction: "1", product: "p", from: start, until: end,
                price: Money(milliunits: 9_990, currency: "USD"), isUpgraded: isUpgraded,
                revocation: Revocation(at: at, kind: .refund, percentage: percentage)
            ).netAmount?.milliunits
        }
        let then = start + .days(10)
        #expect(amount(nil, at: then) == 9_990)
        #expect(amount(66_666, at: then) == 3_331)
        #expect(amount(nil, at: then, isUpgraded: false) == 0)
        // The replaced period had not begun, so all of it is credited.
        #expect(amount(nil, at: start - .hours(3)) == 0)
    }

    @Test
    func
        `if only a receipt reports an upgrade, no money changes until the refunded share is known`()
    {
        var anna = Chronicle()
        anna.hear([payment(1), payment(2, "max.monthly", from: start + .days(9))], at: start)
        guard case .payment(var first) = payment(1).statement else {
            Issue.record("no payment")
            return
        }
        (first.isUpgraded, first.price) = (true, nil)
        first.revocation = Revocation(at: start + .days(9), kind: .refund)
        let receipt = Fact(
            about: RandomLife.purchase, attestedAt: start + .days(10), grade: .legacy,
            .payment(first))
        anna.hear([receipt], at: start + .days(10))
        #expect(anna.timeline.netAmounts == ["USD": 2 * 9_990])
        // Therefore the App Store is asked once.
        let replaced = start + .days(9)
        #expect(anna.timeline.unresolvedUpgrade(after: replaced) == replaced)
        #expect(anna.timeline.unresolvedUpgrade(after: start + .days(10)) == nil)
        let share = Revocation(at: start + .days(9), kind: .refund, percentage: 70_000)
        anna.hear(
            [payment(1, isUpgraded: true, revocation: share, at: start + .days(11))],
            at: start + .days(11))
        #expect(anna.timeline.netAmounts == ["USD": 2 * 9_990 - 6_993])
        #expect(anna.timeline.unresolvedUpgrade(after: replaced) == nil)
        anna.check("receipt")
    }

    @Test func `a partial refund of the largest price does not overflow`() {
        let payment = Payment(
            transaction: "1", product: "p", from: start, until: end,
            price: Money(milliunits: .max, currency: "USD"),
            revocation: Revocation(at: start, kind: .refund, percentage: 50_000))
        #expect(payment.netAmount?.milliunits == Int64.max / 2 + 1)
    }
}
