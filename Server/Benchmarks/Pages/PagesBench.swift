import Foundation
import Ledger
import Storage
import StorageSQLite

/// Measures how long a server takes for the pages of the dashboard, on the database of a million
/// customers.
struct PagesBench {
    private static let rounds = 3
    /// The customer whose page is measured.
    private static let sample = 471_100
    /// The page with the purchases behind a number of a chart.
    private static let purchases =
        "/charts/revenue/purchases?column=gross&by=month&currency=USD"

    private let bench: BenchFolder
    private let programs: Programs

    init(_ bench: BenchFolder) throws {
        self.bench = bench
        programs = try Programs(bench)
    }

    private var customers: Int { bench.count(1_000_000, quick: 20_000) }

    /// Returns a table: for each page the median of the wall-clock times, the longest of them, and
    /// the mean of the processor times, in milliseconds.
    func measure() async throws -> String {
        let database = try await PopulationDatabase(programs, customers: customers).path()
        try await prepare(database)
        let clock = try programs.simulate()
        defer { clock.stop() }
        let server = try programs.serveDashboard(database, clock: clock)
        defer { server.stop() }
        let load = try Load(port: server.port, connections: 1)
        var lines = [
            "\(customers) customers; \(Self.rounds) times each, milliseconds", "",
            "| page | first | median | longest | processor |", "|---|---|---|---|---|",
        ]
        for (name, path) in pages {
            lines.append(try line(name, path, load, server))
            Progress.report(lines.last ?? "")
        }
        lines.append("")
        let memory = try Effort.memory(of: server.id)
        lines.append("resident memory at most \(Table.number(memory.most)) MiB")
        return lines.joined(separator: "\n")
    }

    /// Adds up the money, as a server does from one notification to the next, and adds an operator.
    /// The server believes a proxy that the operator has signed in, so nobody needs the password.
    private func prepare(_ database: String) async throws {
        let driver = try SQLiteDriver(path: database)
        let store = Database(driver)
        try await MoneySums.addUp(in: store)
        let account = Operator(
            name: Programs.operatorName, roles: OperatorRoles(everywhere: .admin),
            createdAt: Instant(milliseconds: 0))
        _ = try await store.transaction { try $0.operators.add(account, password: "") }
        driver.close()
    }

    private var pages: [(name: String, path: String)] {
        let number = Self.sample % customers
        let id = Population.id(of: number)
        let original = DocumentMaker.Subject(number: number, period: 0).original
        return [
            ("overview", "/"), ("a chart, MRR", "/charts/mrr"),
            ("MRR by product and month", "/charts/mrr?by=month&column=mrr&segment=product"),
            ("MRR movement", "/charts/mrr_movement"), ("revenue", "/charts/revenue"),
            ("retention", "/charts/retention"), ("lifetime value", "/charts/ltv"),
            ("trial conversion", "/charts/trial_conversion"),
            ("the purchases behind a number", Self.purchases),
            ("customers, latest first", "/customers"),
            ("customers, a search by id", "/customers?query=\(id)"),
            ("customers, a search by transaction", "/customers?query=\(original)"),
            ("customers, a search that finds nobody", "/customers?query=nobody"),
            ("a customer", "/customers/\(id)"), ("events", "/events"),
            ("notifications", "/notifications"), ("webhooks", "/webhooks"),
            ("Apple's reports", "/reports"), ("products", "/products"), ("health", "/checks"),
            ("audit", "/audit"),
        ]
    }

    private func line(
        _ name: String, _ path: String, _ load: Load, _ server: RunningProgram
    ) throws -> String {
        let request = HTTPRequestBytes.page(path, port: server.port)
        let first = try milliseconds { try load.exchange(1) { _ in request } }
        let before = try Effort.of(process: server.id)
        let times = try (0..<Self.rounds).map { _ in
            try milliseconds { try load.exchange(1) { _ in request } }
        }
        let effort =
            (try Effort.of(process: server.id) - before) * 1000 / Double(Self.rounds)
        let cells = [first, times.median, times.max() ?? 0, effort].map {
            String(format: "%.1f", $0)
        }
        return "| \(name) | \(cells.joined(separator: " | ")) |"
    }

    private func milliseconds(_ work: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try work()
        return (ContinuousClock.now - start) / .milliseconds(1)
    }
}
