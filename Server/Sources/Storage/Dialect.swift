/// Where the SQL of the engines differs: in the definition of tables, and in how a transaction
/// keeps others out. The statements that work on rows are the same text for all.
package enum Dialect: Hashable, Sendable {
    case sqlite
    case postgres

    var integer: String { self == .sqlite ? "INTEGER" : "BIGINT" }
    var bytes: String { self == .sqlite ? "BLOB" : "BYTEA" }
    /// Compared byte by byte on both, so that both sort alike.
    var text: String { self == .sqlite ? "TEXT" : "TEXT COLLATE \"C\"" }
    /// Behind the closing parenthesis of a table.
    var strict: String { self == .sqlite ? "STRICT" : "" }
    /// The same for tables of small rows, which SQLite then keeps in the index of their key: one
    /// search where there would be two, and each key once.
    var strictByKey: String { self == .sqlite ? "STRICT, WITHOUT ROWID" : "" }
    /// The same for the table of documents.
    var strictByMonth: String { self == .sqlite ? strict : "PARTITION BY RANGE (signed_at_ms)" }

    /// The time of the database's machine, in milliseconds since 1970: the same for all servers,
    /// however wrong their own clocks are.
    package var clock: String {
        switch self {
        case .sqlite: "CAST((julianday('now') - 2440587.5) * 86400000 AS BIGINT)"
        case .postgres: "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
        }
    }

    /// Behind a select: takes the rows for this transaction, and passes over those that another has
    /// taken. SQLite has one writer.
    var takingFreeRows: String { self == .sqlite ? "" : "FOR UPDATE SKIP LOCKED" }

    /// Takes all rows out of a table that no other refers to, and gives their room back.
    func emptying(_ table: String) -> String {
        self == .sqlite ? "DELETE FROM \(table)" : "TRUNCATE \(table)"
    }

    /// Lets the statements of a transaction last as long as they do.
    package static let takingItsTime = "SET LOCAL statement_timeout = 0"

    /// Lets a transaction wait for locks as long as others hold them, as while another server
    /// brings the tables up to date.
    var waitingForLocks: [String] { self == .sqlite ? [] : ["SET LOCAL lock_timeout = 0"] }

    /// The first statement of a transaction that writes beside others, and of one that writes while
    /// nobody else does. Transactions of several servers that add to the same log come in each
    /// other's way, and the longer one always loses: it gets its turn by writing alone. A lock is
    /// waited for in the order of coming, and what the transaction sees is taken after it. Nothing
    /// but speed depends on it.
    package static let besideOthers = "LOCK TABLE turns IN ROW EXCLUSIVE MODE"
    package static let alone = "LOCK TABLE turns IN EXCLUSIVE MODE"

    /// Lets nobody else write to tables until the transaction ends, however long it takes. They
    /// must be its first statements: on PostgreSQL the state that a transaction sees is taken by
    /// the first statement after them, so that it holds all that others wrote before. SQLite has
    /// one writer.
    func holding(_ tables: [String]) -> [String] {
        guard self == .postgres else { return [] }
        return [
            Self.takingItsTime, "SET LOCAL idle_in_transaction_session_timeout = '60s'",
            "LOCK TABLE \(tables.joined(separator: ", ")) IN EXCLUSIVE MODE",
        ]
    }
}
