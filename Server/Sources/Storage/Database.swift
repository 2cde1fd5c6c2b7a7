import Ledger
import Reports

/// The persistent state of Perennial, independent of the database engine: the schema, the SQL, and
/// rows as Swift values. No other module writes SQL.
package struct Database: Sendable {
    package let driver: any DatabaseDriver
    let commits: GroupCommit
    /// Commits documents that can be recorded on a snapshot, if the engine has several writers. The
    /// documents that it commits do not wait for other writes.
    let recordings: GroupCommit
    package let rules: DatabaseRules
    let observers: CommitObservers
    /// A copy of the database from which reports are read. Nil if they are read from the database
    /// itself.
    package let copy: (any DatabaseDriver)?

    /// - Parameter rules: the settings that decide when to check purchases with the App Store, and
    ///   which changes the passage of time alone causes.
    /// - Parameter copy: a copy of the database from which reports are read.
    package init(
        _ database: any DatabaseDriver, rules: DatabaseRules = DatabaseRules(),
        copy: (any DatabaseDriver)? = nil
    ) {
        var rules = rules
        // Each database has separate signals, because values cached about one database must not be
        // used for another.
        rules.signals = ChangeSignals()
        self.driver = database
        self.copy = copy
        self.rules = rules
        observers = CommitObservers(database.dialect, rules.signals)
        commits = GroupCommit(database, .serializable, observers)
        recordings =
            database.dialect == .sqlite
            ? commits
            : GroupCommit(
                database, WriteMode(.snapshot, locks: database.dialect.sharedRecording), observers)
    }

    private init(_ other: Database, rules: DatabaseRules) {
        driver = other.driver
        copy = other.copy
        commits = other.commits
        recordings = other.recordings
        observers = other.observers
        self.rules = rules
    }

    /// Returns the same database under the rules of another configuration.
    package func replacing(_ new: DatabaseRules) -> Database {
        var new = new
        new.signals = rules.signals
        return Database(self, rules: new)
    }

    /// Runs a closure in a transaction. Either all of its writes are committed, or none. If the
    /// closure throws, the transaction is rolled back and the error is rethrown. The closure may
    /// run several times: see ``DatabaseDriver``.
    ///
    /// Closures submitted at the same time share one commit; each call returns only after that
    /// commit.
    ///
    /// - Throws: ``StorageFailure`` of kind `busy` if too many writes are waiting, and whatever the
    ///   closure throws.
    package func transaction<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws -> Value {
        // The closure may run in the task of another writer.
        let author = EventAuthor.current
        return try await commits.write { [rules = rules.writing(in: commits.lane)] in
            try body(DatabaseSession($0, rules, author: author))
        }
    }

    /// Runs a closure in a transaction during which no server records a document on a snapshot. Use
    /// this function for transactions that remove rows on which such documents rely: see
    /// ``SnapshotConnection``.
    package func transactionWithoutRecordings<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws -> Value {
        guard driver.dialect == .postgres else { return try await transaction(body) }
        let mode = WriteMode(.serializable, locks: driver.dialect.excludedRecording)
        return try await write(mode, body)
    }

    /// Runs a closure on a snapshot: see ``WriteMode``. No customer is erased meanwhile.
    package func snapshotTransaction<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws -> Value {
        guard driver.dialect == .postgres else { return try await transaction(body) }
        return try await write(
            WriteMode(.snapshot, locks: driver.dialect.sharedRecording), body)
    }

    /// Runs a closure in a separate transaction.
    private func write<Value: Sendable>(
        _ mode: WriteMode, _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws -> Value {
        let (lane, author) = (rules.signals.addLane(), EventAuthor.current)
        do {
            let value = try await driver.write(mode) { [rules = rules.writing(in: lane)] in
                try body(DatabaseSession($0, rules, author: author))
            }
            observers.recordCommit(in: lane)
            return value
        } catch {
            rules.signals.discard(lane)
            observers.health.recordFailure(error)
            throw error
        }
    }

    /// Yields after commits that may have appended events without numbers. One element can stand
    /// for many commits.
    package var unnumbered: AsyncStream<Void> { observers.unnumbered }

    /// Wakes requests that wait for a change of a customer.
    package var signals: ChangeSignals { rules.signals }

    /// Runs a closure that only reads, on one consistent snapshot.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws -> Value {
        try await driver.read { [rules] in try body(DatabaseSession($0, rules)) }
    }

    /// Runs a closure that only reads, possibly millions of rows: see ``DatabaseDriver/scan(_:)``.
    package func scan<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws -> Value {
        try await driver.scan { [rules] in try body(DatabaseSession($0, rules)) }
    }
}

/// A transaction: gives access to the rows of each group of tables.
package struct DatabaseSession {
    let connection: any Connection
    /// The part of the configuration that stored rows depend on.
    package let rules: DatabaseRules
    /// The author of the request that the transaction serves. Nil if no request with an author
    /// caused it.
    let author: EventAuthor?

    /// - Parameter connection: a connection within a transaction that ``Database`` begins and ends.
    /// - Parameter author: the author of the events that a request causes.
    package init(
        _ connection: any Connection, _ rules: DatabaseRules = DatabaseRules(),
        author: EventAuthor? = nil
    ) {
        self.connection = connection
        self.rules = rules
        self.author = author
    }

    var checkRules: CheckRules { rules.checks }
    var dialect: Dialect { connection.dialect }
}

/// The part of the configuration that stored rows depend on, in addition to the documents.
package struct DatabaseRules: Sendable {
    package var checks: CheckRules
    /// Access rules by app. An app without an entry uses the default rules.
    package var access: [AppID: AccessRules]
    /// Apps whose customers receive reminders before their terms end.
    package var appsWithReminders: Set<AppID>
    /// Apps whose customers have wallets.
    package var wallets: [AppID: WalletRules]
    /// The rules that decide how much of a price the app's developer gets.
    package var money: [AppID: MoneyRules]
    /// Whether rows about money are written. False only in benchmarks that measure the cost of
    /// these rows.
    package var writesMoney = true
    /// Apps whose account tokens are not customer ids, so that a token identifies no customer.
    package var withForeignTokens: Set<AppID>
    /// The plain hash of a customer id: 32 bytes, ignoring upper and lower case. An erasure is
    /// stored as an HMAC of this hash under the app's key.
    package var erasedHash: @Sendable (CustomerID) -> [UInt8]
    package var erasureKeying: ErasureKeying
    var signals = ChangeSignals()
    /// The lane in which the session's transactions run.
    private(set) var lane = ChangeSignals.Lane.none

    /// - Parameter erasedHash: the default produces bytes that match no stored erasure. Use the
    ///   default only for a database that never looks up erased customers.
    package init(
        checks: CheckRules = CheckRules(), access: [AppID: AccessRules] = [:],
        appsWithReminders: Set<AppID> = [], wallets: [AppID: WalletRules] = [:],
        money: [AppID: MoneyRules] = [:],
        withForeignTokens: Set<AppID> = [],
        erasedHash: @escaping @Sendable (CustomerID) -> [UInt8] = { Array($0.rawValue.utf8) },
        erasureKeying: ErasureKeying = .none
    ) {
        self.checks = checks
        self.access = access
        self.appsWithReminders = appsWithReminders
        self.wallets = wallets
        self.money = money
        self.withForeignTokens = withForeignTokens
        self.erasedHash = erasedHash
        self.erasureKeying = erasureKeying
    }

    func writing(in lane: ChangeSignals.Lane) -> DatabaseRules {
        var rules = self
        rules.lane = lane
        return rules
    }

    /// The rules by which purchases of an app give access.
    package func access(of app: AppID) -> AccessRules { access[app] ?? AccessRules() }

    package func money(of app: AppID) -> MoneyRules { money[app] ?? MoneyRules() }

    /// Whether customers of an app have wallets.
    package func hasWallets(_ app: AppID) -> Bool { wallets[app] != nil }
}

extension Environment {
    /// Parses an environment as stored in the database.
    static func stored(_ text: String) throws(StorageFailure) -> Environment {
        guard let environment = Environment(rawValue: text) else {
            throw StorageFailure("unknown environment \(text)")
        }
        return environment
    }
}
