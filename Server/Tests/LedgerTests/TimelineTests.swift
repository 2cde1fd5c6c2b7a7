import Dice
import Ledger
import Testing

private let start = Instant(milliseconds: 1_700_000_000_000)
private let purchase = PurchaseID("1000", in: .production)

private func payment(
    _ transaction: TransactionID, line: String? = nil, product: ProductID = "pro.monthly",
    from: Instant = start, days: Int = 30, revokedAt: Instant? = nil, isUpgraded: Bool = false
) -> Payment {
    Payment(
        transaction: transaction, line: line, product: product, from: from,
        until: from + .days(days), isUpgraded: isUpgraded,
        revocation: revokedAt.map { Revocation(at: $0, kind: .refund) })
}

private func fact(_ payment: Payment, at: Instant) -> Fact {
    Fact(about: purchase, attestedAt: at, .payment(payment))
}

@Suite struct TimelineTests {
    @Test(arguments: RandomLife.seeds)
    func `the facts of a purchase give the same timeline in any order, with any repetition`(
        seed: UInt64
    ) {
        var dice = Dice(seed: seed)
        let facts = RandomLife.facts(&dice)
        let expected = Timeline(of: RandomLife.purchase, facts)
        for _ in 0..<20 {
            var told = facts + facts.filter { _ in Bool.random(using: &dice) }
            told.shuffle(using: &dice)
            #expect(Timeline(of: RandomLife.purchase, told) == expected, "seed \(seed)")
            #expect(Timeline(of: RandomLife.purchase, Set(told)) == expected, "seed \(seed)")
            var grown = Timeline(of: RandomLife.purchase, [])
            while !told.isEmpty {
                let count = Int.random(in: 1...min(3, told.count), using: &dice)
                grown = grown.adding(Array(told.prefix(count)))
                told.removeFirst(count)
            }
            #expect(grown == expected, "seed \(seed), told bit by bit")
        }
    }

    @Test func `the snapshot of a transaction that was signed last wins`() {
        let refunded = fact(payment("1", revokedAt: start + .days(3)), at: start + .days(4))
        let before = fact(payment("1"), at: start)
        let reversed = fact(payment("1"), at: start + .days(5))
        #expect(Timeline(of: purchase, [refunded, before]).periods[0].payment.revocation != nil)
        #expect(
            Timeline(of: purchase, [reversed, refunded, before]).periods[0].payment.revocation
                == nil)
    }

    @Test func `two transactions with one line item are one period`() {
        let facts = [
            fact(payment("1", line: "a"), at: start),
            fact(payment("7", line: "a"), at: start + .days(1)),
        ]
        #expect(Timeline(of: purchase, facts).periods.map(\.payment.transaction) == ["7"])
    }

    @Test func `a period ends where the next period replaces it`() {
        let facts = [
            fact(payment("1"), at: start),
            fact(payment("2", product: "premium", from: start + .days(10)), at: start + .days(10)),
        ]
        let timeline = Timeline(of: purchase, facts)
        #expect(timeline.periods.map(\.end) == [start + .days(10), start + .days(40)])
        #expect(timeline.periods.map(\.isReplaced) == [true, false])
    }

    @Test
    func `if a later document repeats a period, the period continues after a purchase within it`() {
        let within = payment("2", from: start + .days(10), days: 7)
        let givenBack = payment(
            "2", from: start + .days(10), days: 7, revokedAt: start + .days(12))
        func states(_ first: Payment, _ second: Payment, told day: Int) -> [Access.State?] {
            let at = start + .days(day) + .seconds(1)
            let facts = [fact(first, at: at), fact(second, at: start + .days(13))]
            let timeline = Timeline(of: purchase, facts)
            return [11, 13, 18].map { timeline.access(at: start + .days($0))?.state }
        }
        let whole = payment("1")
        #expect(states(whole, within, told: 11) == [.paid, .paid, .paid])
        // The document was signed at the time of the other purchase, so it may not have known of
        // it.
        #expect(states(whole, within, told: 10) == [.paid, .paid, .expired])
        #expect(states(whole, givenBack, told: 11) == [.paid, .paid, .paid])
        #expect(states(whole, givenBack, told: 9) == [.paid, .refunded, .refunded])
        let upgraded = payment("1", isUpgraded: true)
        #expect(states(upgraded, givenBack, told: 11) == [.paid, .refunded, .refunded])
        let alsoGivenBack = payment("1", revokedAt: start + .days(9))
        #expect(states(alsoGivenBack, givenBack, told: 11) == [.paid, .refunded, .refunded])
    }

    @Test func `an early charge of a renewal does not shorten the previous period`() {
        let facts = [
            fact(payment("1"), at: start),
            fact(payment("2", from: start + .days(30)), at: start + .days(29)),
        ]
        #expect(Timeline(of: purchase, facts).periods[0].end == start + .days(30))
    }

    @Test func `if a renewal was charged before an upgrade, the renewal is void`() {
        var ahead = payment("2", from: start + .days(30))
        ahead.isRenewal = true
        let facts = [
            fact(payment("1"), at: start), fact(ahead, at: start + .days(29)),
            fact(
                payment("3", product: "premium", from: start + .days(29)), at: start + .days(29)),
        ]
        let timeline = Timeline(of: purchase, facts)
        #expect(timeline.periods.map(\.payment.transaction) == ["1", "3", "2"])
        #expect(timeline.periods.map(\.isVoid) == [false, false, true])
        #expect(timeline.periods.map(\.isReplaced) == [true, false, false])
        // If the renewal follows no period, or is for the same product, it counts.
        ahead.product = "premium"
        let same = timeline.adding([fact(ahead, at: start + .days(30))])
        #expect(same.periods.map(\.isVoid) == [false, false, false])
        #expect(Timeline(of: purchase, facts.dropFirst()).periods.allSatisfy { !$0.isVoid })
    }

    @Test func `a renewal that was refunded before it began stays void after its start`() {
        var ahead = payment("2", from: start + .days(60), revokedAt: start + .days(12))
        ahead.isRenewal = true
        var next = payment("4", product: "premium", from: start + .days(42))
        next.isRenewal = true
        let facts = [
            fact(payment("1", days: 60), at: start), fact(ahead, at: start + .days(12)),
            fact(payment("3", product: "premium", from: start + .days(12)), at: start + .days(12)),
            fact(next, at: start + .days(42)),
        ]
        let timeline = Timeline(of: purchase, facts)
        #expect(timeline.periods.map(\.payment.transaction) == ["1", "3", "4", "2"])
        #expect(timeline.periods.map(\.isVoid) == [false, false, false, true])
        #expect(timeline.periods[2].end == start + .days(72), "it takes no time from what runs")
        // The other purchase runs beyond the renewal's start, so the refund need not be reported.
        ahead.revocation = nil
        let silent = [facts[0], fact(ahead, at: start + .days(12)), facts[2], facts[3]]
        let periods = Timeline(of: purchase, silent).periods
        #expect(periods.map(\.isVoid) == [false, false, false, true])
        #expect(periods[2].end == start + .days(72))
    }

    @Test
    func `a renewal after an upgrade counts even if it begins at the replaced period's end`() {
        var renewed = payment("1", isUpgraded: true)
        renewed.isRenewal = true
        var yearly = payment("3", product: "yearly", from: start + .days(30), days: 365)
        yearly.isRenewal = true
        let facts = [
            fact(renewed, at: start), fact(payment("2", product: "premium"), at: start),
        ]
        let later = payment("4", product: "premium", from: start + .days(200))
        for revokedAt in [nil, start + .days(200)] {
            yearly.isUpgraded = true
            yearly.revocation = revokedAt.map { Revocation(at: $0, kind: .refund) }
            let all =
                facts + [
                    fact(yearly, at: start + .days(200)), fact(later, at: start + .days(200)),
                ]
            let periods = Timeline(of: purchase, all).periods
            #expect(periods.map(\.isVoid) == [false, false, false, false])
            #expect(periods.map(\.isReplaced) == [true, false, true, false])
        }
    }

    @Test func `if two periods begin at the same time, the upgraded period is first`() {
        let facts = [
            fact(payment("5", product: "premium"), at: start),
            fact(payment("9", isUpgraded: true), at: start),
        ]
        #expect(Timeline(of: purchase, facts).periods.map(\.payment.transaction) == ["9", "5"])
    }

    @Test func `facts about a different purchase are ignored`() {
        let other = Fact(
            about: PurchaseID("1000", in: .sandbox), attestedAt: start, .payment(payment("1")))
        #expect(Timeline(of: purchase, [other]).periods.isEmpty)
    }
}
