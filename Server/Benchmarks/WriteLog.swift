import Storage
import Synchronization

/// One row that a statement wrote.
struct WrittenRow: Sendable {
    var sql: String
    var values: [Value]

    /// The table that the statement inserts into.
    var table: Substring {
        sql.dropFirst("INSERT INTO ".count).prefix { $0 != " " }
    }
}

/// Records the rows that were written, each once, in order.
final class WriteLog: Sendable {
    private let entries = Mutex<[WrittenRow]>([])

    var rows: [WrittenRow] { entries.withLock { $0 } }

    func add(_ sql: String, _ values: [Value], changed: Int) {
        guard changed > 0, sql.hasPrefix("INSERT INTO") else { return }
        entries.withLock { $0.append(WrittenRow(sql: sql, values: values)) }
    }
}

/// A database that records what is written to it.
final class RecordingDatabase: DatabaseDriver {
    private let database: any DatabaseDriver
    private let log: WriteLog

    init(_ database: any DatabaseDriver, _ log: WriteLog) {
        (self.database, self.log) = (database, log)
    }

    var dialect: Dialect { database.dialect }

    func write<Answer: Sendable>(
        _ mode: WriteMode, _ body: @escaping @Sendable (any Connection) throws -> Answer
    ) async throws -> Answer {
        try await database.write(mode) { [log] in
            try body(RecordingConnection(connection: $0, log: log))
        }
    }

    func read<Answer: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Answer
    ) async throws -> Answer {
        try await database.read(body)
    }

    func close() { database.close() }
}

private struct RecordingConnection: Connection {
    let connection: any Connection
    let log: WriteLog

    var dialect: Dialect { connection.dialect }

    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row] {
        try connection.rows(sql, values)
    }

    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int {
        let changed = try connection.run(sql, values)
        log.add(sql, values, changed: changed)
        return changed
    }

    func rowsEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [[Row]] {
        try connection.rowsEach(sql, sets)
    }

    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int] {
        let counts = try connection.runEach(sql, sets)
        for (values, changed) in zip(sets, counts) { log.add(sql, values, changed: changed) }
        return counts
    }
}

/// A database that counts its commits.
final class CountingDatabase: DatabaseDriver {
    private let database: any DatabaseDriver
    private let count = Atomic<Int>(0)

    init(_ database: any DatabaseDriver) { self.database = database }

    var commits: Int { count.load(ordering: .relaxed) }
    var dialect: Dialect { database.dialect }

    func write<Answer: Sendable>(
        _ mode: WriteMode, _ body: @escaping @Sendable (any Connection) throws -> Answer
    ) async throws -> Answer {
        count.add(1, ordering: .relaxed)
        return try await database.write(mode, body)
    }

    func read<Answer: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Answer
    ) async throws -> Answer {
        try await database.read(body)
    }

    func close() { database.close() }
}
