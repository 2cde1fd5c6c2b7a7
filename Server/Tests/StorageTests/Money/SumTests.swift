import Dice
import Ledger
import Reports
import Testing

@testable import Engine
@testable import Storage

/// Compares reports that are made from stored sums with reports that are made from the movements.
@Suite struct SumTests {
    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `a report from sums equals the report from movements at any time`(
        driver: Driver
    ) async throws {
        let seed = Dice.seed(announcedBy: "SumTests", usual: 1)
        var dice = Dice(seed: seed)
        try await driver.withStore { store in
            try await store.deriveMoney()
            var sales = RandomSales(seed: seed, name: "p", purchases: 40)
            for step in 0..<400 {
                let next = sales.next()
                try await store.record(next)
                switch Int.random(in: 0..<20, using: &dice) {
                case 0, 1:
                    let count = Int.random(in: 1...20, using: &dice)
                    _ = try await store.addUpMoney(of: app, changes: count)
                case 2: try await store.transaction { try $0.sums.begin(of: app) }
                case 3: while try await store.addUpMoney(of: app, changes: 1) > 0 {}
                default: break
                }
                if step % 10 == 0 {
                    try await store.compare(at: sales.clock, &dice, "step \(step), seed \(seed)")
                }
            }
            while try await store.addUpMoney(of: app, changes: 1) > 0 {}
            #expect(try await store.waitingChanges() == 0)
            #expect(try await store.read { try $0.sums.hasSums(of: app) })
            try await store.compare(at: sales.clock, &dice, "the end, seed \(seed)")
        }
    }

    @Test func `after a change of the time zone, the new days replace the old ones in the sums`()
        async throws
    {
        let seed = Dice.seed(announcedBy: "SumTests", usual: 2)
        var dice = Dice(seed: seed)
        try await Driver.sqliteMemory.withStore { store in
            try await store.deriveMoney()
            var sales = RandomSales(seed: seed, name: "p", purchases: 60)
            for _ in 0..<200 { try await store.record(sales.next()) }
            while try await store.addUpMoney(of: app, changes: 1) > 0 {}
            let tokyo = WallClock(name: "Asia/Tokyo", secondsAtFirst: 9 * 3_600, changes: [])
            let moved = store.replacing(
                DatabaseRules(money: [app: MoneyRules(clock: tokyo)]))
            try await moved.transaction { try $0.money.beginFill(of: app) }
            _ = try await moved.transaction { try MoneyUpdates($0).continueFill(of: app, at: now) }
            _ = try await moved.addUpMoney(of: app, changes: 5)
            for _ in 0..<20 { try await moved.record(sales.next()) }
            while try await moved.transaction({
                try MoneyUpdates($0).continueFill(of: app, at: now)
            }) > 0 {
            }
            _ = try await moved.addUpMoney(of: app, changes: 5)
            #expect(try await moved.read { try $0.money.isComplete(of: app) })
            for _ in 0..<20 { try await moved.compare(at: sales.clock, &dice, "seed \(seed)") }
        }
    }

    @Test func `while several servers write and update sums, every report matches one snapshot`()
        async throws
    {
        let seed = Dice.seed(announcedBy: "SumTests", usual: 3)
        try await Driver.withServers { stores in
            try await stores[0].deriveMoney()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for (number, store) in stores.enumerated() {
                    tasks.addTask {
                        var sales = RandomSales(
                            seed: seed + UInt64(number), name: "\(number)-", purchases: 20)
                        for _ in 0..<120 { try await store.record(sales.next()) }
                    }
                    tasks.addTask {
                        var dice = Dice(seed: seed)
                        for step in 0..<40 {
                            _ = try await store.addUpMoney(of: app, changes: 3)
                            try await store.compare(
                                at: now + .days(300), &dice, "step \(step), seed \(seed)")
                        }
                    }
                }
                try await tasks.waitForAll()
            }
            while try await stores[1].addUpMoney(of: app, changes: 1) > 0 {}
            #expect(try await stores[2].waitingChanges() == 0)
            var dice = Dice(seed: seed)
            try await stores[2].compare(at: now + .days(400), &dice, "the end, seed \(seed)")
        }
    }

    @Test func `the days of a report are grouped into whole months where possible`() {
        let first = CivilDate(year: 2026, month: 1, day: 1).dayNumber
        let plan = SumPlan(first + 9..<first + 100, today: first + 70, keepsDays: false)
        #expect(plan.within.map(\.span) == [.day, .month, .day])
        #expect(plan.within.map(\.days.lowerBound) == [first + 9, first + 31, first + 59])
        #expect(plan.within.last?.days.upperBound == first + 70)
        #expect(plan.today == first + 70)
        #expect(plan.sumDay(of: first) == first + 8)
        #expect(plan.sumDay(of: first + 40) == first + 31)
        #expect(plan.sumDay(of: first + 60) == first + 60)
        #expect(plan.sumDay(of: first + 70) == nil)
    }

    @Test func `changes of today or later are not added to the sums of earlier days`() {
        let today = CivilDate(year: 2026, month: 1, day: 20).dayNumber
        for first in [today, today + 1, today + 40] {
            let plan = SumPlan(first..<first + 5, today: today, keepsDays: true)
            #expect(plan.opening.last?.days.upperBound == today)
            #expect(plan.within.allSatisfy { $0.days.isEmpty })
            #expect(plan.sumDay(of: today - 1) == first - 1)
            for day in today...first + 6 { #expect(plan.sumDay(of: day) == nil) }
        }
    }

    @Test(arguments: [Int64(0), 1, 40], [true, false])
    func `a report of future days counts today's movements once, and counts no ended periods`(
        later: Int64, isAddedUp: Bool
    ) async throws {
        try await Driver.sqliteMemory.withStore { store in
            try await store.deriveMoney()
            let payment = Payment(
                transaction: "t", line: "t", product: "pro.monthly", from: now,
                until: now + .days(30), price: Money(milliunits: 9_990, currency: "USD"))
            try await store.record(
                (document(1), [Fact(about: purchase, attestedAt: now, .payment(payment))]))
            if isAddedUp { while try await store.addUpMoney(of: app, changes: 1) > 0 {} }
            let first = WallClock.utc.dayNumber(at: now) + later
            let filter = MovementFilter(app: app, environment: .production, until: now)
            let sums = try await store.read {
                try $0.sums.movementSums(filter, in: first..<first + 1)
            }
            let total = sums.reduce(Totals()) { $0 + $1.totals }
            #expect(total.amounts.gross == 9_990)
            #expect(total.amounts.mrr == 9_990)
            #expect(total.counts.active == 1)
            #expect(sums.allSatisfy { $0.day == (later == 0 ? first : first - 1) })
        }
    }
}

extension Database {
    /// Derives movements, sums and cohorts, as a server does when it starts.
    func deriveMoney() async throws {
        try await transaction { try $0.money.beginFill(of: app) }
        while try await transaction({ try MoneyUpdates($0).continueFill(of: app, at: now) }) > 0 {}
        while try await addUpMoney(of: app) > 0 {}
    }

    func record(_ next: (document: StoredDocument, facts: [Fact])) async throws {
        try await transaction { tx in
            guard try tx.documents.insert(next.document) else { return }
            try DocumentRecorder(tx).project(next.facts, from: next.document)
        }
    }

    fileprivate func waitingChanges() async throws -> Int64 {
        try await driver.read {
            try $0.number("SELECT count(*) FROM money_changes")
        }
    }

    /// Compares reports about random days within one snapshot.
    fileprivate func compare(
        at moment: Instant, _ dice: inout Dice, _ comment: String
    ) async throws {
        let today = WallClock.utc.dayNumber(at: moment)
        let first = today - Int64.random(in: -40...400, using: &dice)
        let days = first..<first + Int64.random(in: 1...500, using: &dice)
        let division = Division.allCases.randomElement(using: &dice)
        let isDivided = Bool.random(using: &dice)
        let length = ReportPeriod.Length.allCases.randomElement(using: &dice) ?? .day
        let currency = ["EUR", nil].randomElement(using: &dice) ?? nil
        let filter = MovementFilter(
            app: app, environment: Bool.random(using: &dice) ? .production : .sandbox,
            until: moment + .days(Int.random(in: -20...20, using: &dice)),
            division: isDivided ? division : nil,
            part: isDivided && Bool.random(using: &dice)
                ? ["USA", "", "G", "pro.monthly", "none"].randomElement(using: &dice) : nil)
        let keepsDays = currency != nil || length == .day || length == .week
        let (stored, scanned) = try await read { tx in
            (
                try tx.sums.movementSums(filter, in: days, keepsDays: keepsDays),
                try tx.sums.scanned(filter, before: days.upperBound, opening: days.lowerBound)
            )
        }
        let periods = ReportPeriod.periods(length, in: days)
        for definition in ReportCatalogue.all where definition.cohort == nil {
            func report(_ sums: [MovementSum]) -> Report {
                Report(definition, periods, from: sums, in: currency, rates: .some)
            }
            let (one, other) = (report(stored), report(scanned))
            let what = "\(definition.name), \(filter), \(days) by \(length), \(comment)"
            #expect(one.rows == other.rows, "\(what)")
            #expect(one.unconverted == other.unconverted, "\(what)")
            #expect(one.rateDays == other.rateDays, "\(what)")
        }
        try await compareCohorts(at: filter.until, in: filter.environment, comment)
    }
}

extension ExchangeRates {
    /// A rate for every day, each of them different.
    fileprivate static let some = ExchangeRates(
        base: "EUR",
        rates: Dictionary(
            uniqueKeysWithValues: (19_000..<22_000).map {
                (Int64($0), ["USD": Int64(1_000_000 + $0 * 7)])
            }))
}
