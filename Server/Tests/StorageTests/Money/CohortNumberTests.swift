import Dice
import Ledger
import Reports
import Testing

@testable import Engine
@testable import Storage

/// Compares the stored numbers of cohorts with the numbers that SQL computes from all movements.
@Suite struct CohortNumberTests {
    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `the stored cohort numbers always equal the numbers computed from movements`(
        driver: Driver
    ) async throws {
        let seed = Dice.seed(announcedBy: "CohortNumberTests", usual: 1)
        try await driver.withStore { store in
            try await store.deriveMoney()
            var sales = RandomSales(seed: seed, name: "p", purchases: 30)
            for step in 0..<240 {
                try await store.record(sales.next())
                if step % 7 == 0 { _ = try await store.addUpMoney(of: app, changes: 5) }
            }
            try await store.compareCohortsAtEachMoment("waiting changes, seed \(seed)")
            while try await store.addUpMoney(of: app, changes: 1) > 0 {}
            try await store.compareCohortsAtEachMoment("no waiting changes, seed \(seed)")
            try await store.transaction { try $0.sums.rebuild(of: app) }
            try await store.compareCohortsAtEachMoment("computed again, seed \(seed)")
            let filter = MovementFilter(app: app, environment: .production, until: sales.clock)
            for cohort in Cohort.summed {
                let sums = try await store.read {
                    try $0.cohorts.stored(cohort, filter, in: allDays, through: allDays.upperBound)
                }
                #expect(sums.count > 5, "\(cohort), seed \(seed)")
            }
        }
    }

    @Test(arguments: [true, false])
    func `a trial that ends later today is pending until then`(isAddedUp: Bool) async throws {
        try await Driver.sqliteMemory.withStore { store in
            try await store.deriveMoney()
            try await store.record((document(1), [trial(at: now)]))
            if isAddedUp { while try await store.addUpMoney(of: app, changes: 1) > 0 {} }
            let end = now + .days(7)
            for (moment, pending) in [(now, Int64(1)), (end - .seconds(1), 1), (end, 0)] {
                let filter = MovementFilter(app: app, environment: .production, until: moment)
                let sums = try await store.read {
                    #expect(try $0.cohorts.hasNumbers(of: .trials, filter))
                    return try $0.cohorts.sums(.trials, filter, in: allDays)
                }
                let day = WallClock.utc.dayNumber(at: now)
                #expect(sums == [CohortSum(day: day, numbers: [1, 0, pending])], "\(moment)")
            }
        }
    }

    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `a number of a cohort that differs from the movements is found`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.deriveMoney()
            try await store.record((document(1), [trial(at: now)]))
            while try await store.addUpMoney(of: app, changes: 1) > 0 {}
            #expect(try await store.read { try $0.consistency.sumDifferences(of: app) } == [])
            _ = try await store.driver.write {
                try $0.run(
                    "UPDATE money_cohorts SET number = 2 WHERE cohort = 'trials' AND place = 0", [])
            }
            #expect(
                try await store.read { try $0.consistency.sumDifferences(of: app) }
                    == ["numbers of the cohort trials differ: birds production"])
            try await store.transaction { try $0.sums.rebuild(of: app) }
            #expect(try await store.read { try $0.consistency.sumDifferences(of: app) } == [])
        }
    }

    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `a database of the first release gets the numbers of its cohorts`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.deriveMoney()
            var sales = RandomSales(seed: 1, name: "p", purchases: 10)
            for _ in 0..<60 { try await store.record(sales.next()) }
            while try await store.addUpMoney(of: app, changes: 1) > 0 {}
            _ = try await store.driver.write { connection in
                for statement in [
                    "DROP VIEW attributes", "DROP TABLE customer_attributes",
                    "DROP TABLE money_cohorts", "DROP TABLE rehearsals",
                    "DROP TABLE rehearsal_differences", "DROP TABLE operator_identities",
                    "DROP TABLE used_sign_ins", "DROP TABLE alerts", "DROP TABLE alert_channels",
                    "DROP TABLE alert_messages", "DROP TABLE operator_passkeys",
                    "DROP TABLE operator_recovery_codes",
                    "UPDATE schema_versions SET version = 100",
                ] { try connection.run(statement, []) }
                try connection.run("UPDATE money_sum_fills SET layout = 3", [])
            }
            try await store.migrate(at: 1)
            let filter = MovementFilter(app: app, environment: .production, until: sales.clock)
            #expect(try await store.read { try !$0.cohorts.hasNumbers(of: .payments, filter) })
            while try await store.addUpMoney(of: app, changes: 1) > 0 {}
            try await store.compareCohortsAtEachMoment("after the step")
        }
    }

    @Test func `purchases that change later today are found by an index`() async throws {
        try await Driver.sqliteMemory.withStore { store in
            let plan = try await store.plan(
                of: CohortRows.selectChangesLater(on: 1),
                [.text("birds"), .text("production"), .text("new"), .integer(1)])
            let wanted =
                "money_movements_by_kind (app=? AND environment=? AND kind=? AND day=? AND at_ms>?)"
            #expect(plan.count == 1 && plan[0].hasSuffix(wanted), "\(plan)")
        }
    }

    private func trial(at moment: Instant) -> Fact {
        let payment = Payment(
            transaction: "t", line: "t", product: "pro.monthly", from: moment,
            until: moment + .days(7), terms: .trial, offer: Offer(.introductory),
            price: Money(milliunits: 0, currency: "USD"))
        return Fact(about: purchase, attestedAt: moment, .payment(payment))
    }
}

private let allDays = Int64(0)..<1_000_000

extension Database {
    /// Compares every cohort that has stored numbers with what the movements say, in one snapshot.
    /// If the numbers are not complete, there is nothing to compare.
    func compareCohorts(
        at moment: Instant, in environment: Environment = .production, _ comment: String
    ) async throws {
        let filter = MovementFilter(app: app, environment: environment, until: moment)
        for cohort in Cohort.summed {
            let (stored, scanned) = try await read { tx in
                (
                    try tx.cohorts.sums(cohort, filter, in: allDays),
                    try tx.cohorts.scanned(cohort, filter, in: allDays)
                )
            }
            #expect(
                CohortSum.numbers(stored) == CohortSum.numbers(scanned),
                "\(cohort) in \(environment) at \(moment), \(comment)")
        }
    }

    /// Compares all cohorts at the moments of some movements, spread over all of them, and just
    /// before each.
    func compareCohortsAtEachMoment(_ comment: String) async throws {
        let moments = try await read { tx in
            try tx.connection.rows(
                "SELECT DISTINCT at_ms FROM money_movements WHERE app = $1 "
                    + "AND replaced_at_ms IS NULL ORDER BY at_ms", [.text(app.rawValue)]
            ) { row throws(StorageFailure) in try row.instant() }
        }
        #expect(moments.count > 3)
        let filter = MovementFilter(app: app, environment: .production, until: now)
        #expect(
            try await read { try $0.cohorts.hasNumbers(of: .payments, filter) }, "\(comment)")
        for index in stride(from: 0, to: moments.count, by: max(1, moments.count / 15)) {
            for moment in [moments[index], moments[index] - .milliseconds(1)] {
                try await compareCohorts(at: moment, comment)
            }
        }
    }
}
