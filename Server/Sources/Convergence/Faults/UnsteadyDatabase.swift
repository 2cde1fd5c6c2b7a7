import Storage
import Synchronization

/// A database as seen by a server that may crash at any moment. The server may crash before a
/// transaction, or after the commit but before it knows of the commit. The clock of the database's
/// machine is the trial's clock.
struct UnsteadyDatabase: DatabaseDriver {
    let database: any DatabaseDriver
    let power: ServerProcess
    let commits: CommitCounter
    /// The trial's clock, in milliseconds since 1970.
    let clock: @Sendable () -> Int64

    var dialect: Dialect { database.dialect }

    func write<Value: Sendable>(
        _ mode: WriteMode, _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await power.step(.beforeCommit)
        let clock = clock
        defer { commits.add() }
        let value = try await database.write(mode) { connection in
            try body(TimedConnection(connection: connection, clock: clock))
        }
        try await power.step(.afterCommit)
        return value
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await power.step(.beforeRead)
        let clock = clock
        return try await database.read { connection in
            try body(TimedConnection(connection: connection, clock: clock))
        }
    }

    func close() { database.close() }
}

/// A connection to a machine whose clock is the trial's clock. So leases expire in virtual time.
private struct TimedConnection: Connection {
    private static let clockQuery = "SELECT \(Dialect.sqlite.clock)"

    let connection: any Connection
    let clock: @Sendable () -> Int64

    var dialect: Dialect { connection.dialect }

    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row] {
        if sql == Self.clockQuery { return [Row([.integer(clock())])] }
        return try connection.rows(sql, values)
    }

    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int {
        try connection.run(sql, values)
    }

    func rowsEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [[Row]] {
        try connection.rowsEach(sql, sets)
    }

    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int] {
        try connection.runEach(sql, sets)
    }
}

/// Counts commits. Values that were read stay valid while the count is the same.
final class CommitCounter: Sendable {
    private let number = Atomic(0)

    var count: Int { number.load(ordering: .relaxed) }
    func add() { number.add(1, ordering: .relaxed) }
}

/// Whether a server's process is running. Its work is a sequence of steps, and the process may
/// crash at each step.
final class ServerProcess: Sendable {
    /// The steps before or after which a server can crash.
    enum Step: String, Sendable, CaseIterable {
        case beforeRead = "crash before a read"
        case beforeCommit = "crash before a commit"
        case afterCommit = "crash after a commit"
        case atRequest = "crash at a question"
    }

    private struct State: Sendable {
        var isOn = true
        var odds: Double
        var lots: TrialRandom
        var crashedAt: Step?
    }

    private let state: Mutex<State>
    /// Lets other servers act between two steps.
    private let interleave: @Sendable () async -> Void

    init(odds: Double, _ lots: TrialRandom, between: @escaping @Sendable () async -> Void) {
        state = Mutex(State(odds: odds, lots: lots))
        self.interleave = between
    }

    var isOn: Bool { state.withLock(\.isOn) }
    var crashedAt: Step? { state.withLock(\.crashedAt) }

    /// Ends the random crashes of the process.
    func stopCrashing() { state.withLock { $0.odds = 0 } }

    func turnOff() { state.withLock { $0.isOn = false } }

    /// Takes a step. Throws if the process crashes at this step, or is not running.
    func step(_ step: Step) async throws {
        if step != .afterCommit { await interleave() }
        let lives = state.withLock { state in
            guard state.isOn else { return false }
            guard state.odds > 0, state.lots.happens(state.odds) else { return true }
            state.isOn = false
            state.crashedAt = step
            return false
        }
        guard lives else { throw StorageFailure("the process is not running", kind: .unavailable) }
    }
}
