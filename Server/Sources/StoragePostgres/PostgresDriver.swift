import Foundation
import Storage
import Synchronization

/// A PostgreSQL server, or several servers. One of them accepts writes.
///
/// Each connection has its own thread. If two transactions conflict, one of them is run again: see
/// ``WriteMode``. A transaction is also run again if its connection is lost, even during the
/// commit, when it is unknown whether the commit succeeded: see ``DatabaseDriver``.
package final class PostgresDriver: DatabaseDriver {
    /// The number of connections, how many transactions may wait for a connection, and how long a
    /// write may wait for a lock.
    package struct Limits: Hashable, Sendable {
        /// The number of connections for writes. With more connections, the cost of conflicts would
        /// be greater than the gain from concurrency.
        package var writers = 4
        /// The number of connections for reads. Reads have separate connections, so they do not
        /// wait for commits.
        package var readers = 4
        /// The maximum number of waiting reads, and of waiting writes.
        package var waiting = 1_000
        /// How long a writer waits for a lock that another transaction holds, before it fails as
        /// `busy`.
        package var lockWait = Duration.seconds(PostgresConnection.lockSecondsMax)

        package init() {}
    }

    /// The `application_name` that PostgreSQL shows for this process, unless the address contains
    /// another name. The name is `perennial` and a part that no other process has. A process id
    /// would not be unique, because several containers may have the same ids.
    package static let applicationName =
        "perennial-" + String(UInt64.random(in: 0..<1 << 32), radix: 16)

    private let writers: WorkerThreads<Worker>
    private let readers: WorkerThreads<Worker>
    private let watch = ConnectionWatchdog()
    private let onlyReads: Bool

    package let dialect = Dialect.postgres

    /// Parses the address. Connects when the first transaction runs.
    ///
    /// - Parameter url: `postgres://…`, `postgresql://…`, or key-value pairs like
    ///   `host=db dbname=perennial`: all forms that libpq accepts. If there are several hosts, the
    ///   host that accepts writes is used.
    /// - Parameter onlyReads: whether the command has nothing to write. For such a command, the
    ///   driver may read a standby if no server accepts writes, and does not repeat a write that
    ///   fails.
    /// - Parameter random: returns 0 ..< 1, for the pauses before a transaction is run again.
    /// - Throws: ``StorageFailure`` if the address cannot be parsed.
    package init(
        url: String, limits: Limits = Limits(), onlyReads: Bool = false,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) throws(StorageFailure) {
        let server = Server(
            address: try PostgresAddress(url), watch: watch, readsStandby: onlyReads,
            lockWait: limits.lockWait)
        self.onlyReads = onlyReads
        func threads(_ count: Int, for purpose: PostgresConnection.Purpose) -> WorkerThreads<Worker>
        {
            WorkerThreads(threadsMax: count, queueMax: limits.waiting) {
                Worker(server: server, purpose: purpose, random: random)
            }
        }
        writers = threads(limits.writers, for: .writing)
        readers = threads(limits.readers, for: .reading)
    }

    deinit {
        writers.shut()
        readers.shut()
        watch.close()
    }

    package func write<Value: Sendable>(
        _ mode: WriteMode, _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await run(body, .writing(mode), on: writers)
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await run(body, .reading, on: readers)
    }

    private func run<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value,
        _ mode: PostgresConnection.TransactionMode, on threads: WorkerThreads<Worker>
    ) async throws -> Value {
        let isPatient = !onlyReads || threads === readers
        return try await threads.run { [weak threads] worker in
            try worker.run(body, mode) { !isPatient || threads?.isShut ?? true }
        }
    }

    /// Waits for running transactions to finish. Waiting transactions fail.
    package func close() {
        let (writing, reading) = (writers.shut(), readers.shut())
        watch.close()
        writers.waitForEnd(of: writing)
        readers.waitForEnd(of: reading)
    }
}

/// Connects to the server, and keeps track of outages.
private final class Server: Sendable {
    private let address: PostgresAddress
    private let watch: ConnectionWatchdog
    private let readsStandby: Bool
    private let lockWait: Duration
    private let outage = Mutex(Outage())

    init(
        address: PostgresAddress, watch: ConnectionWatchdog, readsStandby: Bool, lockWait: Duration
    ) {
        self.address = address
        self.watch = watch
        self.readsStandby = readsStandby
        self.lockWait = lockWait
    }

    static var now: Double { ConnectionWatchdog.now }

    /// How long the server has been unreachable, in seconds. 0 if the server is reachable.
    var secondsAway: Double { outage.withLock { $0.seconds(at: Self.now) } }

    func connect(for purpose: PostgresConnection.Purpose) throws(StorageFailure)
        -> PostgresConnection
    {
        let start = Self.now
        if let refusal = outage.withLock({ $0.refusal(at: start) }) { throw refusal }
        do {
            let session = try PostgresConnection(
                address, for: purpose, watch: watch, readsStandby: readsStandby,
                lockWait: lockWait)
            recordResponse()
            return session
        } catch {
            outage.withLock { $0.recordFailure(error, ofTrialFrom: start, at: Self.now) }
            throw error
        }
    }

    func recordResponse() { outage.withLock { $0.recordResponse(at: Self.now) } }

    /// Whether a session was opened before the server stopped responding. A session from that time
    /// would hang again.
    func isStale(_ session: PostgresConnection) -> Bool { session.openedAt < watch.lastShutdownAt }
}

/// The state of one thread: its connection, and the values that are needed for a new connection.
private final class Worker {
    private let server: Server
    private let purpose: PostgresConnection.Purpose
    private let random: @Sendable () -> Double
    private var session: PostgresConnection?

    init(
        server: Server, purpose: PostgresConnection.Purpose,
        random: @escaping @Sendable () -> Double
    ) {
        self.server = server
        self.purpose = purpose
        self.random = random
    }

    /// Runs a transaction, with retries, until it commits or fails permanently.
    func run<Value>(
        _ body: (any Connection) throws -> Value, _ mode: PostgresConnection.TransactionMode,
        isEnding: () -> Bool
    ) throws -> Value {
        var runs = 0
        let start = Server.now
        while true {
            runs += 1
            do {
                let value = try openSession().transaction(mode, body)
                server.recordResponse()
                return value
            } catch {
                // Uses the failure that the database reported, not the error that the closure threw
                // because of that failure. If there is no session, no transaction has begun, so the
                // error comes from the attempt to connect.
                let wasConnected = session != nil
                let failure = wasConnected ? session?.failure : error as? StorageFailure
                if failure?.kind == .unavailable || session?.isLost == true { session = nil }
                guard let failure, !isEnding(),
                    case .again(let seconds) = Retry.decision(
                        after: failure, runs: runs, of: mode.runsMax,
                        seconds: max(Server.now - start, wasConnected ? 0 : server.secondsAway),
                        jitter: random())
                else { throw error }
                Thread.sleep(forTimeInterval: seconds)
            }
        }
    }

    private func openSession() throws(StorageFailure) -> PostgresConnection {
        if let session, !server.isStale(session) { return session }
        session = nil
        let opened = try server.connect(for: purpose)
        session = opened
        return opened
    }
}
