import CSQLite
import Storage

/// One connection to the database file.
///
/// A connection is Sendable without a lock, because only one thread uses it at a time. Only the
/// serial queue for writes uses the writer. Only the task that took a reader out of the pool uses
/// that reader.
final class SQLiteConnection: @unchecked Sendable {
    /// The maximum number of prepared statements of a connection. If there are more, all are
    /// discarded.
    static let statementsMax = 500
    /// The number of pages that are copied between two checks for cancellation.
    private static let pagesCopiedAtOnce: Int32 = 1_000
    /// The size in bytes to which a write-ahead log is truncated when it begins again, if a server
    /// ships the changes of the database.
    private static let logBytesKept = 67_108_864

    enum Purpose {
        case reading
        case writing

        fileprivate var begin: String {
            switch self {
            case .reading: "BEGIN"
            // With a plain BEGIN, two transactions could both read, and then neither could write.
            case .writing: "BEGIN IMMEDIATE"
            }
        }
    }

    private let connection: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]
    /// The most recently used statements. A search compares them one after the other, which is
    /// faster than hashing SQL text. When the list is full, it is emptied.
    private var recent: [(sql: String, statement: OpaquePointer)] = []
    private static let recentMax = 8
    private let parameters = SQLiteParameters()
    /// Interrupts statements that take too long. Nil if there is no limit.
    private let limit: StatementLimit?

    /// Configures SQLite once for the process. If SQLite is already in use, its configuration stays
    /// unchanged, which does no harm.
    private static let configured = perennial_sqlite_count_no_memory()

    /// Opens the file.
    ///
    /// - Parameters:
    ///   - mayCreate: whether to create the file if the file does not exist.
    ///   - statementSecondsMax: the limit after which a statement is interrupted; nil for no limit.
    ///   - cancellation: interrupts the running statement, and all later statements.
    init(
        path: String, settings: [String], mayCreate: Bool = true,
        statementSecondsMax: Double? = nil, cancellation: Cancellation? = nil
    ) throws(StorageFailure) {
        _ = Self.configured
        var opened: OpaquePointer?
        let creating = mayCreate ? SQLITE_OPEN_CREATE : 0
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | creating
        let code = sqlite3_open_v2(path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            let failure = StorageFailure(
                "SQLite: \(path): \(String(cString: sqlite3_errstr(code)))", kind: .unavailable)
            sqlite3_close_v2(opened)
            throw failure
        }
        connection = opened
        limit = StatementLimit(seconds: statementSecondsMax, cancellation, of: opened)
        sqlite3_extended_result_codes(connection, 1)
        try set(settings)
        // Without these settings, frames that were not shipped yet could be overwritten.
        if SQLiteFile(path).isShipped {
            perennial_sqlite_keep_log(opened)
            try set([
                "wal_autocheckpoint = 0", "journal_size_limit = \(Self.logBytesKept)",
            ])
        }
    }

    /// Moves frames of the write-ahead log into the database file, except frames that a reader
    /// still needs in the log. Returns the number of frames in the log, and the number of moved
    /// frames.
    func checkpoint() throws(StorageFailure) -> (frames: Int64, moved: Int64) {
        let numbers = try rows("PRAGMA wal_checkpoint(PASSIVE)", []).first?.values ?? []
        guard numbers.count == 3, case .integer(let frames) = numbers[1],
            case .integer(let moved) = numbers[2]
        else { throw StorageFailure("SQLite: the write-ahead log could not be moved") }
        return (frames, moved)
    }

    /// Copies all pages of the snapshot of the running transaction into an empty file, unchanged
    /// and with the same numbers.
    ///
    /// - Parameter cancellation: ends the copy after the part that is being copied.
    func copyPages(into path: String, cancellation: Cancellation) throws(StorageFailure) {
        let target = try SQLiteConnection(path: path, settings: [])
        guard let copy = sqlite3_backup_init(target.connection, "main", connection, "main") else {
            throw target.failure(sqlite3_errcode(target.connection), path)
        }
        var code = SQLITE_OK
        while code == SQLITE_OK, !cancellation.isRequested {
            code = sqlite3_backup_step(copy, Self.pagesCopiedAtOnce)
        }
        let end = sqlite3_backup_finish(copy)
        guard code == SQLITE_DONE, end == SQLITE_OK else {
            throw StorageFailure(
                "SQLite: \(path): \(String(cString: sqlite3_errstr(code)))", kind: .unavailable)
        }
    }

    func set(_ settings: [String]) throws(StorageFailure) {
        for setting in settings { _ = try rows("PRAGMA \(setting)", []) }
    }

    deinit {
        discardStatements()
        sqlite3_close_v2(connection)
    }

    /// Runs a closure in a transaction.
    func transaction<Value>(
        for purpose: Purpose, _ body: (any Connection) throws -> Value
    ) throws -> Value {
        _ = try run(purpose.begin, [])
        do {
            let value = try body(self)
            _ = try run("COMMIT", [])
            return value
        } catch {
            // After some failures, SQLite has already rolled back the transaction.
            if sqlite3_get_autocommit(connection) == 0 { _ = try run("ROLLBACK", []) }
            throw error
        }
    }

    // MARK: - Statements

    private func prepared(_ sql: String) throws(StorageFailure) -> OpaquePointer {
        for (known, statement) in recent where known == sql { return statement }
        let statement = try cachedStatement(sql)
        if recent.count == Self.recentMax { recent.removeAll(keepingCapacity: true) }
        recent.append((sql, statement))
        return statement
    }

    private func cachedStatement(_ sql: String) throws(StorageFailure) -> OpaquePointer {
        if let known = statements[sql] { return known }
        if statements.count >= Self.statementsMax { discardStatements() }
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(
            connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let prepared else { throw failure(code, sql) }
        statements[sql] = prepared
        return prepared
    }

    private func discardStatements() {
        recent.removeAll()
        for statement in statements.values { sqlite3_finalize(statement) }
        statements = [:]
    }

    /// Resets the statement and releases its parameters.
    private static func reset(_ statement: OpaquePointer) {
        sqlite3_reset(statement)
        sqlite3_clear_bindings(statement)
    }

    private func failure(_ code: Int32, _ sql: String) -> StorageFailure {
        guard code & 0xFF != SQLITE_NOTADB else {
            return StorageFailure("it is not a SQLite database")
        }
        let message = String(cString: sqlite3_errmsg(connection))
        return StorageFailure("SQLite: \(message) (\(code)) in \(sql)", kind: Self.kind(of: code))
    }

    private static func kind(of code: Int32) -> StorageFailure.Kind {
        switch code & 0xFF {
        // ``StatementLimit`` interrupts a statement, like a statement timeout of PostgreSQL.
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_INTERRUPT: .busy
        case SQLITE_CONSTRAINT: .constraint
        case SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY: .unavailable
        default: .other
        }
    }
}

extension SQLiteConnection: Connection {
    var dialect: Dialect { .sqlite }

    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row] {
        try rows(of: try prepared(sql), sql, values)
    }

    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int {
        try changes(by: try prepared(sql), sql, values)
    }

    func rowsEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [[Row]] {
        guard !sets.isEmpty else { return [] }
        let statement = try prepared(sql)
        var answers: [[Row]] = []
        answers.reserveCapacity(sets.count)
        for values in sets { answers.append(try rows(of: statement, sql, values)) }
        return answers
    }

    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int] {
        guard !sets.isEmpty else { return [] }
        let statement = try prepared(sql)
        var counts: [Int] = []
        counts.reserveCapacity(sets.count)
        for values in sets { counts.append(try changes(by: statement, sql, values)) }
        return counts
    }

    private func rows(
        of statement: OpaquePointer, _ sql: String, _ values: [Value]
    ) throws(StorageFailure) -> [Row] {
        try bind(values, to: statement, sql)
        limit?.beginStatement()
        defer { Self.reset(statement) }
        let columns = sqlite3_column_count(statement)
        var rows: [Row] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                var values: [Value] = []
                values.reserveCapacity(Int(columns))
                for column in 0..<columns { values.append(Self.value(of: statement, column)) }
                rows.append(Row(values))
            case SQLITE_DONE: return rows
            case let code: throw failure(code, sql)
            }
        }
    }

    private func changes(
        by statement: OpaquePointer, _ sql: String, _ values: [Value]
    ) throws(StorageFailure) -> Int {
        try bind(values, to: statement, sql)
        defer { Self.reset(statement) }
        let code = sqlite3_step(statement)
        guard code == SQLITE_DONE || code == SQLITE_ROW else { throw failure(code, sql) }
        return Int(sqlite3_changes(connection))
    }

    private func bind(
        _ values: [Value], to statement: OpaquePointer, _ sql: String
    ) throws(StorageFailure) {
        let code = parameters.bind(values, to: statement)
        guard code == SQLITE_OK else { throw failure(code, sql) }
    }
}

// MARK: - Values

extension SQLiteConnection {
    private static func value(of statement: OpaquePointer, _ column: Int32) -> Value {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_NULL: return .null
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(statement, column)
            return .bytes(Array(bytes(at: start, of: statement, column)))
        // This case includes floating-point numbers, which no column of Perennial contains.
        default:
            let start = UnsafeRawPointer(sqlite3_column_text(statement, column))
            return .text(String(decoding: bytes(at: start, of: statement, column), as: UTF8.self))
        }
    }

    private static func bytes(
        at start: UnsafeRawPointer?, of statement: OpaquePointer, _ column: Int32
    ) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }
}
