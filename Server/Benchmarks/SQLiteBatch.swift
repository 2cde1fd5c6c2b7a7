import CSQLite
import Storage

/// Writes rows into SQLite with its C interface and prepared statements, with the same durability
/// as Perennial.
final class SQLiteBatch {
    private let database: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]
    /// Tells SQLite to copy the bytes before the call returns.
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(path: String) throws {
        var opened: OpaquePointer?
        guard sqlite3_open(path, &opened) == SQLITE_OK, let opened else {
            throw BenchFailure("\(path) cannot be opened")
        }
        database = opened
        for pragma in ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"] {
            try execute("PRAGMA \(pragma)")
        }
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close(database)
    }

    /// Writes the given number of rows in each transaction.
    func write(_ rows: [WrittenRow], each size: Int) throws {
        for first in stride(from: 0, to: rows.count, by: size) {
            try execute("BEGIN IMMEDIATE")
            for row in rows[first..<min(first + size, rows.count)] { try insert(row) }
            try execute("COMMIT")
        }
    }

    private func insert(_ row: WrittenRow) throws {
        let statement = try statement(row.sql)
        for (index, value) in row.values.enumerated() {
            let place = Int32(index + 1)
            switch value {
            case .null: sqlite3_bind_null(statement, place)
            case .integer(let number): sqlite3_bind_int64(statement, place, number)
            case .text(let text):
                sqlite3_bind_text(statement, place, text, Int32(text.utf8.count), Self.transient)
            case .bytes(let bytes):
                sqlite3_bind_blob(statement, place, bytes, Int32(bytes.count), Self.transient)
            }
        }
        guard sqlite3_step(statement) == SQLITE_DONE else { throw failure(row.sql) }
        sqlite3_reset(statement)
    }

    private func statement(_ sql: String) throws -> OpaquePointer {
        if let known = statements[sql] { return known }
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(database, sql, -1, &prepared, nil) == SQLITE_OK, let prepared
        else { throw failure(sql) }
        statements[sql] = prepared
        return prepared
    }

    private func execute(_ sql: String) throws {
        guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
    }

    private func failure(_ sql: String) -> BenchFailure {
        BenchFailure("\(sql): \(String(cString: sqlite3_errmsg(database)))")
    }
}
