import Foundation
import Ledger
import PostgresCluster
import Reports
import Storage
import StoragePostgres
import StorageSQLite

/// Measures every report over 36 months, by month and by each division, from the stored sums of
/// very many transactions. Also measures the reports about cohorts, from their stored numbers and
/// from the movements.
struct ReportsBench {
    private static let app = SyntheticSales.app

    let bench: BenchFolder
    private let transactions: Int
    private let rounds: Int

    init(_ bench: BenchFolder, transactions: Int, rounds: Int) {
        (self.bench, self.transactions, self.rounds) = (bench, transactions, rounds)
    }

    func measureOnSQLite() async throws -> String {
        let path = try bench.freshDatabase("reports.sqlite")
        let driver = try SQLiteDriver(path: path)
        let found = try await measure(driver, "SQLite")
        driver.close()
        let size = try DatabaseFiles.bytes(path) / 1_048_576
        _ = try bench.freshDatabase("reports.sqlite")
        return found + "\n  \(size) MiB on disk"
    }

    func measureOnPostgres() async throws -> String {
        let server = try await PostgresServer(surviving: .power)
        try await server.start()
        let outcome: Result<String, any Error>
        do {
            let url = server.url(of: "reports")
            try Administration.run("CREATE DATABASE reports", at: server.url(of: "postgres"))
            let driver = try PostgresDriver(url: url)
            outcome = .success(
                try await measure(driver, "PostgreSQL") {
                    try Administration.run("VACUUM ANALYZE", at: url)
                })
            driver.close()
        } catch { outcome = .failure(error) }
        try await server.remove()
        return try outcome.get()
    }

    private func measure(
        _ driver: any DatabaseDriver, _ name: String, settle: () throws -> Void = {}
    ) async throws -> String {
        let store = Database(driver)
        try await store.migrate(at: 0)
        try await SyntheticSales(transactions: transactions).write(to: driver)
        let start = ContinuousClock.now
        try await MoneySums.addUp(in: store)
        let seconds = Int((ContinuousClock.now - start) / .seconds(1))
        try settle()
        let counts = try await counts(store)
        return "\(name): \(counts); added up in \(seconds) s\n" + (try await times(store))
    }

    private func counts(_ store: Database) async throws -> String {
        try await store.driver.read { connection in
            func count(_ table: String, _ condition: String = "") throws -> Int64 {
                try connection.number(
                    "SELECT count(*) FROM \(table) WHERE app = 'birds'\(condition)")
            }
            return "\(try count("money_movements", " AND payments = 1")) transactions, "
                + "\(try count("money_movements")) movements, "
                + "\(try count("money_sums")) sums, \(try count("money_cohorts")) of cohorts"
        }
    }

    /// Returns the median time of the slowest report for each division, and the times of reports
    /// that are always slower.
    private func times(_ store: Database) async throws -> String {
        var lines: [String] = []
        for division in [nil] + Division.allCases.map(Optional.some) {
            var slowest = (name: "", seconds: 0.0)
            for definition in ReportCatalogue.all where definition.cohort == nil {
                let seconds = try await median {
                    try await Self.report(definition, by: division, from: store)
                }
                if seconds > slowest.seconds { slowest = (definition.name, seconds) }
            }
            lines.append(
                "  by \(division?.rawValue ?? "nothing"): \(slowest.seconds.milliseconds) "
                    + "(\(slowest.name))")
        }
        let definition = ReportCatalogue.all[0]
        let converted = try await median {
            try await Self.report(definition, by: .country, from: store, keepsDays: true)
        }
        lines.append("  by country, of every day, to convert: \(converted.milliseconds)")
        let scanned = try await median(of: 1) {
            try await Self.report(definition, by: nil, from: store, asKnownAt: Self.now)
        }
        lines.append("  from movements, as known at a moment: \(scanned.milliseconds)")
        return (lines + (try await cohortTimes(store))).joined(separator: "\n")
    }

    /// Returns the median time of each report about cohorts that has stored numbers.
    private func cohortTimes(_ store: Database) async throws -> [String] {
        var lines: [String] = []
        for definition in ReportCatalogue.all {
            guard let cohort = definition.cohort, Cohort.summed.contains(cohort) else { continue }
            let stored = try await median {
                try await Self.report(definition, about: cohort, from: store)
            }
            let scanned = try await median(of: 1) {
                try await Self.report(definition, about: cohort, from: store, asKnownAt: Self.now)
            }
            lines.append(
                "  \(definition.name): \(stored.milliseconds), "
                    + "from movements \(scanned.milliseconds)")
        }
        return lines
    }

    private func median(
        of count: Int? = nil, _ body: () async throws -> Void
    ) async throws -> Double {
        var seconds: [Double] = []
        for _ in 0..<(count ?? rounds) {
            let start = ContinuousClock.now
            try await body()
            seconds.append((ContinuousClock.now - start) / .seconds(1))
        }
        return seconds.median
    }

    /// Noon of the last day.
    private static let now =
        WallClock.utc.midnight(ofDay: SyntheticSales.firstDay + SyntheticSales.days - 1)
        + .seconds(43_200)

    private static func report(
        _ definition: ReportDefinition, by division: Division?, from store: Database,
        keepsDays: Bool = false, asKnownAt: Instant? = nil
    ) async throws {
        let days =
            SyntheticSales.firstDay..<SyntheticSales.firstDay + SyntheticSales.days
        let filter = MovementFilter(
            app: app, environment: .production, until: now, division: division,
            asKnownAt: asKnownAt)
        let sums = try await store.read {
            try $0.sums.movementSums(filter, in: days, keepsDays: keepsDays)
        }
        let report = Report(definition, ReportPeriod.periods(.month, in: days), from: sums)
        guard !report.rows.isEmpty else { throw BenchFailure("\(definition.name) is empty") }
    }

    /// Makes a report about a cohort. The synthetic sales have no trials, so it may be empty.
    private static func report(
        _ definition: ReportDefinition, about cohort: Cohort, from store: Database,
        asKnownAt: Instant? = nil
    ) async throws {
        let days =
            SyntheticSales.firstDay..<SyntheticSales.firstDay + SyntheticSales.days
        let filter = MovementFilter(
            app: app, environment: .production, until: now, asKnownAt: asKnownAt)
        let sums = try await store.read { try $0.cohorts.sums(cohort, filter, in: days) }
        _ = Report(definition, ReportPeriod.periods(.month, in: days), cohorts: sums)
    }
}

extension Double {
    /// This number of seconds as text, in milliseconds.
    fileprivate var milliseconds: String { String(format: "%.0f ms", self * 1000) }
}
