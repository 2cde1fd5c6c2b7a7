import Ledger
import Testing

@testable import Reports

/// Reversed refunds, as they happened on each day and as they are known now.
@Suite struct ReversedRefundTests {
    private static let purchase = PurchaseID("1", in: .production)

    private static func told(_ payment: Payment, at moment: Instant) -> Fact {
        Fact(about: purchase, attestedAt: moment, .payment(payment))
    }

    private static func refunded(
        _ payment: Payment, at moment: Instant, percentage: Int64? = nil
    ) -> Fact {
        var payment = payment
        payment.revocation = Revocation(at: moment, kind: .refund, percentage: percentage)
        return told(payment, at: moment)
    }

    private static func movements(_ facts: [Fact]) -> [Movement] {
        PurchaseBooks(of: purchase, facts, rules: MoneyRules()).movements
    }

    /// The sums of the changes on each day, without those that are zero.
    private static func days(
        _ movements: [Movement], isRestated: Bool = false
    ) -> [Int64: Totals] {
        var days: [Int64: Totals] = [:]
        for one in movements where !isRestated || !one.isMeanwhile {
            let day = (one.at.milliseconds - Instant.month(0).milliseconds) / 86_400_000
            days[day, default: Totals()] += Totals(one.amounts, one.counts)
        }
        return days.filter { $0.value != Totals() }
    }

    @Test func `a refund is counted on its day, and its reversal on the day of the reversal`() {
        let paid = Payment.paid(month: 0)
        let movements = Self.movements([
            Self.told(paid, at: .month(0)), Self.refunded(paid, at: .month(0) + .days(3)),
            Self.told(paid, at: .month(0) + .days(10)),
        ])
        let days = Self.days(movements)
        #expect(days.keys.sorted() == [0, 3, 10, 31])
        #expect(days[3]?.amounts.refunded == 9_990 && days[10]?.amounts.refunded == -9_990)
        #expect(days[3]?.amounts.proceeds == -6_993 && days[10]?.amounts.proceeds == 6_993)
        #expect(days[3]?.counts.active == -1 && days[10]?.counts.active == 1)
        #expect(days[3]?.amounts.mrr == -9_990 && days[10]?.amounts.mrr == 9_990)
        #expect(days[31]?.counts.active == -1)
        let back = movements.filter { $0.at == .month(0) + .days(10) && $0.counts.active == 1 }
        #expect(back.map(\.kind) == [.reactivation] && back.allSatisfy(\.isMeanwhile))
        let restated = Self.days(movements, isRestated: true)
        #expect(restated.keys.sorted() == [0, 31])
        #expect(restated == Self.days(Self.movements([Self.told(paid, at: .month(0))])))
    }

    @Test func `the reversal of a partial refund returns the part that was refunded`() {
        let paid = Payment.paid(month: 0)
        let days = Self.days(
            Self.movements([
                Self.refunded(paid, at: .month(0) + .days(3), percentage: 40_000),
                Self.told(paid, at: .month(0) + .days(10)),
            ]))
        #expect(days[3]?.amounts.refunded == 3_996 && days[10]?.amounts.refunded == -3_996)
    }

    @Test func `a refund that is reversed after the period's end changes only the money`() {
        let paid = Payment.paid(month: 0)
        let days = Self.days(
            Self.movements([
                Self.refunded(paid, at: .month(0) + .days(3)),
                Self.told(paid, at: .month(0) + .days(50)),
            ]))
        #expect(days.keys.sorted() == [0, 3, 50])
        #expect(days[3]?.counts.active == -1)
        #expect(days[50]?.counts == Movement.Counts() && days[50]?.amounts.refunded == -9_990)
    }

    @Test func `a payment after a refund stays a reactivation if the refund is reversed later`() {
        let (first, second) = (Payment.paid(month: 0), Payment.paid(month: 1))
        let movements = Self.movements([
            Self.refunded(first, at: .month(0) + .days(3)), Self.told(second, at: .month(1)),
            Self.told(first, at: .month(1) + .days(5)),
        ])
        func flow(_ kind: Movement.Kind, isRestated: Bool) -> Int64 {
            movements.filter { $0.kind == kind && !(isRestated && $0.isMeanwhile) }
                .reduce(0) { $0 + $1.counts.payments }
        }
        #expect(flow(.reactivation, isRestated: false) == 1)
        #expect(flow(.renewal, isRestated: false) == 0)
        #expect(flow(.reactivation, isRestated: true) == 0)
        #expect(flow(.renewal, isRestated: true) == 1)
        let days = Self.days(movements)
        #expect(days[31]?.counts.active == 1 && days[36]?.counts.active ?? 0 == 0)
        #expect(days[36]?.amounts.refunded == -9_990)
    }

    @Test func `after a reversed refund, a renewal does not change the days before the reversal`() {
        let (second, third) = (Payment.paid(month: 1), Payment.paid(month: 2))
        let movements = Self.movements([
            Self.told(.paid(month: 0), at: .month(0)),
            // The period was charged ahead, and refunded before it began.
            Self.refunded(second, at: .month(1) - .days(1)),
            Self.told(second, at: .month(1) + .days(10)), Self.told(third, at: .month(2)),
        ])
        #expect(movements.allSatisfy { $0.counts.retry == 0 })
        let days = Self.days(movements)
        #expect(days[31]?.counts.active == -1 && days[41]?.counts.active == 1)
    }

    @Test func `a free period does not count as a trial while it was revoked`() {
        let trial = Payment.trial(month: 0)
        let movements = Self.movements([
            Self.refunded(trial, at: .month(0) + .days(3)),
            Self.told(trial, at: .month(0) + .days(10)),
        ])
        let days = Self.days(movements)
        #expect(days[3]?.counts.trials == -1 && days[10]?.counts.trials == 1)
        #expect(days[10]?.amounts == Movement.Amounts())
    }

    @Test func `a refund whose date lacks milliseconds counts as the same refund`() {
        let paid = Payment.paid(month: 0)
        let at = Instant.month(0) + .days(3) + .milliseconds(400)
        var rounded = paid
        rounded.revocation = Revocation(at: .month(0) + .days(3), kind: .refund)
        let movements = Self.movements([
            Self.refunded(paid, at: at), Self.told(rounded, at: at + .days(1)),
        ])
        #expect(movements.allSatisfy { !$0.isMeanwhile })
    }

    @Test func `two refunds of one period are reversed separately`() {
        let paid = Payment.paid(month: 0)
        let days = Self.days(
            Self.movements([
                Self.refunded(paid, at: .month(0) + .days(3)),
                Self.told(paid, at: .month(0) + .days(5)),
                Self.refunded(paid, at: .month(0) + .days(7)),
                Self.told(paid, at: .month(0) + .days(9)),
            ]))
        for (day, active) in [(Int64(3), Int64(-1)), (5, 1), (7, -1), (9, 1), (31, -1)] {
            #expect(days[day]?.counts.active == active, "day \(day)")
        }
        #expect(days.values.map(\.amounts.refunded).reduce(0, +) == 0)
    }

    @Test func `reports do not depend on the order and the repetition of documents`() {
        let (first, second) = (Payment.paid(month: 0), Payment.paid(month: 1))
        let facts = [
            Self.told(first, at: .month(0)), Self.refunded(first, at: .month(0) + .days(3)),
            Self.told(first, at: .month(0) + .days(10)), Self.told(second, at: .month(1)),
            Self.told(first, at: .month(1) + .days(1)),
        ]
        let wanted = Set(Self.movements(facts))
        #expect(wanted.contains { $0.isMeanwhile })
        for turn in facts.indices {
            let turned = Array(facts[turn...] + facts[..<turn])
            #expect(Set(Self.movements(turned + turned)) == wanted)
            let history = MovementHistory(
                of: Self.purchase,
                turned.enumerated().map { place, fact in
                    (Instant.month(2) + .days(place), [fact])
                }, rules: MoneyRules())
            #expect(Set(history.known.map(\.movement)) == wanted)
        }
    }

    @Test func `a refund that is reversed later counts as a refund until the reversal is known`() {
        let paid = Payment.paid(month: 0)
        let (refund, reversal) = (Instant.month(0) + .days(3), Instant.month(0) + .days(10))
        let history = MovementHistory(
            of: Self.purchase,
            [
                (.month(0), [Self.told(paid, at: .month(0))]),
                (refund, [Self.refunded(paid, at: refund)]),
                (reversal, [Self.told(paid, at: reversal)]),
            ], rules: MoneyRules())
        func known(at moment: Instant) -> [Movement] {
            history.versions.filter { version in
                version.knownAt <= moment && version.replacedAt.map { $0 > moment } ?? true
            }.map(\.movement)
        }
        let then = known(at: refund + .days(1))
        #expect(Set(then.map(\.kind)) == [.new, .churn, .refund])
        #expect(then.allSatisfy { !$0.isMeanwhile })
        // What had happened until the day after the refund is the same in the two views.
        let until = refund + .days(1)
        #expect(
            Self.days(then.filter { $0.at <= until })
                == Self.days(known(at: reversal).filter { $0.at <= until }))
    }

    @Test func `the money that an upgrade returns is a credit and not a refund`() {
        var first = Payment.paid(month: 0)
        (first.isUpgraded, first.revocation) = (
            true, Revocation(at: .month(0) + .days(10), kind: .refund, percentage: 60_000)
        )
        var second = Payment.paid(month: 1, "pro.plus", 19_990, from: .month(0) + .days(10))
        second.isRenewal = false
        let movements = Self.movements([
            Self.told(first, at: .month(0) + .days(10)),
            Self.told(second, at: .month(0) + .days(10)),
        ])
        #expect(movements.filter { $0.amounts.refunded != 0 }.map(\.kind) == [.credit])
        let day = ReportPeriod.periods(.year, in: 20_454..<20_454 + 365)
        let sums = movements.map { one in
            MovementSum(
                day: one.at.milliseconds / 86_400_000, kind: one.kind, currency: "USD",
                totals: Totals(one.amounts, one.counts))
        }
        let revenue = Report(ReportCatalogue.revenue, day, from: sums)
        #expect(revenue.rows[0].values.prefix(3) == [.money(29_980), .money(0), .money(5_994)])
        let refunds = Report(ReportCatalogue.refunds, day, from: sums)
        #expect(refunds.rows[0].values[1] == .money(0))
        #expect(refunds.rows[0].values[2] == .share(0, of: 29_980))
    }

    /// 9.99 leva are 5.11 euros, which the App Store rounds.
    @Test(
        arguments: [
            (5_110, .renewal), (5_100, .renewal), (5_990, .expansion), (3_990, .contraction),
        ] as [(Int64, Movement.Kind)])
    func `a price in a former currency is compared with a price in euros at the legal rate`(
        euros: Int64, kind: Movement.Kind
    ) {
        var (first, second) = (Payment.paid(month: -1), Payment.paid(month: 0))
        first.price = Money(milliunits: 9_990, currency: "BGN")
        second.price = Money(milliunits: euros, currency: "EUR")
        (second.isRenewal, first.storefront, second.storefront) = (true, "BGR", "BGR")
        let movements = Self.movements([
            Self.told(first, at: .month(-1)), Self.told(second, at: .month(0)),
        ])
        #expect(movements.filter { $0.at == .month(0) }.map(\.kind) == [kind, kind])
        // In another storefront the same change is a change of price.
        second.storefront = "DEU"
        let moved = Self.movements([
            Self.told(first, at: .month(-1)), Self.told(second, at: .month(0)),
        ])
        #expect(
            Set(moved.filter { $0.at == .month(0) }.map(\.kind)) == [.contraction, .expansion])
    }
}
