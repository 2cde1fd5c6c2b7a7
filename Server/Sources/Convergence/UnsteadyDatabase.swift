import Storage
import Synchronization

/// A database as a server that may die at any moment sees it: before a transaction, and after its
/// commit but before it knows of that. And one whose machine's clock is the trial's.
struct UnsteadyDatabase: Database {
    let database: any Database
    let power: Power
    let commits: Commits
    /// Milliseconds since 1970.
    let clock: @Sendable () -> Int64

    var dialect: Dialect { database.dialect }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await power.step(.beforeCommit)
        let clock = clock
        defer { commits.add() }
        let value = try await database.write { connection in
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

/// A connection to a machine whose clock is the trial's: leases run out in virtual time.
private struct TimedConnection: Connection {
    private static let question = "SELECT \(Dialect.sqlite.clock)"

    let connection: any Connection
    let clock: @Sendable () -> Int64

    var dialect: Dialect { connection.dialect }

    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row] {
        if sql == Self.question { return [Row([.integer(clock())])] }
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

/// How often something was written, so that what was read before need not be read again.
final class Commits: Sendable {
    private let number = Atomic(0)

    var count: Int { number.load(ordering: .relaxed) }
    func add() { number.add(1, ordering: .relaxed) }
}

/// Whether a server's process lives. What it does is a row of steps, and it may die at each.
final class Power: Sendable {
    /// Between which two things a server dies.
    enum Step: String, Sendable, CaseIterable {
        case beforeRead = "crash before a read"
        case beforeCommit = "crash before a commit"
        case afterCommit = "crash after a commit"
        case atQuestion = "crash at a question"
    }

    private struct State: Sendable {
        var isOn = true
        var odds: Double
        var lots: Lots
        var diedAt: Step?
    }

    private let state: Mutex<State>
    /// Lets others act between two steps.
    private let between: @Sendable () async -> Void

    init(odds: Double, _ lots: Lots, between: @escaping @Sendable () async -> Void) {
        state = Mutex(State(odds: odds, lots: lots))
        self.between = between
    }

    var isOn: Bool { state.withLock(\.isOn) }
    var diedAt: Step? { state.withLock(\.diedAt) }

    /// From now on it dies no more by itself.
    func steady() { state.withLock { $0.odds = 0 } }

    func turnOff() { state.withLock { $0.isOn = false } }

    /// A step, or the end.
    func step(_ step: Step) async throws {
        if step != .afterCommit { await between() }
        let lives = state.withLock { state in
            guard state.isOn else { return false }
            guard state.odds > 0, state.lots.happens(state.odds) else { return true }
            state.isOn = false
            state.diedAt = step
            return false
        }
        guard lives else { throw StorageFailure("the process is dead", kind: .unavailable) }
    }
}
