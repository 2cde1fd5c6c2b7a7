import Foundation
import PostgresCluster

/// Measures notifications that are posted at the same time to several servers on one PostgreSQL.
struct ServersBench {
    static let counts = [1, 2, 3]

    let programs: Programs
    let bench: BenchFolder
    private let load: ServersLoad

    init(_ bench: BenchFolder, _ load: ServersLoad) throws {
        self.bench = bench
        self.load = load
        programs = try Programs(bench)
    }

    // MARK: - Rates

    struct Measurement {
        var rate = 0.0
        var rowsPerSecond = 0.0
        var rolledBack = 0.0
        /// The number of customers read per second while notifications were posted.
        var reads = 0.0
        var waits: [String: Int] = [:]
    }

    /// Returns the measurements of each round, by the number of servers. Fails if a server refuses
    /// a notification.
    func measure(rounds: Int, counts: [Int] = counts) async throws -> [Int: [Measurement]] {
        var found: [Int: [Measurement]] = [:]
        try await withPostgres { postgres in
            for round in 1...rounds {
                for count in counts {
                    let name = "round\(round)_\(count)"
                    let measurement = try measure(count, on: postgres, name)
                    found[count, default: []].append(measurement)
                    Progress.report("  round \(round), \(count): \(Int(measurement.rate)) per s")
                }
            }
        }
        return found
    }

    /// Measures one server, and then two servers, while they receive the notifications of a
    /// population, post its events to a webhook, and answer about customers.
    static func measureLine(in folder: BenchFolder) async throws -> [Measured] {
        let accounts = folder.count(3000, quick: 500)
        let load = try ServersLoad.population(accounts, signedBy: folder.authority)
        let found = try await Self(folder, load)
            .measure(rounds: folder.count(5, quick: 1), counts: [1, 2])
        let rates = [1, 2].map { found[$0, default: []].map(\.rate).median }
        let rolledBack = found[2, default: []].map(\.rolledBack).median
        return [
            Measured(
                line: .servers, value: ratio(of: 2, in: found),
                behind: "\(Int(rates[1])) ÷ \(Int(rates[0])) per second; "
                    + String(format: "%.2f", 100 * rolledBack) + " % rolled back; "
                    + "\(load.measured.count) notifications of \(accounts) customers")
        ]
    }

    /// A table: for each number of servers, the median of the rounds.
    static func text(of found: [Int: [Measurement]]) -> String {
        found.keys.sorted().map { count in
            let all = found[count, default: []]
            let waits = all.reduce(into: [:]) { $0.merge($1.waits, uniquingKeysWith: +) }
            return "\(count) servers: \(Int(all.map(\.rate).median)) notifications per second, "
                + String(format: "%.2f", ratio(of: count, in: found)) + " of one server; "
                + "\(Int(all.map(\.rowsPerSecond).median)) rows per CPU second of PostgreSQL; "
                + String(format: "%.2f", 100 * all.map(\.rolledBack).median)
                + " % of transactions rolled back; \(Int(all.map(\.reads).median)) customers read "
                + "per second; waits for locks: \(waits)"
        }.joined(separator: "\n")
    }

    /// The rate of a number of servers, divided by the rate of one server: the median of the
    /// rounds.
    static func ratio(of count: Int, in found: [Int: [Measurement]]) -> Double {
        zip(found[count, default: []], found[1, default: []]).map { $0.rate / $1.rate }.median
    }

    private func measure(
        _ count: Int, on postgres: PostgresServer, _ name: String
    ) throws -> Measurement {
        let url = postgres.url(of: name)
        try Administration.run("CREATE DATABASE \(name)", at: postgres.url(of: "postgres"))
        let key = try programs.createKey(url)
        let (clock, receiver) = (try programs.simulate(), try programs.bareServer(bytes: 2))
        defer { for program in [clock, receiver] { program.stop() } }
        let webhook = load.hasWebhook ? receiver : nil
        let servers = try (0..<count).map { _ in
            try programs.serve(url, clock: clock, webhook: webhook)
        }
        let ports = servers.map(\.port)
        let link = try Load(ports: ports, connections: load.connections)
        try link.exchange(load.before.count) { load.before[$0] }
        let before = try (Self.statistics(name, postgres), Effort.ofAll(named: "postgres"))
        let sampler = LockSampler(url: url)
        let reader = CustomerReader(load.customers, key: key, ports: ports)
        let start = ContinuousClock.now
        try link.exchange(load.measured.count) { load.measured[$0] }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let effort = try Effort.ofAll(named: "postgres") - before.1
        let (waits, reads) = (sampler.stop(), try reader.stop())
        // Sessions report their statistics at the latest when they end.
        for server in servers { server.stop() }
        let after = try Self.statistics(name, postgres)
        let transactions = after.transactions - before.0.transactions
        return Measurement(
            rate: Double(load.measured.count) / seconds,
            rowsPerSecond: (after.rows - before.0.rows) / effort,
            rolledBack: (after.rolledBack - before.0.rolledBack) / transactions,
            reads: Double(reads) / seconds, waits: waits)
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

    /// Posts notifications to three servers, or to one on SQLite. The servers are killed and
    /// started again, one after the other. Meanwhile one consumer reads the log by cursor.
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
        let link = try Load(ports: ports, connections: load.connections)
        link.survivesKills = true
        let reader = LogReader(ports: ports, key: key)
        let requests = load.before + load.measured
        let killAfter = max(requests.count / Self.kills, 1)
        var kills = 0
        try link.exchange(requests.count) { number in
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
        guard read.purchases == load.before.count else {
            throw BenchFailure("\(text): events are missing")
        }
        return text
    }

    // MARK: -

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

/// Checks every few milliseconds which statements wait for a lock.
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

/// Reads customers, one after the other at each server in turn, until it is stopped.
final class CustomerReader: @unchecked Sendable {
    private static let readsAtOnce = 10

    private let lock = NSLock()
    private var isStopped = false
    private var count = 0
    private var failure: (any Error)?
    private let ended = DispatchSemaphore(value: 0)

    /// - Parameter customers: the customers to read. If empty, nothing is read.
    init(_ customers: [String], key: String, ports: [UInt16]) {
        Thread.detachNewThread { [self] in
            do { try read(customers, key, ports) } catch { failure = error }
            ended.signal()
        }
    }

    private func read(_ customers: [String], _ key: String, _ ports: [UInt16]) throws {
        guard !customers.isEmpty else { return }
        let link = try Load(ports: ports, connections: ports.count)
        while !lock.withLock({ isStopped }) {
            let first = count
            try link.exchange(Self.readsAtOnce) {
                let customer = customers[(first + $0) % customers.count]
                return HTTPRequestBytes.get("/v1/customers/\(customer)", key: key)
            }
            count += Self.readsAtOnce
        }
    }

    /// Stops, and returns how many customers were read. Throws if a server refused a request.
    func stop() throws -> Int {
        lock.withLock { isStopped = true }
        ended.wait()
        if let failure { throw failure }
        return count
    }
}
