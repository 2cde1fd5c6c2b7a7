/// The differences between the SQL of the engines: the names of types, and the statements by which
/// a transaction locks out others. Statements that work on rows use the same text for all engines.
package enum Dialect: Hashable, Sendable {
    case sqlite
    case postgres

    var integer: String { self == .sqlite ? "INTEGER" : "BIGINT" }
    var bytes: String { self == .sqlite ? "BLOB" : "BYTEA" }
    /// The type of a text column. SQLite and PostgreSQL compare columns of this type byte by byte,
    /// so that both sort alike.
    var text: String { self == .sqlite ? "TEXT" : "TEXT COLLATE \"C\"" }
    /// The time of the database's machine, in milliseconds since 1970. All servers get the same
    /// time from this expression, even if their own clocks are wrong.
    package var clock: String {
        switch self {
        case .sqlite: "CAST((julianday('now') - 2440587.5) * 86400000 AS BIGINT)"
        case .postgres: "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
        }
    }

    /// A clause to append to a SELECT: locks the selected rows for this transaction and skips rows
    /// that another transaction has locked. Empty on SQLite, which has only one writer.
    var skippingLockedRows: String { self == .sqlite ? "" : "FOR UPDATE SKIP LOCKED" }

    /// A clause to append to a SELECT with a join: like ``skippingLockedRows``, but locks only the
    /// rows of one table.
    func skippingLockedRows(of table: String) -> String {
        self == .sqlite ? "" : "FOR UPDATE OF \(table) SKIP LOCKED"
    }

    /// A statement that deletes all rows of a table that no other table references, and releases
    /// its disk space.
    func truncateTable(_ table: String) -> String {
        self == .sqlite ? "DELETE FROM \(table)" : "TRUNCATE \(table)"
    }

    /// Disables the statement timeout for the current transaction.
    package static let withoutStatementTimeout = "SET LOCAL statement_timeout = 0"

    /// Statements that disable the lock timeout, so that a transaction waits as long as necessary:
    /// for example while another server migrates the schema.
    var withoutLockTimeout: [String] { self == .sqlite ? [] : ["SET LOCAL lock_timeout = 0"] }

    /// Statements that limit how long the rest of a transaction waits for each lock.
    func withLockTimeout(seconds: Int) -> [String] {
        self == .sqlite ? [] : ["SET LOCAL lock_timeout = '\(seconds)s'"]
    }

    /// Statements that prevent all other writes to the given tables until the transaction ends,
    /// however long it takes. These must be the first statements of the transaction. On PostgreSQL,
    /// the first statement after them takes the snapshot. So the snapshot includes everything that
    /// was written before the locks were granted. Empty on SQLite, which has only one writer.
    func lockTables(_ tables: [String]) -> [String] {
        guard self == .postgres else { return [] }
        return [
            Self.withoutStatementTimeout, "SET LOCAL idle_in_transaction_session_timeout = '60s'",
            "LOCK TABLE \(tables.joined(separator: ", ")) IN EXCLUSIVE MODE",
        ]
    }
}
