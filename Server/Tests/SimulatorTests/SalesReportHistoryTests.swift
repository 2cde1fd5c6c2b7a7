import AppStoreFormats
import Testing

@testable import Simulator

/// Compares reports about the past with the ground truth of that time.
@Suite struct SalesReportHistoryTests {
    private static let day = RFC3339.millisecondsPerDay

    /// The number of subscriptions in each state that reports count.
    private static func counts(of purchases: [TruePurchase]) -> [TruePurchase.State: Int] {
        let states = purchases.filter { $0.renewsTo != nil }.map(\.state)
        return Dictionary(grouping: states.filter(counted.contains)) { $0 }.mapValues(\.count)
    }

    private static let counted: Set<TruePurchase.State> = [.trial, .offer, .paid, .grace, .retry]

    private static func counts(of books: DailyBooks.Counts) -> [TruePurchase.State: Int] {
        [
            .trial: books.trial, .offer: books.offer, .paid: books.paid, .grace: books.grace,
            .retry: books.retry,
        ].filter { $0.value > 0 }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `reports about every day of a random year match the ground truth of that day`(
        seed: UInt64
    ) throws {
        var random = try RandomWorld(seed: seed, accounts: 60, months: 12, shop: FullShop.file())
        let first = CivilDate(year: 2026, month: 1, day: 5)
        var truths: [[TruePurchase.State: Int]] = []
        var moment = AppStoreDate(milliseconds: (first.daysSince1970 + 1) * Self.day - 1)
        while moment < random.end {
            random.advance(to: moment)
            truths.append(Self.counts(of: random.purchases(at: moment)))
            moment.milliseconds += Self.day
        }
        random.advance(to: random.end)
        let last = CivilDate(daysSince1970: first.daysSince1970 + Int64(truths.count) - 1)
        var books = try DailyBooks(from: first, to: last, at: random.end)
        for history in TrueBooks(random.world).purchaseHistories { books.add(history) }
        for (place, day) in books.days.enumerated() {
            #expect(Self.counts(of: day.counts) == truths[place], "seed \(seed), \(day.date)")
        }
        #expect(truths.contains { $0[.grace] != nil } && truths.contains { $0[.retry] != nil })
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `the reports of all days add up to the totals of the ground truth`(seed: UInt64) throws {
        var random = try RandomWorld(seed: seed, accounts: 150, months: 14, shop: FullShop.file())
        random.advance(to: random.end)
        var books = try DailyBooks(
            from: CivilDate(year: 2026, month: 1, day: 1),
            to: CivilDate(year: 2027, month: 3, day: 5), at: random.end)
        for history in TrueBooks(random.world).purchaseHistories { books.add(history) }
        let charges = random.purchases(at: random.end).flatMap(\.charges)
        let money = books.days.compactMap { $0.money["USD"] }
        // A period that was charged early may begin after the end.
        let begun = charges.filter { $0.at <= random.end && $0.currency == "USD" }
        #expect(money.reduce(0) { $0 + $1.charged } == begun.reduce(0) { $0 + $1.amount })
        let given = money.reduce(0) { $0 + $1.refunded + $1.credited - $1.reversed }
        #expect(given == begun.reduce(0) { $0 + $1.refunded })
        let reversed = books.days.flatMap(\.money.values).reduce(0) { $0 + $1.reversed }
        #expect(reversed > 0)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `the sales of all days add up to the payments of customers minus their refunds`(
        seed: UInt64
    ) throws {
        var random = try RandomWorld(seed: seed, accounts: 150, months: 14, shop: FullShop.file()) {
            $0.taxes = ["USA": 7250]
        }
        random.advance(to: random.end)
        let books = ReportBooks(random.world)
        let first = CivilDate(year: 2026, month: 1, day: 1)
        let last = CivilDate(year: 2027, month: 12, day: 31)
        let rows = books.salesRows(from: first, to: last)
        let charges = random.purchases(at: random.end).flatMap(\.charges)
        let paid = charges.reduce(0) { $0 + $1.amount - $1.refunded }
        // A report cannot express a partial refund that was reversed.
        let lost = books.purchases.flatMap(\.charges).reduce(Int64(0)) { sum, charge in
            let parts = charge.refunds.filter {
                $0.reversed != nil && $0.amount < charge.transaction.price
            }
            return sum + parts.reduce(0) { $0 + $1.amount }
        }
        #expect(rows.reduce(0) { $0 + $1.customerAmount } == paid - lost)
        let days = (first.daysSince1970...last.daysSince1970).flatMap { number in
            let day = CivilDate(daysSince1970: number)
            return books.salesRows(from: day, to: day)
        }
        for sum in [\SalesRow.customerAmount, \.proceeds, \.units] {
            let total = rows.reduce(0) { $0 + $1[keyPath: sum] }
            #expect(days.reduce(0) { $0 + $1[keyPath: sum] } == total)
        }
        #expect(rows.contains { $0.isPartialRefund })
    }

    @Test func `the reports of a day count subscriptions as they are at the end of the day`() throws
    {
        var random = try RandomWorld(seed: 5, accounts: 200, months: 8, shop: FullShop.file())
        random.advance(to: random.end)
        let books = ReportBooks(random.world)
        var day = CivilDate(year: 2026, month: 1, day: 5).daysSince1970
        while books.calendar.moment(CivilDate(daysSince1970: day + 1)) <= random.end {
            let date = CivilDate(daysSince1970: day)
            let end = books.calendar.span(from: date, to: date).upperBound.milliseconds - 1
            let standings = TrueBooks(random.world).purchaseHistories.compactMap {
                $0.steps.isEmpty ? nil : $0.standing(at: AppStoreDate(milliseconds: end))
            }
            let rows = books.subscriptionRows(at: date)
            let counted = rows.reduce(0) { $0 + $1.active + $1.billingRetry }
            #expect(counted == Int64(standings.count), "\(date)")
            #expect(Set(rows.map(\.withoutCounters)).count == rows.count)
            day += 7
        }
    }

    @Test func `each event that changes the number of subscriptions is in the report`() throws {
        var random = try RandomWorld(seed: 7, accounts: 120, months: 10, shop: FullShop.file())
        random.advance(to: random.end)
        let books = ReportBooks(random.world)
        let first = CivilDate(year: 2026, month: 1, day: 4).daysSince1970
        var families: [SalesReportEvent.Family: Int64] = [:]
        for number in first..<first + 330 {
            for row in books.eventRows(on: CivilDate(daysSince1970: number)) {
                let family = try require(row.event.family, "\(row.event) has no family")
                families[family, default: 0] += row.quantity
            }
        }
        // Each chain starts once.
        let chains = TrueBooks(random.world).purchaseHistories.filter { !$0.steps.isEmpty }
        #expect(families[.start] == Int64(chains.count))
        for family in [
            SalesReportEvent.Family.renewal, .conversion, .cancellation, .billingRetry,
            .gracePeriod, .upgrade, .reactivation, .refund,
        ] { #expect(families[family] ?? 0 > 0, "\(family)") }
    }

    @Test func `a reversed refund does not change the reports of past days`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        try await stage.advance("P2D")
        try await stage.simulator.change(id, .refund())
        try await stage.advance("P2D")
        try await stage.simulator.change(id, .reverseRefund())
        try await stage.advance("P2D")
        let counts = try await [10, 11, 12, 13, 14, 15].asyncMap { day in
            try await stage.subscriptions("2026-01-\(day)").count
        }
        #expect(counts == [1, 1, 0, 0, 1, 1])
    }

    @Test func `a chain of renewals stores its latest steps, up to the limit`() async throws {
        let stage = try Stage()
        let id = try await stage.buy("pro.monthly").originalTransactionID
        var chain = try await stage.simulator.world.subscription(id)
        for number in 0..<Int64(3 * Subscription.stepsMax) {
            chain.renews.toggle()
            chain.recordStep(at: AppStoreDate(milliseconds: number))
        }
        #expect(chain.steps.count <= Subscription.stepsMax)
        #expect(chain.steps.last?.at.milliseconds == Int64(3 * Subscription.stepsMax - 1))
        #expect(chain.trimmed.steps.isEmpty)
    }

    @Test func `the simulator's API returns daily numbers only for days that have begun`()
        async throws
    {
        let stage = try Stage()
        try await stage.buy("pro.yearly")
        try await stage.buy("guide")
        try await stage.advance("P1W")
        try await stage.withClient { client in
            let path = "/_sim/books?from=2026-01-10&to=2026-01-17"
            let days = try await client.json(path)["days"]?.array ?? []
            #expect(days.count == 8)
            let money = days.first?["money"]?.array?.first
            #expect(money?["currency"] == "USD" && money?["charged_milliunits"] == 24_990)
            #expect(days.map { $0["trial"]?.integer } == [1, 1, 1, 1, 1, 1, 1, 0])
            #expect(days.last?["active"] == 1 && days.last?["date"] == "2026-01-17")
            for (query, code) in [
                ("from=2026-01-10", "bad_request"),
                ("from=2026-01-10&to=2026-01-18", "bad_request"),
                ("from=2026-01-10&to=2026-01-09", "bad_request"),
                ("from=2026-02-30&to=2026-01-09", "bad_request"),
                ("from=2020-01-01&to=2026-01-09", "bad_request"),
            ] {
                let problem = try await client.json("/_sim/books?\(query)", status: 400)
                #expect(problem["code"]?.string == code)
            }
        }
    }
}

extension [Int] {
    fileprivate func asyncMap<Value>(
        _ transform: (Int) async throws -> Value
    ) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
