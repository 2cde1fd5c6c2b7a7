import CSQLite
import Ledger
import Storage
import StorageSQLite
import Synchronization

/// A query that was run, with its values.
struct LoggedQuery: Sendable {
    var sql: String
    var values: [Value]
}

/// Records the queries for the response about a customer, grouped by customer.
final class ReadLog: Sendable {
    private let entries = Mutex<[[LoggedQuery]]>([])

    var queries: [[LoggedQuery]] { entries.withLock { $0 } }

    /// Reads as the engine does for a response, and records the queries.
    func read(
        _ id: CustomerID, _ app: AppID, _ connection: any Connection
    ) throws(StorageFailure) {
        entries.withLock { $0.append([]) }
        let tx = DatabaseSession(LoggingConnection(connection: connection, log: self))
        if let known = try tx.customers.find(known: id, in: app) {
            _ = try tx.links.timelines(of: known.customer, in: app, environment: .production)
        }
        // Only ids that could be account tokens are looked up as account tokens.
        guard id.rawValue.utf8.count == 36 else { return }
        _ = try tx.links.unlinkedTimelines(token: id.rawValue, in: app, environment: .production)
    }

    fileprivate func add(_ sql: String, _ values: [Value]) {
        entries.withLock { $0[$0.count - 1].append(LoggedQuery(sql: sql, values: values)) }
    }
}

private struct LoggingConnection: Connection {
    let connection: any Connection
    let log: ReadLog

    var dialect: Dialect { connection.dialect }

    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row] {
        log.add(sql, values)
        return try connection.rows(sql, values)
    }

    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int {
        try connection.run(sql, values)
    }

    func rowsEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [[Row]] {
        for values in sets { log.add(sql, values) }
        return try connection.rowsEach(sql, sets)
    }

    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int] {
        try connection.runEach(sql, sets)
    }
}

/// Runs queries with SQLite's C interface and discards the rows.
final class SQLiteReads {
    private let database: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(path: String) throws {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &opened, flags, nil) == SQLITE_OK, let opened else {
            throw BenchFailure("\(path) cannot be opened")
        }
        database = opened
        let cache = "PRAGMA cache_size = -\(SQLiteDriver.cacheKibibytes)"
        try run([[LoggedQuery(sql: cache, values: [])]])
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close(database)
    }

    /// Runs the queries of each customer in a separate transaction.
    func run(_ customers: [[LoggedQuery]]) throws {
        for queries in customers {
            try step(LoggedQuery(sql: "BEGIN", values: []))
            for query in queries { try step(query) }
            try step(LoggedQuery(sql: "COMMIT", values: []))
        }
    }

    private func step(_ query: LoggedQuery) throws {
        let statement = try statement(query.sql)
        defer { sqlite3_reset(statement) }
        for (index, value) in query.values.enumerated() {
            guard case .text(let text) = value else { throw BenchFailure("not text: \(query)") }
            sqlite3_bind_text(
                statement, Int32(index + 1), text, Int32(text.utf8.count), Self.transient)
        }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                for column in 0..<sqlite3_column_count(statement) {
                    _ = sqlite3_column_blob(statement, column)
                }
            case SQLITE_DONE: return
            default:
                throw BenchFailure("\(query.sql): \(String(cString: sqlite3_errmsg(database)))")
            }
        }
    }

    private func statement(_ sql: String) throws -> OpaquePointer {
        if let known = statements[sql] { return known }
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(database, sql, -1, &prepared, nil) == SQLITE_OK, let prepared
        else { throw BenchFailure("\(sql): \(String(cString: sqlite3_errmsg(database)))") }
        statements[sql] = prepared
        return prepared
    }
}
