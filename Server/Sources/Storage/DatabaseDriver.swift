import Ledger

/// Re-exported for drivers, which import no other module of this package.
package typealias ExponentialBackoff = Ledger.ExponentialBackoff

/// A database engine: SQLite or PostgreSQL.
///
/// A transaction is a synchronous closure: it contains no `await`, and either all of its rows are
/// written or none. When `write` returns, the rows survive a power failure.
///
/// A closure may run several times: because of a conflict with another transaction, or because the
/// connection was lost. If the connection was lost during the commit, the first run may have been
/// committed already. The closure must therefore base its decisions on the rows it reads, and be
/// idempotent. The value returned by a repeated run may say that nothing was new.
package protocol DatabaseDriver: Sendable {
    var dialect: Dialect { get }

    /// Runs a closure in a transaction that may change rows. If the closure throws, the transaction
    /// is rolled back and the error is rethrown.
    func write<Value: Sendable>(
        _ mode: WriteMode, _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value

    /// Runs a closure on one consistent snapshot of all rows.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value

    /// Runs a closure on one consistent snapshot, like ``read(_:)``. Use this function for closures
    /// that may read millions of rows: it does not occupy a thread that other requests need.
    func scan<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value

    /// Waits for running transactions to finish, then closes all files and sockets.
    func close()
}

extension DatabaseDriver {
    /// Runs a closure in a serializable transaction.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value { try await write(.serializable, body) }

    package func scan<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value { try await read(body) }
}

/// A connection within a transaction. Parameters are numbered from `$1`, in the order of their
/// first appearance in the SQL text.
package protocol Connection {
    var dialect: Dialect { get }

    /// Runs a statement and returns its rows.
    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row]

    /// Runs a statement and returns the number of rows it changed.
    @discardableResult
    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int

    /// Runs one query once for each set of values, and returns the rows of each run. If the engine
    /// is remote, the runs are sent in one batch.
    func rowsEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [[Row]]

    /// Runs one statement once for each set of values, and returns the number of rows each run
    /// changed. Stops at the first failure. If the engine is remote, the runs are sent in one
    /// batch.
    @discardableResult
    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int]
}

/// The value of one column in one row.
package enum Value: Hashable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])

    package static func text(_ text: String?) -> Value { text.map { .text($0) } ?? .null }
    package static func integer(_ number: Int64?) -> Value {
        number.map { .integer($0) } ?? .null
    }
}

/// One row of a result, with its columns in the order of the query. A ``ColumnReader`` reads the
/// columns.
package struct Row: Hashable, Sendable {
    package var values: [Value]

    package init(_ values: [Value]) { self.values = values }
}
