import Ledger

/// What Perennial keeps, over any engine: the schema, the SQL, and rows as values. No other module
/// writes SQL.
package struct Store: Sendable {
    package let database: any Database
    let commits: GroupCommit
    let rules: StoreRules

    /// - Parameter rules: by which it is decided when to ask the store, and what time alone does.
    package init(_ database: any Database, rules: StoreRules = StoreRules()) {
        var rules = rules
        // What is remembered of one database says nothing of another.
        rules.formerIDs = FormerIDs()
        self.database = database
        self.rules = rules
        commits = GroupCommit(database, rules)
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
        try await commits.write { [rules] in try body(StoreTransaction($0, rules)) }
    }

    /// Runs a closure that only reads, on one consistent state.
    package func reading<Value: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws -> Value
    ) async throws -> Value {
        try await database.read { [rules] in try body(StoreTransaction($0, rules)) }
    }
}

/// The verbs on rows, within one transaction.
package struct StoreTransaction {
    let connection: any Connection
    let rules: StoreRules

    /// - Parameter connection: within a transaction, which ``Store`` begins and ends.
    package init(_ connection: any Connection, _ rules: StoreRules = StoreRules()) {
        self.connection = connection
        self.rules = rules
    }

    var checkRules: CheckRules { rules.checks }
    var dialect: Dialect { connection.dialect }
}

/// What rows follow from, beside the documents.
package struct StoreRules: Sendable {
    package var checks: CheckRules
    /// Of an app that is not there, the usual ones.
    package var access: [AppID: AccessRules]
    /// Apps whose customers are told before their terms end.
    package var reminding: Set<AppID>
    /// Apps whose customers have wallets.
    package var wallets: [AppID: WalletRules]
    /// Apps whose account tokens are no ids of customers: they name nobody.
    package var withForeignTokens: Set<AppID>
    /// The plain hash of an id: 32 bytes. It does not tell upper from lower case. An erasure is
    /// kept as this hash under the app's key.
    package var erasedHash: @Sendable (CustomerID) -> [UInt8]
    package var erasureKeying: ErasureKeying
    var formerIDs = FormerIDs()

    /// - Parameter erasedHash: the usual one finds nobody, as no erasure is known by such bytes: it
    ///   is for stores that look for nobody who was erased.
    package init(
        checks: CheckRules = CheckRules(), access: [AppID: AccessRules] = [:],
        reminding: Set<AppID> = [], wallets: [AppID: WalletRules] = [:],
        withForeignTokens: Set<AppID> = [],
        erasedHash: @escaping @Sendable (CustomerID) -> [UInt8] = { Array($0.rawValue.utf8) },
        erasureKeying: ErasureKeying = .none
    ) {
        self.checks = checks
        self.access = access
        self.reminding = reminding
        self.wallets = wallets
        self.withForeignTokens = withForeignTokens
        self.erasedHash = erasedHash
        self.erasureKeying = erasureKeying
    }

    func access(of app: AppID) -> AccessRules { access[app] ?? AccessRules() }

    func hasWallets(_ app: AppID) -> Bool { wallets[app] != nil }
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
