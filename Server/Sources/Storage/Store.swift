import Ledger

/// What Perennial keeps, over any engine: the schema, the SQL, and rows as values. No other module
/// writes SQL.
package struct Store: Sendable {
    package let database: any Database
    let commits: GroupCommit
    let checkRules: CheckRules

    package init(_ database: any Database, checkRules: CheckRules = CheckRules()) {
        self.database = database
        self.checkRules = checkRules
        commits = GroupCommit(database, checkRules)
    }

    /// Runs a closure in a transaction: all that it writes is kept, or nothing. What it throws
    /// undoes it and is thrown on. It may be run several times: see ``Database``.
    ///
    /// Closures that come at the same time share one commit; each returns only after that.
    ///
    /// - Throws: besides what the closure throws, ``StorageFailure`` of kind `busy` where too many
    ///   wait.
    package func transaction<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws -> Value {
        try await commits.write { [checkRules] in try body(StoreTransaction($0, checkRules)) }
    }

    /// Runs a closure that only reads, on one consistent state.
    package func reading<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws -> Value {
        try await database.read { [checkRules] in try body(StoreTransaction($0, checkRules)) }
    }
}

/// The verbs on rows, within one transaction.
package struct StoreTransaction {
    let connection: any Connection
    let checkRules: CheckRules

    /// - Parameter connection: within a transaction, which ``Store`` begins and ends.
    package init(_ connection: any Connection, _ checkRules: CheckRules = CheckRules()) {
        self.connection = connection
        self.checkRules = checkRules
    }
}

extension Environment {
    /// As the database holds it.
    static func stored(_ text: String) throws(StorageFailure) -> Environment {
        guard let environment = Environment(rawValue: text) else {
            throw StorageFailure("unknown environment \(text)")
        }
        return environment
    }
}
