import CSQLite
import Storage

/// One connection to the file.
///
/// Sendable without a lock, because it is used by one thread at a time: the writer only on the
/// queue of writes, and a reader only by whoever took it out of the pool.
final class SQLiteSession: @unchecked Sendable {
    /// Prepared statements of a connection. With one more, all are forgotten.
    static let statementsMax = 500

    enum Purpose {
        case reading
        case writing

        fileprivate var begin: String {
            switch self {
            case .reading: "BEGIN"
            // Else two writers that have read already could not both go on.
            case .writing: "BEGIN IMMEDIATE"
            }
        }
    }

    private let connection: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]

    /// Opens the file, and makes it where it is not there.
    init(path: String, settings: [String]) throws(StorageFailure) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2(path, &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            let failure = StorageFailure(
                "SQLite: \(path): \(String(cString: sqlite3_errstr(code)))", kind: .unavailable)
            sqlite3_close_v2(opened)
            throw failure
        }
        connection = opened
        sqlite3_extended_result_codes(connection, 1)
        for setting in settings { _ = try rows("PRAGMA \(setting)", []) }
    }

    deinit {
        forgetStatements()
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
            // Some failures end the transaction by themselves.
            if sqlite3_get_autocommit(connection) == 0 { _ = try run("ROLLBACK", []) }
            throw error
        }
    }

    // MARK: - Statements

    /// A statement, prepared once, with its parameters in place.
    private func statement(
        _ sql: String, _ values: [Value]
    ) throws(StorageFailure) -> OpaquePointer {
        let statement = try prepared(sql)
        for (index, value) in values.enumerated() {
            let code = Self.bind(value, to: statement, at: Int32(index + 1))
            guard code == SQLITE_OK else { throw failure(code, sql) }
        }
        return statement
    }

    private func prepared(_ sql: String) throws(StorageFailure) -> OpaquePointer {
        if let known = statements[sql] { return known }
        if statements.count >= Self.statementsMax { forgetStatements() }
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(
            connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let prepared else { throw failure(code, sql) }
        statements[sql] = prepared
        return prepared
    }

    private func forgetStatements() {
        for statement in statements.values { sqlite3_finalize(statement) }
        statements = [:]
    }

    private static func reset(_ statement: OpaquePointer) {
        sqlite3_reset(statement)
        // Else a large document would be held until the statement is used again.
        sqlite3_clear_bindings(statement)
    }

    private func failure(_ code: Int32, _ sql: String) -> StorageFailure {
        let message = String(cString: sqlite3_errmsg(connection))
        return StorageFailure("SQLite: \(message) (\(code)) in \(sql)", kind: Self.kind(of: code))
    }

    private static func kind(of code: Int32) -> StorageFailure.Kind {
        switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_CONSTRAINT: .constraint
        case SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY: .unavailable
        default: .other
        }
    }
}

extension SQLiteSession: Connection {
    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row] {
        let statement = try statement(sql, values)
        defer { Self.reset(statement) }
        let columns = sqlite3_column_count(statement)
        var rows: [Row] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                rows.append(Row((0..<columns).map { Self.value(of: statement, $0) }))
            case SQLITE_DONE: return rows
            case let code: throw failure(code, sql)
            }
        }
    }

    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int {
        let statement = try statement(sql, values)
        defer { Self.reset(statement) }
        let code = sqlite3_step(statement)
        guard code == SQLITE_DONE || code == SQLITE_ROW else { throw failure(code, sql) }
        return Int(sqlite3_changes(connection))
    }

    func rowsEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [[Row]] {
        var answers: [[Row]] = []
        answers.reserveCapacity(sets.count)
        for values in sets { answers.append(try rows(sql, values)) }
        return answers
    }

    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int] {
        var counts: [Int] = []
        counts.reserveCapacity(sets.count)
        for values in sets { counts.append(try run(sql, values)) }
        return counts
    }
}

// MARK: - Values

extension SQLiteSession {
    /// SQLite copies the bytes before the call returns.
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private static func bind(_ value: Value, to statement: OpaquePointer, at place: Int32) -> Int32
    {
        switch value {
        case .null: return sqlite3_bind_null(statement, place)
        case .integer(let number): return sqlite3_bind_int64(statement, place, number)
        case .text(var text):
            return text.withUTF8 { utf8 in
                utf8.withMemoryRebound(to: CChar.self) { characters in
                    // A null pointer would mean null.
                    characters.isEmpty
                        ? sqlite3_bind_text(statement, place, "", 0, transient)
                        : sqlite3_bind_text(
                            statement, place, characters.baseAddress, Int32(characters.count),
                            transient)
                }
            }
        case .bytes(let bytes):
            return bytes.withUnsafeBytes { buffer in
                buffer.isEmpty
                    ? sqlite3_bind_zeroblob(statement, place, 0)
                    : sqlite3_bind_blob(
                        statement, place, buffer.baseAddress, Int32(buffer.count), transient)
            }
        }
    }

    private static func value(of statement: OpaquePointer, _ column: Int32) -> Value {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_NULL: return .null
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(statement, column)
            return .bytes(Array(bytes(at: start, of: statement, column)))
        // A number with a fraction, too: none of our columns holds one.
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
