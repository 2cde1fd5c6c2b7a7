import Foundation
import PostgresCluster

/// Measures notifications of different purchases that are posted to several servers at once.
struct ServersBench {
    private static let counts = [1, 2, 3]
    private static let connectionsPerMeasurement = 48

    let programs: Programs
    let bench: BenchFolder
    /// The first notification of each purchase.
    private let purchases: [[UInt8]]
    /// The second one. Purchases that renew at the same time are strewn over the tables.
    private let renewals: [[UInt8]]

    init(_ bench: BenchFolder, purchases count: Int) throws {
        self.bench = bench
        programs = try Programs(bench)
        let maker = DocumentMaker(authority: bench.authority)
        Progress.report("signing \(2 * count) notifications …")
        purchases = try (0..<count).map {
            HTTPRequestBytes.notification(try maker.notification(.init(number: $0, period: 0)))
        }
        renewals = try (0..<count).map {
            let number = $0 * Self.stride % count
            return HTTPRequestBytes.notification(
                try maker.notification(.init(number: number, period: 1)))
        }
    }

    /// A prime, so that each purchase comes once if their number is not a multiple of it.
    private static let stride = 7919

    // MARK: - Rates

    private struct Measurement {
        var rate = 0.0
        var rowsPerSecond = 0.0
        var rolledBack = 0.0
        var waits: [String: Int] = [:]
    }

    /// Returns a table: for each number of servers, the median of the rounds.
    func measure(rounds: Int) async throws -> String {
        var found: [Int: [Measurement]] = [:]
        try await withPostgres { postgres in
            for round in 1...rounds {
                for count in Self.counts {
                    let name = "round\(round)_\(count)"
                    let measurement = try measure(count, on: postgres, name)
                    found[count, default: []].append(measurement)
                    Progress.report("  round \(round), \(count): \(Int(measurement.rate)) per s")
                }
            }
        }
        let one = found[1, default: []].map(\.rate)
        return Self.counts.map { count in
            let all = found[count, default: []]
            let ratio = zip(all.map(\.rate), one).map { $0 / $1 }.median
            let waits = all.reduce(into: [:]) { $0.merge($1.waits, uniquingKeysWith: +) }
            return "\(count) servers: \(Int(all.map(\.rate).median)) notifications per second, "
                + String(format: "%.2f", ratio) + " of one server; "
                + "\(Int(all.map(\.rowsPerSecond).median)) rows per CPU second of PostgreSQL; "
                + String(format: "%.2f", 100 * all.map(\.rolledBack).median)
                + " % of transactions rolled back; waits for locks: \(waits)"
        }.joined(separator: "\n")
    }

    private func measure(
        _ count: Int, on postgres: PostgresServer, _ name: String
    ) throws -> Measurement {
        let url = try database(name, on: postgres)
        let clock = try programs.simulate()
        defer { clock.stop() }
        let servers = try (0..<count).map { _ in try programs.serve(url, clock: clock) }
        let load = try Load(
            ports: servers.map(\.port), connections: Self.connectionsPerMeasurement)
        try load.exchange(purchases.count) { purchases[$0] }
        let before = try (Self.statistics(name, postgres), Effort.ofAll(named: "postgres"))
        let sampler = LockSampler(url: url)
        let start = ContinuousClock.now
        try load.exchange(renewals.count) { renewals[$0] }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let effort = try Effort.ofAll(named: "postgres") - before.1
        let waits = sampler.stop()
        // Sessions report their statistics when they end, at the latest.
        for server in servers { server.stop() }
        let after = try Self.statistics(name, postgres)
        let transactions = after.transactions - before.0.transactions
        return Measurement(
            rate: Double(renewals.count) / seconds,
            rowsPerSecond: (after.rows - before.0.rows) / effort,
            rolledBack: (after.rolledBack - before.0.rolledBack) / transactions, waits: waits)
    }

    private static func statistics(
        _ name: String, _ postgres: PostgresServer
    ) throws -> (rows: Double, transactions: Double, rolledBack: Double) {
        let text = try Administration.run(
            "SELECT concat_ws(' ', tup_inserted + tup_updated + tup_deleted, "
                + "xact_commit + xact_rollback, xact_rollback) "
                + "FROM pg_stat_database WHERE datname = '\(name)'",
            at: postgres.url(of: "postgres"))
        let numbers = (text ?? "").split(separator: " ").compactMap { Double($0) }
        guard numbers.count == 3 else { throw BenchFailure("no statistics of \(name)") }
        return (numbers[0], numbers[1], numbers[2])
    }

    // MARK: - Reading during kills

    /// Posts notifications to three servers, or to one on SQLite, of which one after the other is
    /// killed and started again. Meanwhile one consumer reads the log by cursor.
    func readDuringKills(onSQLite: Bool) async throws -> String {
        if onSQLite {
            return try readDuringKills(try bench.freshDatabase("kills.sqlite"), servers: 1)
        }
        var text = ""
        try await withPostgres { postgres in
            try Administration.run("CREATE DATABASE kills", at: postgres.url(of: "postgres"))
            text = try readDuringKills(postgres.url(of: "kills"), servers: 3)
        }
        return text
    }

    private static let kills = 20

    private func readDuringKills(_ database: String, servers count: Int) throws -> String {
        let key = try programs.createKey(database)
        let clock = try programs.simulate()
        defer { clock.stop() }
        var servers = try (0..<count).map { _ in try programs.serve(database, clock: clock) }
        let ports = servers.map(\.port)
        let load = try Load(ports: ports, connections: Self.connectionsPerMeasurement)
        load.survivesKills = true
        let reader = LogReader(ports: ports, key: key)
        let requests = purchases + renewals
        let killAfter = max(requests.count / Self.kills, 1)
        var kills = 0
        try load.exchange(requests.count) { number in
            if number > 0, number % killAfter == 0 {
                let victim = kills % count
                kill(servers[victim].id, SIGKILL)
                kills += 1
                if let again = try? programs.serve(database, clock: clock, port: ports[victim]) {
                    servers[victim] = again
                }
            }
            return requests[number]
        }
        let read = try reader.finish()
        for server in servers { server.stop() }
        let text =
            "\(requests.count) notifications, \(kills) kills: read \(read.count) events in order, "
            + "without gap; \(read.purchases) purchases"
        guard read.purchases == purchases.count else {
            throw BenchFailure("\(text): events are missing")
        }
        return text
    }

    // MARK: -

    private func database(_ name: String, on postgres: PostgresServer) throws -> String {
        try Administration.run("CREATE DATABASE \(name)", at: postgres.url(of: "postgres"))
        let url = postgres.url(of: name)
        _ = try programs.createKey(url)
        return url
    }

    private func withPostgres(_ body: (PostgresServer) async throws -> Void) async throws {
        let server = try await PostgresServer(surviving: .power)
        try await server.start()
        do { try await body(server) } catch {
            try await server.remove()
            throw error
        }
        try await server.remove()
    }
}

/// Looks every few milliseconds which statements wait for a lock.
final class LockSampler: @unchecked Sendable {
    private static let pauseSeconds = 0.05
    private static let query = """
        SELECT string_agg(DISTINCT wait_event || ': ' ||
            left(regexp_replace(query, '\\s+', ' ', 'g'), 50), '|')
        FROM pg_stat_activity WHERE wait_event_type = 'Lock'
        """

    private let lock = NSLock()
    private var isStopped = false
    private var waits: [String: Int] = [:]
    private let thread = DispatchSemaphore(value: 0)

    init(url: String) {
        Thread.detachNewThread { [self] in
            while !lock.withLock({ isStopped }) {
                let found = (try? Administration.run(Self.query, at: url)) ?? ""
                lock.withLock {
                    for statement in found.split(separator: "|") {
                        waits[String(statement), default: 0] += 1
                    }
                }
                Thread.sleep(forTimeInterval: Self.pauseSeconds)
            }
            thread.signal()
        }
    }

    /// Returns how many samples found each statement waiting.
    func stop() -> [String: Int] {
        lock.withLock { isStopped = true }
        thread.wait()
        return lock.withLock { waits }
    }
}
