import Dice
import Ledger
import Reports
import Testing

@testable import Engine
@testable import Storage

/// Cohorts: subscriptions by the day of their first payment.
@Suite struct CohortTests {
    private static let first = WallClock.utc.dayNumber(at: now)

    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `a subscription that changes its currency counts as one subscription`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let prices: [(days: Int, amount: Int64, currency: String?)] = [
                (0, 9_990, "USD"), (30, 9_990, "USD"), (60, 8_990, "EUR"), (90, 8_990, "EUR"),
            ]
            let others: [(days: Int, amount: Int64, currency: String?)] = [
                (0, 0, nil), (30, 7_990, "GBP"), (60, 7_990, "GBP"),
            ]
            try await store.record(prices, of: "1", as: 1)
            try await store.record(others, of: "2", as: 2)
            try await store.record([(60, 8_990, "EUR")], of: "3", as: 3)
            try await store.deriveMoney()
            try await store.compareCohortsAtEachMoment("currencies")
            let sums = try await store.revenue(until: now + .days(200))
            #expect(
                Set(sums) == [
                    // One subscription of the first day has since paid in two currencies.
                    CohortSum(day: Self.first, currency: "USD", numbers: [1, 19_980]),
                    CohortSum(day: Self.first, currency: "EUR", numbers: [0, 17_980]),
                    // The first price of the other subscription is unknown.
                    CohortSum(day: Self.first, currency: "GBP", numbers: [1, 15_980]),
                    CohortSum(day: Self.first + 60, currency: "EUR", numbers: [1, 8_990]),
                ], "\(sums)")
        }
    }

    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `a trial counts as converted if a payment follows, even if there was a payment before`(
        driver: Driver
    ) async throws {
        // Months: `f` free, `p` paid, `-` none. `ended`: whether the trial had converted when it
        // ended. `ever`: whether it has converted at any time.
        let chains: [(months: String, ended: Int64, ever: Int64)] = [
            ("fp", 1, 1), ("f-p", 0, 1), ("p-fp", 1, 1), ("p-f", 0, 0), ("p-f-p", 0, 1),
            ("f", 0, 0), ("p", 0, 0),
        ]
        try await driver.withStore { store in
            for (number, chain) in chains.enumerated() {
                try await store.record(chain.months, as: UInt8(number + 1))
            }
            try await store.deriveMoney()
            try await store.compareCohortsAtEachMoment("trials")
            let filter = MovementFilter(
                app: app, environment: .production, until: now + .days(1_000))
            let days = 0..<Self.first + 10_000
            let (ended, ever) = try await store.read { tx in
                (
                    try tx.cohorts.sums(.trials, filter, in: days),
                    try tx.cohorts.sums(.trialsPaidEver, filter, in: days)
                )
            }
            func total(_ sums: [CohortSum], _ place: Int) -> Int64 {
                sums.reduce(0) { $0 + $1.numbers[place] }
            }
            #expect(total(ended, 0) == 6 && total(ever, 0) == 6)
            #expect(total(ended, 1) == chains.reduce(0) { $0 + $1.ended })
            #expect(total(ever, 1) == chains.reduce(0) { $0 + $1.ever })
        }
    }

    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `revenue by cohort adds up to all revenue, and each subscription is counted once`(
        driver: Driver
    ) async throws {
        let seed = Dice.seed(announcedBy: "CohortTests", usual: 1)
        try await driver.withStore { store in
            var sales = RandomSales(seed: seed, name: "p", purchases: 60)
            for _ in 0..<400 { try await store.record(sales.next()) }
            try await store.deriveMoney()
            let filter = MovementFilter(app: app, environment: .production, until: sales.clock)
            let days = 0..<Self.first + 10_000
            let (revenue, payments, all) = try await store.read { tx in
                (
                    try tx.cohorts.sums(.revenue, filter, in: days),
                    try tx.cohorts.sums(.payments, filter, in: days),
                    try tx.sums.scanned(filter, before: days.upperBound, opening: 0)
                )
            }
            func byDay(_ sums: [CohortSum]) -> [Int64: Int64] {
                sums.reduce(into: [:]) { $0[$1.day, default: 0] += $1.numbers[0] }
                    .filter { $0.value != 0 }
            }
            #expect(byDay(revenue) == byDay(payments), "seed \(seed)")
            var brought: [String: Int64] = [:]
            for sum in revenue { brought[sum.currency ?? "", default: 0] += sum.numbers[1] }
            var charged: [String: Int64] = [:]
            for sum in all {
                let amounts = sum.totals.amounts
                charged[sum.currency ?? "", default: 0] += amounts.gross - amounts.refunded
            }
            #expect(brought.filter { $0.value != 0 } == charged.filter { $0.value != 0 })
            #expect(brought.count > 2, "seed \(seed)")
        }
    }
}

extension Database {
    /// Records the months of a subscription: `f` free, `p` paid, `-` none.
    fileprivate func record(_ months: String, as number: UInt8) async throws {
        let purchase = PurchaseID(TransactionID(rawValue: "t\(number)"), in: .production)
        let facts = months.enumerated().filter { $0.element != "-" }.map { index, letter in
            let from = now + .days(30 * index)
            let isFree = letter == "f"
            let payment = Payment(
                transaction: TransactionID(rawValue: "t\(number)-\(index)"),
                line: "t\(number)-\(index)", product: "pro.monthly", from: from,
                until: from + .days(30), terms: isFree ? .trial : .full,
                offer: isFree ? Offer(.winBack, id: "back") : nil,
                price: Money(milliunits: isFree ? 0 : 9_990, currency: "USD"),
                isRenewal: index > 0 && months.dropFirst(index - 1).first != "-")
            return Fact(about: purchase, attestedAt: from, .payment(payment))
        }
        try await record((document(number), facts))
    }

    /// Records the paid months of a subscription.
    ///
    /// - Parameters:
    ///   - months: for each month, the days from ``now`` to its beginning, and its price.
    ///   - number: the number of the document that attests the months.
    fileprivate func record(
        _ months: [(days: Int, amount: Int64, currency: String?)], of name: String, as number: UInt8
    ) async throws {
        let purchase = PurchaseID(TransactionID(rawValue: name), in: .production)
        let facts = months.map { days, amount, currency in
            let payment = Payment(
                transaction: TransactionID(rawValue: "\(name)-\(days)"), line: "\(name)-\(days)",
                product: "pro.monthly", from: now + .days(days), until: now + .days(days + 30),
                price: currency.map { Money(milliunits: amount, currency: $0) },
                isRenewal: days > 0)
            return Fact(about: purchase, attestedAt: now + .days(days), .payment(payment))
        }
        try await record((document(number), facts))
    }

    fileprivate func revenue(until moment: Instant) async throws -> [CohortSum] {
        let filter = MovementFilter(app: app, environment: .production, until: moment)
        return try await read { try $0.cohorts.sums(.revenue, filter, in: 0..<1_000_000) }
    }
}
