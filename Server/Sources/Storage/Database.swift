import Ledger

/// For drivers, which see no other module of ours.
package typealias DoublingPauses = Ledger.DoublingPauses

/// A database engine: SQLite and PostgreSQL.
///
/// A transaction is a synchronous closure: no `await` inside, all of its rows or none. When `write`
/// returns, they survive a loss of power.
///
/// A closure may be run several times: another transaction came between, or the connection was
/// lost, even during its commit, so that it stands already. It must decide by the rows it reads,
/// and write so that a repeat leaves the same rows. What a repeat returns may say that nothing was
/// new.
package protocol Database: Sendable {
    var dialect: Dialect { get }

    /// Runs a closure in a transaction that may change rows. What it throws undoes the transaction
    /// and is thrown on.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value

    /// Runs a closure on one consistent state of all rows.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value

    /// Lets running transactions end, then lets go of all files and sockets.
    func close()
}

/// A connection within a transaction. Parameters are numbered, `$1` first, in the order in which
/// they first stand in the text.
package protocol Connection {
    var dialect: Dialect { get }

    /// Runs a statement and returns its rows.
    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row]

    /// Runs a statement and returns how many rows it changed.
    @discardableResult
    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int

    /// Runs one query once for each set of values, and returns the rows of each. Where the engine
    /// is far away, they travel together.
    func rowsEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [[Row]]

    /// Runs one statement once for each set of values, and returns how many rows each run changed.
    /// The first that fails ends it. Where the engine is far away, they travel together.
    @discardableResult
    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int]
}

/// One column of one row.
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

/// One row of an answer, its columns in the order of the query.
package struct Row: Hashable, Sendable {
    package var values: [Value]

    package init(_ values: [Value]) { self.values = values }

    package func integer(_ column: Int) throws(StorageFailure) -> Int64 {
        guard case .integer(let value) = values[column] else {
            throw unexpected(column, "a number")
        }
        return value
    }

    package func text(_ column: Int) throws(StorageFailure) -> String {
        guard case .text(let value) = values[column] else { throw unexpected(column, "text") }
        return value
    }

    /// Nil where the column is null.
    package func optionalInteger(_ column: Int) throws(StorageFailure) -> Int64? {
        if case .null = values[column] { return nil }
        return try integer(column)
    }

    /// Nil where the column is null.
    package func optionalText(_ column: Int) throws(StorageFailure) -> String? {
        if case .null = values[column] { return nil }
        return try text(column)
    }

    package func bytes(_ column: Int) throws(StorageFailure) -> [UInt8] {
        guard case .bytes(let value) = values[column] else { throw unexpected(column, "bytes") }
        return value
    }

    private func unexpected(_ column: Int, _ expected: String) -> StorageFailure {
        StorageFailure("column \(column) holds \(values[column]), expected \(expected)")
    }
}
