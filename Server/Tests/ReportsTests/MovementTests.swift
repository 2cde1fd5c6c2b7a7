import Ledger
import Testing

@testable import Reports

@Suite struct MovementTests {
    @Test func `a renewal changes neither MRR nor the number of subscriptions`() {
        let books = books([.paid(month: 0), .paid(month: 1)])
        #expect(books.movements.map(\.kind) == [.new, .renewal, .churn])
        #expect(books.movements.map(\.amounts.mrr) == [9_990, 0, -9_990])
        #expect(books.movements.map(\.counts.active) == [1, 0, -1])
        #expect(books.movements.map(\.amounts.gross) == [9_990, 9_990, 0])
    }

    @Test func `a conversion moves one subscription from trial to active`() {
        let books = books([.trial(month: 0), .paid(month: 1)])
        let converted = books.movements.filter { $0.kind == .converted }
        #expect(books.movements.first?.kind == .trialStarted)
        #expect(converted.map(\.counts.trials).reduce(0, +) == -1)
        #expect(converted.map(\.counts.active).reduce(0, +) == 1)
    }

    @Test func `a paid period after a gap is a reactivation`() {
        var again = Payment.paid(month: 3)
        again.isRenewal = false
        let books = books([.paid(month: 0), again])
        #expect(books.movements.map(\.kind) == [.new, .churn, .reactivation, .churn])
    }

    @Test func `a subscription that renews after a gap of five days was in retry during the gap`() {
        let books = books([.paid(month: 0), .paid(month: 1, from: .month(1) + .days(5))])
        let retry = books.movements.filter { $0.counts.retry != 0 }
        #expect(retry.map(\.at) == [.month(1), .month(1) + .days(5)])
        #expect(retry.map(\.kind) == [.retryStarted, .retryRecovered])
    }

    @Test func `a change to a more expensive product is an expansion by the difference`() {
        let books = books([.paid(month: 0), .paid(month: 1, "pro.plus", 19_990)])
        let expansion = books.movements.filter { $0.kind == .expansion }
        #expect(expansion.map(\.amounts.mrr).reduce(0, +) == 10_000)
        #expect(expansion.map(\.counts.active).reduce(0, +) == 0)
        #expect(expansion.map(\.segment.product) == ["pro", "pro.plus"])
    }

    @Test func `a refund ends the subscription at the moment of the refund`() {
        var refunded = Payment.paid(month: 0)
        refunded.revocation = Revocation(at: .month(0) + .days(3), kind: .refund)
        let books = books([refunded])
        #expect(books.movements.map(\.kind) == [.new, .churn, .refund])
        #expect(books.movements.last?.amounts.refunded == 9_990)
        #expect(books.movements.map(\.at).last == .month(0) + .days(3))
        #expect(books.movements.map(\.amounts.proceeds).reduce(0, +) == 0)
    }

    @Test func `a purchase that a family member shares causes no movement`() {
        var shared = Payment.paid(month: 0)
        shared.ownership = .familyShared
        #expect(books([shared]).movements.isEmpty)
    }

    @Test func `a subscription in grace counts as active until grace ends, and then as in retry`() {
        let due = Instant.month(1)
        var renewal = Renewal(willRenew: true, isRetrying: true, graceUntil: due + .days(16))
        renewal.renewsAt = due
        let books = books([.paid(month: 0)], [Timeline.Attested(renewal, at: due)])
        #expect(
            books.movements.map(\.kind) == [
                .new, .graceStarted, .churn, .graceEnded, .retryStarted, .retryEnded,
            ])
        #expect(books.movements.first { $0.kind == .churn }?.at == due + .days(16))
        #expect(books.movements.last?.at == due + Timeline.retryMax)
    }

    @Test(arguments: [(-3_600, 1), (3_600, -1)])
    func `retry lasts sixty days of the App Store's calendar`(change seconds: Int, hours: Int) {
        let due = Instant.month(1)
        let change = WallClock.Change(at: due + .days(30), seconds: seconds)
        var rules = MoneyRules()
        rules.storeClock = WallClock(name: "store", secondsAtFirst: 0, changes: [change])
        let retry = Timeline.Attested(Renewal(willRenew: true, isRetrying: true), at: due)
        func end(of payment: Payment) -> Instant? {
            books([payment], [retry], rules: rules).movements.last?.at
        }
        #expect(end(of: .paid(month: 0)) == due + .days(60) + .hours(hours))
        var promised = Payment.paid(month: 0)
        promised.commitment = Commitment(month: 1, months: 12)
        #expect(end(of: promised) == due + .days(90) + .hours(hours))
    }

    @Test func `a subscription counts as not renewing while its renewal is off`() {
        let off = Timeline.Attested(Renewal(willRenew: false), at: .month(0) + .days(5))
        let on = Timeline.Attested(Renewal(willRenew: true), at: .month(0) + .days(9))
        let books = books([.paid(month: 0)], [on, off])
        #expect(books.movements.map(\.kind) == [.new, .renewalOff, .renewalOn, .churn])
        #expect(books.movements.map(\.counts.notRenewing) == [0, 1, -1, 0])
    }

    @Test func `after a paid year the App Store's commission is halved`() {
        let payments = (0..<14).map { Payment.paid(month: $0) }
        let rates = books(payments).transactions.map(\.commissionRate)
        #expect(rates.prefix(12).allSatisfy { $0 == 30_000 })
        #expect(rates.last == 15_000)
    }

    @Test(arguments: [(0, 0), (-3_600, 1), (3_600, -1)])
    func `a gap of sixty days in the App Store's calendar does not reset the paid year`(
        change seconds: Int, hours: Int
    ) {
        // In February the clocks are put back, put forward, or left unchanged.
        let change = WallClock.Change(at: .month(13), seconds: seconds)
        let clock = WallClock(name: "store", secondsAtFirst: 0, changes: [change])
        var rules = MoneyRules()
        rules.storeClock = clock
        func rate(after gap: Duration) -> Int64? {
            let year = (0..<12).map { Payment.paid(month: $0) }
            let back = Payment.paid(month: 15, from: .month(12) + gap)
            return books(year + [back], rules: rules).transactions.last?.commissionRate
        }
        let limit = Duration.days(60) + .hours(hours)
        #expect(rate(after: limit) == 15_000)
        #expect(rate(after: limit + .seconds(1)) == 30_000)
    }

    @Test func `a free renewal that arrives two days late counts as collected later`() {
        var free = Payment.paid(month: 1, "pro", 0)
        free.terms = .trial
        let purchase = PurchaseID("1", in: .production)
        let facts = [
            Fact(about: purchase, attestedAt: .month(0), .payment(.paid(month: 0))),
            Fact(about: purchase, attestedAt: .month(1) + .days(2), .payment(free)),
        ]
        let shifts = TransactionShift.shifts(of: purchase, facts, rules: MoneyRules())
        #expect(shifts.map(\.kind) == [.collectedLater(at: .month(1) + .days(2))])
    }

    @Test func `tax is deducted before the App Store's commission`() {
        var payment = Payment.paid(month: 0)
        payment.storefront = "DEU"
        let rules = MoneyRules(taxes: ["DEU": 19_000])
        let amounts = books([payment], rules: rules).movements[0].amounts
        #expect(amounts.tax == 1_595)
        #expect(amounts.commission == 2_518)
        #expect(amounts.proceeds == 9_990 - 1_595 - 2_518)
    }

    @Test func `an unpaid month of a commitment stays contracted until the store gives up`() {
        var first = Payment.paid(month: 0)
        first.commitment = Commitment(month: 1, months: 12)
        let due = Instant.month(1)
        let retry = Timeline.Attested(Renewal(willRenew: true, isRetrying: true), at: due)
        let books = books([first], [retry])
        #expect(books.movements.map(\.kind) == [.new, .churn, .retryStarted, .retryEnded])
        #expect(books.movements.map(\.amounts.mrr) == [9_990, -9_990, 0, 0])
        #expect(books.movements.map(\.amounts.contracted) == [9_990, 0, 0, -9_990])
        #expect(books.movements.map(\.amounts.promised) == [109_890, 0, 0, -109_890])
        #expect(books.movements.last?.at == due + Timeline.committedRetryMax)
    }

    @Test
    func `each month of a commitment reduces the promised sum, and a refund makes the sum zero`() {
        var months = [Payment.paid(month: 0), .paid(month: 1), .paid(month: 2)]
        for index in months.indices {
            months[index].commitment = Commitment(month: index + 1, months: 12)
        }
        months[2].revocation = Revocation(at: .month(2) + .days(3), kind: .refund)
        let books = books(months)
        #expect(
            books.movements.map(\.amounts.promised) == [109_890, -9_990, -9_990, -89_910, 0])
        #expect(books.movements.map(\.amounts.contracted) == [9_990, 0, 0, -9_990, 0])
    }

    @Test func `a plan with a declared length of one month stays a month after an extension`() {
        var extended = Payment.paid(month: 0)
        extended.until = .month(0) + .days(70)
        #expect(books([extended]).movements.first?.amounts.mrr == 4_995)
        var rules = MoneyRules()
        rules.lengths = ["pro": .months(1)]
        #expect(books([extended], rules: rules).movements.first?.amounts.mrr == 9_990)
        extended.terms = .offer
        #expect(books([extended], rules: rules).movements.first?.amounts.mrr == 4_995)
    }

    @Test(arguments: [
        (1, 30_438, 28_000), (3, 10_146, 9_333), (7, 4_348, 4_000), (14, 2_174, 2_000),
        (28, 1_000, 1_000), (31, 1_000, 1_000), (61, 500, 500), (92, 333, 333),
        (182, 167, 167), (365, 83, 83), (45, 1_000, 622),
    ])
    func `a monthly price counts calendar months, or months of four weeks`(
        days: Int, price: Int64, ofFourWeeks: Int64
    ) {
        let (from, until) = (Instant.month(0), Instant.month(0) + .days(days))
        #expect(MonthlyPrice.monthly(1_000, from: from, until: until) == price)
        #expect(MonthlyPrice.ofFourWeeks(1_000, from: from, until: until) == ofFourWeeks)
    }

    @Test func `with declared lengths, a month has 30 days or four weeks`() {
        let lengths: [PlanLength] = [.days(1), .days(3), .days(7), .days(14), .months(12)]
        #expect(
            lengths.map { MonthlyPrice.ofFourWeeks(12_000, every: $0) } == [
                360_000, 120_000, 48_000, 24_000, 1_000,
            ])
    }

    @Test func `the parts of a monthly price are its tax and the App Store's commission`() {
        var payment = Payment.paid(month: 0)
        payment.storefront = "DEU"
        let rules = MoneyRules(taxes: ["DEU": 19_000])
        let movements = books([payment], rules: rules).movements
        #expect(movements.map(\.amounts.mrrTax) == [1_595, -1_595])
        #expect(movements.map(\.amounts.mrrCommission) == [2_518, -2_518])
    }

    /// Four seats for a month, and two that were added in the middle of it.
    private static func seats(
        firstRefunded: Bool = false, addedRefunded: Bool = false
    ) -> [Payment] {
        var first = Payment.paid(month: 0, "pro", 39_960)
        (first.quantity, first.seats) = (4, Seats(tiers: [.init(price: 9_990, count: 4)]))
        var added = Payment.paid(month: 0, "pro", 19_980, from: .month(0) + .days(15))
        (added.quantity, added.transaction) = (2, "added")
        added.seats = Seats(tiers: [.init(price: 9_990, count: 2)], isPart: true)
        let refund = Revocation(at: .month(0) + .days(20), kind: .refund)
        first.revocation = firstRefunded ? refund : nil
        added.revocation = addedRefunded ? refund : nil
        return [first, added]
    }

    @Test(
        arguments: [
            (false, false, [.new, .expansion, .churn], [39_960, 19_980, -59_940], [4, 2, -6]),
            (
                false, true, [.new, .expansion, .contraction, .refund, .churn],
                [39_960, 19_980, -19_980, 0, -39_960], [4, 2, -2, 0, -4]
            ),
            (
                true, false, [.new, .expansion, .refund, .contraction, .churn],
                [39_960, 19_980, 0, -39_960, -19_980], [4, 2, 0, -4, -2]
            ),
        ] as [(Bool, Bool, [Movement.Kind], [Int64], [Int64])])
    func `added seats expand a subscription, and a refund of some seats contracts it`(
        firstRefunded: Bool, addedRefunded: Bool, kinds: [Movement.Kind], mrr: [Int64],
        seats: [Int64]
    ) {
        let books = books(Self.seats(firstRefunded: firstRefunded, addedRefunded: addedRefunded))
        #expect(books.movements.map(\.kind) == kinds)
        #expect(books.movements.map(\.amounts.mrr) == mrr)
        #expect(books.movements.map(\.counts.seats) == seats)
        #expect(books.movements.map(\.counts.active).reduce(0, +) == 0)
        #expect(books.movements.map(\.counts.payments).reduce(0, +) == 2)
        #expect(books.movements.map(\.amounts.gross).reduce(0, +) == 59_940)
        let refunded = firstRefunded ? 39_960 : addedRefunded ? 19_980 : Int64(0)
        #expect(books.movements.map(\.amounts.refunded).reduce(0, +) == refunded)
        #expect(books.transactions.map(\.gross) == [39_960, 19_980])
    }

    /// A refund of some seats counts as if these seats had never been charged. Fewer seats at a
    /// renewal are a contraction, but an expansion if the total price is higher.
    @Test func `a subscription counts the remaining seats of each period`() {
        var paid = Self.seats()
        paid[0].seats?.refunded = 1
        paid[0].price = Money(milliunits: 29_970, currency: "USD")
        var next = Payment.paid(month: 1, "pro", 80_000)
        (next.quantity, next.seats) = (2, Seats(tiers: [.init(price: 40_000, count: 2)]))
        var last = Payment.paid(month: 2, "pro", 40_000)
        last.quantity = 1
        let books = books(paid + [next, last])
        let seats = books.movements.reduce(into: [Movement.Kind: Int64]()) {
            $0[$1.kind, default: 0] += $1.counts.seats
        }
        #expect(seats == [.new: 3, .expansion: -1, .contraction: -1, .churn: -1])
        #expect(books.transactions.map(\.seats?.refunded) == [1, 0, 0, nil])
    }

    @Test func `if seats are added twice at the same time, they are charged twice`() {
        var again = Self.seats()[1]
        again.transaction = "again"
        let books = books(Self.seats() + [again])
        #expect(books.movements.map(\.amounts.gross).reduce(0, +) == 79_920)
        #expect(books.movements.map(\.counts.payments).reduce(0, +) == 3)
        #expect(books.movements.first { $0.kind == .expansion }?.amounts.mrr == 39_960)
    }

    @Test func `the monthly price is computed for each seat, at the price of its tier`() {
        var payment = Payment.paid(month: 0, "pro", 65_930)
        payment.quantity = 7
        payment.seats = Seats(tiers: [.init(price: 9_990, count: 5), .init(price: 7_990, count: 2)])
        payment.storefront = "DEU"
        let line = books([payment], rules: MoneyRules(taxes: ["DEU": 19_000])).transactions[0]
        #expect(line.gross == 65_930 && line.quantity == 7)
        #expect(line.tax == 5 * 1_595 + 2 * 1_275)
        #expect(line.commission == 5 * 2_518 + 2 * 2_014)
    }

    @Test func `the movements of any purchase add up to zero at the end`() {
        for payments in [
            Self.seats(), Self.seats(firstRefunded: true), Self.seats(addedRefunded: true),
            [Payment.trial(month: 0)], [.paid(month: 0), .trial(month: 1), .paid(month: 2)],
            [.paid(month: 0), .paid(month: 1, "pro.plus", 19_990), .paid(month: 2)],
        ] {
            let sum = books(payments).movements.reduce(Totals()) {
                $0 + Totals($1.amounts, $1.counts)
            }
            #expect(sum.amounts.mrr == 0)
            #expect(sum.counts.active == 0)
            #expect(sum.counts.trials == 0)
            #expect(sum.counts.seats == 0)
        }
    }

    private func books(
        _ payments: [Payment], _ renewals: [Timeline.Attested<Renewal>] = [],
        rules: MoneyRules = MoneyRules()
    ) -> PurchaseBooks {
        let purchase = PurchaseID("1", in: .production)
        let facts =
            payments.map { Fact(about: purchase, attestedAt: $0.from, .payment($0)) }
            + renewals.map { Fact(about: purchase, attestedAt: $0.at, .renewal($0.value)) }
        return PurchaseBooks(of: Timeline(of: purchase, facts), renewals, rules: rules)
    }
}

extension Instant {
    /// The first moment of a month, in UTC. The months are counted from January 2026, which is 0.
    static func month(_ number: Int) -> Instant {
        WallClock.utc.moment(
            months: number, days: 0, after: Instant(milliseconds: 1_767_225_600_000))
    }
}

extension Payment {
    static func paid(
        month: Int, _ product: ProductID = "pro", _ price: Int64 = 9_990, from: Instant? = nil
    ) -> Payment {
        Payment(
            transaction: TransactionID(rawValue: "\(month + 1)"), line: "\(month + 1)",
            product: product, from: from ?? .month(month), until: .month(month + 1),
            price: Money(milliunits: price, currency: "USD"), isRenewal: month > 0)
    }

    static func trial(month: Int) -> Payment {
        var payment = paid(month: month, "pro", 0)
        payment.terms = .trial
        payment.offer = Offer(.introductory)
        return payment
    }
}
