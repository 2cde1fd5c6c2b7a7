import Foundation
import PostgresCluster

/// Two builds of the server on one PostgreSQL: the old one serves, the new one starts beside it and
/// migrates, and both are killed and started again while notifications are sent.
///
/// The acts (starts and kills) run on a thread of their own, so that requests arrive meanwhile.
/// Only the acts use ``servers``; the lock guards everything that both threads use.
final class UpgradeDrill: @unchecked Sendable {
    private static let requestsAtOnce = 200
    private static let pauseSeconds = 0.01
    /// How long an act waits until the share of the load before it has been sent.
    private static let shareSecondsMax = 120.0

    private enum Side: String {
        case old
        case new
    }

    private let programs: [Side: Programs]
    private let database: String
    private let requests: [[UInt8]]
    private let purchases: Int
    private let connections: Int
    private var clock: RunningProgram?
    private var servers: [Side: RunningProgram] = [:]

    private let lock = NSLock()
    private var rows = UpgradeTable()
    /// The number of requests that may be sent already. The rest is for later acts.
    private var allowed = 0
    /// The number of different requests that were sent.
    private var unique = 0
    private var sent = 0
    private var acknowledged = 0
    private var refusals = 0
    private var hasEnded = false
    private var isAborted = false
    private var failure: (any Error)?

    init(old: Programs, new: Programs, database: String, _ load: ServersLoad) {
        programs = [.old: old, .new: new]
        self.database = database
        requests = load.before + load.measured
        purchases = load.before.count
        connections = load.connections
    }

    // MARK: - The drill

    /// Upgrades, kills each server the given number of times, and compares what is stored with what
    /// was sent.
    ///
    /// - Throws: ``BenchFailure`` if a program does not start, or if no server responds.
    func run(kills: Int) throws -> UpgradeTable {
        let key = try programs(of: .old).createKey(database)
        let before = try SchemaState(database)
        let check = try programs(of: .new).run(["check", "--upgrade"], on: database)
        rows.add("the old build makes the database: schema version \(before.version)")
        for line in check.output.split(separator: "\n") { rows.add("  \(line)") }
        guard check.status == 0 else {
            throw BenchFailure("perennial check --upgrade: \(check.output)")
        }
        guard !check.output.contains("stop those of a schema version") else {
            rows.add("the new build excludes the old one: stop all servers for this upgrade")
            return rows
        }
        clock = try programs(of: .new).simulate()
        defer {
            for server in servers.values { server.stop() }
            clock?.stop()
        }
        let ports = (old: try Sockets.freePort(), new: try Sockets.freePort())
        try start(.old, at: ports.old, "the old server starts")
        try send(to: [ports.old]) { drill in
            try drill.wait(forShare: 0.2)
            try drill.start(.new, at: ports.new, "the new server starts beside it, and migrates")
            try drill.wait(forShare: 0.3)
        }
        let after = try SchemaState(database)
        let canRestart = after.version == before.version || before.namesOldest
        rows.add(Self.text(before, after))
        let reader = LogReader(
            ports: canRestart ? [ports.old, ports.new] : [ports.new], key: key)
        let sides: [Side] = canRestart ? [.old, .new] : [.new]
        try send(to: [ports.old, ports.new]) { drill in
            for number in 0..<kills {
                for side in number.isMultiple(of: 2) ? sides : sides.reversed() {
                    try drill.kill(side, at: side == .old ? ports.old : ports.new)
                }
                try drill.wait(forShare: 0.3 + 0.6 * Double(number + 1) / Double(kills))
            }
            drill.kill(.old)
            drill.add("the old server is killed, and not started again")
            try drill.wait(forShare: 1)
        }
        let read = try reader.finish()
        try compare(read)
        return rows
    }

    private static func text(_ before: SchemaState, _ after: SchemaState) -> String {
        let versions = "schema version \(before.version) → \(after.version): "
        if before.version == after.version {
            return versions + "both builds have the same tables, and both are killed"
        }
        return versions
            + (before.namesOldest
                ? "the old build knows which newer versions it can use, and both are killed"
                : "the old build refuses every newer version, so it cannot start again after a "
                    + "kill; only the new one is killed")
    }

    private func compare(_ read: (count: Int, purchases: Int)) throws {
        let stored = try Administration.run("SELECT count(*) FROM documents", at: database) ?? ""
        let verify = try programs(of: .new).run(["rebuild", "--verify"], on: database)
        let last = verify.output.split(separator: "\n").first.map(String.init) ?? "no output"
        rows.add(
            "stored: \(stored) of \(requests.count) notifications",
            is: stored == "\(requests.count)")
        rows.add(
            "log: \(read.count) events in order and without gap, of \(read.purchases) of "
                + "\(purchases) purchases", is: read.purchases == purchases)
        rows.add("refused: \(refusals) of \(sent) requests", is: refusals == 0)
        // Differences are allowed: a new build may interpret documents better.
        rows.add("rebuild --verify of the new build: \(last)")
    }

    // MARK: - Acts

    private func programs(of side: Side) throws -> Programs {
        guard let found = programs[side] else { throw BenchFailure("no \(side.rawValue) build") }
        return found
    }

    private func start(_ side: Side, at port: UInt16, _ name: String) throws {
        guard let clock else { throw BenchFailure("the simulator does not run") }
        do {
            let server = try programs(of: side).serve(database, clock: clock, port: port)
            servers[side] = server
            add("\(name): ready after \(String(format: "%.1f", server.startSeconds)) s")
        } catch {
            throw BenchFailure("the \(side.rawValue) build did not start (\(name)): \(error)")
        }
    }

    private func kill(_ side: Side) {
        if let server = servers[side] { _ = Foundation.kill(server.id, SIGKILL) }
    }

    private func kill(_ side: Side, at port: UInt16) throws {
        kill(side)
        try start(side, at: port, "the \(side.rawValue) server is killed and started again")
    }

    /// Adds a row with the counts of this moment.
    private func add(_ text: String) {
        lock.withLock {
            let line = "\(text); \(acknowledged) acknowledged, \(refusals) refused"
            rows.add(line)
            Progress.report("  \(line)")
        }
    }

    /// Allows a share of the load, and waits until it has been sent.
    private func wait(forShare share: Double) throws {
        let count = Int(Double(requests.count) * share)
        lock.withLock { allowed = max(allowed, count) }
        let deadline = Date(timeIntervalSinceNow: Self.shareSecondsMax)
        while lock.withLock({ unique < count }) {
            guard Date() < deadline, !lock.withLock({ isAborted }) else {
                throw BenchFailure("\(count) notifications were not accepted in time")
            }
            Thread.sleep(forTimeInterval: Self.pauseSeconds)
        }
    }

    // MARK: - The load

    /// Sends requests to servers until the acts have ended. If all allowed requests are sent, sends
    /// them again, as Apple may.
    private func send(
        to ports: [UInt16], during acts: @escaping @Sendable (UpgradeDrill) throws -> Void
    ) throws {
        let link = try Load(ports: ports, connections: connections)
        link.survivesKills = true
        lock.withLock { hasEnded = false }
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [self] in
            do { try acts(self) } catch { lock.withLock { failure = error } }
            lock.withLock { hasEnded = true }
            ended.signal()
        }
        let outcome = Result { try sendUntilEnd(link) }
        if case .failure = outcome { lock.withLock { isAborted = true } }
        ended.wait()
        if let failure = lock.withLock({ failure }) { throw failure }
        try outcome.get()
        if link.refusals > 0 { rows.add("  the first refusal: \(link.firstRefusal.prefix(400))") }
    }

    private func sendUntilEnd(_ link: Load) throws {
        var refusedBefore = 0
        while !lock.withLock({ hasEnded }) {
            try link.exchange(Self.requestsAtOnce) { _ in next() }
            lock.withLock {
                acknowledged += Self.requestsAtOnce
                refusals += link.refusals - refusedBefore
            }
            refusedBefore = link.refusals
        }
    }

    private func next() -> [UInt8] {
        lock.withLock {
            sent += 1
            guard unique < max(allowed, 1) else { return requests[sent % unique] }
            unique += 1
            return requests[unique - 1]
        }
    }
}

/// What a database records about its schema.
private struct SchemaState {
    var version: Int
    /// Whether the program that made the database records which older programs can use it, so that
    /// it also reads what newer programs record.
    var namesOldest: Bool

    init(_ database: String) throws {
        let version = try Administration.run(
            "SELECT max(version) FROM schema_versions", at: database)
        let columns = try Administration.run(
            "SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('schema_versions') "
                + "AND attname = 'oldest_version' AND NOT attisdropped", at: database)
        self.version = version.flatMap { Int($0) } ?? 0
        namesOldest = columns == "1"
    }
}

/// The rows of a drill, in order.
struct UpgradeTable {
    private var lines: [String] = []
    /// Whether every comparison had the expected result.
    private(set) var isGood = true

    var text: String { lines.joined(separator: "\n") }

    mutating func add(_ line: String) { lines.append(line) }

    mutating func add(_ line: String, is good: Bool) {
        lines.append((good ? "ok    " : "WRONG ") + line)
        isGood = isGood && good
    }
}
