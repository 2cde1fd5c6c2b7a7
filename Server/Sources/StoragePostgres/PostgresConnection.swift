import CLibPQ
import Storage

/// One connection to the server, used only by the thread that opened it.
final class PostgresConnection {
    /// The server cancels a statement that takes longer than this.
    static let statementSecondsMax = 30
    /// The server ends a transaction that is idle for longer than this, and releases its locks. A
    /// transaction is idle for such a time only if its process was paused or lost its network.
    /// Until the server ends it, all writers wait for it.
    static let idleTransactionSecondsMax = 10
    /// A writer fails if it waits for a lock longer than this. By then the server has ended the
    /// transactions of any paused process.
    static let lockSecondsMax = idleTransactionSecondsMax + 2
    /// The maximum number of prepared statements of a connection. If there are more, all are
    /// discarded.
    static let statementsMax = 500

    enum Purpose {
        case reading
        case writing
    }

    /// How a transaction begins, and how often it may be run if it conflicts with others.
    enum TransactionMode {
        case reading
        case writing(WriteMode)

        var runsMax: Int {
            switch self {
            case .reading: WriteMode.runsMax
            case .writing(let mode): mode.runs
            }
        }

        /// The statements that begin the transaction, sent together as one message.
        fileprivate var begin: String {
            switch self {
            case .reading: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            case .writing(let mode):
                (["BEGIN ISOLATION LEVEL \(Self.name(of: mode.isolation))"] + mode.locks)
                    .joined(separator: "; ")
            }
        }

        private static func name(of isolation: WriteMode.Isolation) -> String {
            switch isolation {
            case .serializable: "SERIALIZABLE"
            case .snapshot: "REPEATABLE READ"
            case .committed: "READ COMMITTED"
            }
        }
    }

    let connection: OpaquePointer
    /// When the connection was opened, by the clock of ``ConnectionWatchdog``.
    let openedAt = ConnectionWatchdog.now
    private let watch: ConnectionWatchdog
    private let watchID: Int
    /// Whether the running transaction has disabled its time limit.
    private var hasNoTimeout = false
    /// The first failure of the running transaction that was not rolled back. The transaction fails
    /// with this failure even if the closure ignored it, or threw another error.
    private(set) var failure: StorageFailure?
    private var names: [String: String] = [:]

    /// Connects to the server.
    ///
    /// - Parameters:
    ///   - readsStandby: whether a reader may use a standby, if no server accepts writes.
    ///   - lockWait: how long a writer waits for a lock, to the millisecond.
    /// - Throws: ``StorageFailure`` of kind `unavailable`.
    init(
        _ address: PostgresAddress, for purpose: Purpose, watch: ConnectionWatchdog,
        readsStandby: Bool = false, lockWait: Duration = .seconds(lockSecondsMax)
    ) throws(StorageFailure) {
        guard var connection = address.connect() else {
            throw StorageFailure("PostgreSQL: out of memory while connecting", kind: .unavailable)
        }
        var failure: StorageFailure?
        if PQstatus(connection) != CONNECTION_OK {
            failure = PostgresFailure.lost(connection)
            if let standby = Standby.connection(address, insteadOf: connection) {
                if readsStandby, purpose == .reading {
                    PQfinish(connection)
                    (connection, failure) = (standby, nil)
                } else {
                    PQfinish(standby)
                    failure = Standby.failure
                }
            }
        }
        self.connection = connection
        self.watch = watch
        watchID = watch.add(socket: PQsocket(connection))
        if let failure { throw failure }
        // Without this function, libpq prints the server's notices to standard error.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        try prepare(for: purpose, lockWait)
    }

    deinit {
        watch.remove(watchID)
        PQfinish(connection)
    }

    /// Runs a call that waits for the server. The watchdog ends the call if it takes too long,
    /// unless the transaction has no time limit.
    func waitForServer<Answer>(_ call: () -> Answer) -> Answer {
        hasNoTimeout ? call() : watch.during(watchID, call)
    }

    /// Keeps track of statements that affect later statements.
    func trackStatement(_ sql: String) {
        if sql == Dialect.withoutStatementTimeout { hasNoTimeout = true }
    }

    var isLost: Bool { PQstatus(connection) == CONNECTION_BAD }

    private func prepare(
        for purpose: Purpose, _ lockWait: Duration
    ) throws(StorageFailure) {
        var settings = [
            "SET statement_timeout = '\(Self.statementSecondsMax)s'",
            "SET idle_in_transaction_session_timeout = '\(Self.idleTransactionSecondsMax)s'",
        ]
        if try isCitus() {
            // In a distributed PostgreSQL, the planner needs the values: it cannot plan a join of
            // two tables without the app. A setting of the role or of the database may differ.
            settings.append("SET plan_cache_mode = auto")
        } else if purpose == .writing {
            // Rows are found by their whole key, so one plan suits all values. With custom plans,
            // the server would plan each foreign-key check of a document's partition again, which
            // takes longer than the check.
            settings.append("SET plan_cache_mode = force_generic_plan")
        }
        if purpose == .writing {
            settings.append("SET lock_timeout = \(Int(lockWait / .milliseconds(1)))")
            // A serializable transaction that scans a whole table conflicts with every other
            // transaction that writes to the table. A transaction that uses an index conflicts only
            // with transactions that touch the same rows. By default, PostgreSQL would scan small
            // tables.
            settings.append("SET enable_seqscan = off")
            // Joins must find their rows one by one, by their keys, because other joins scan whole
            // tables.
            settings += ["SET enable_hashjoin = off", "SET enable_mergejoin = off"]
            // Acknowledged writes must be on disk. The operator may choose any setting that waits
            // for the local disk, whether weaker or stronger.
            let found = try runUnprepared("SHOW synchronous_commit").rows()
            if found.first?.values == [.text("off")] {
                settings.append("SET synchronous_commit = on")
            }
        }
        for setting in settings { _ = try runUnprepared(setting) }
    }

    private func isCitus() throws(StorageFailure) -> Bool {
        let found = try runUnprepared("SELECT 1 FROM pg_extension WHERE extname = 'citus'")
        return try !found.rows().isEmpty
    }

    /// Runs a closure in a transaction.
    func transaction<Value>(
        _ mode: TransactionMode, _ body: (any Connection) throws -> Value
    ) throws -> Value {
        (failure, hasNoTimeout) = (nil, false)
        do {
            _ = try checkedResult(waitForServer { PQexec(connection, mode.begin) })
            let value = try body(self)
            if let failure { throw failure }
            try commit()
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    private func commit() throws(StorageFailure) {
        let result = try runUnprepared("COMMIT")
        // If a failed transaction is committed, the server rolls it back and reports no error.
        guard result.tag == "COMMIT" else {
            throw recordFailure(StorageFailure("PostgreSQL: a failed transaction was rolled back"))
        }
    }

    /// Rolls back the transaction. If the rollback fails, the connection is unusable, and its next
    /// use fails.
    private func rollBack() {
        guard PQtransactionStatus(connection) != PQTRANS_IDLE, !isLost else { return }
        PQclear(waitForServer { PQexec(connection, "ROLLBACK") })
    }

    /// Runs a statement without parameters that is not worth preparing. The rows of the result are
    /// in binary format.
    private func runUnprepared(_ sql: String) throws(StorageFailure) -> PostgresResult {
        try checkedResult(waitForServer { PQexecParams(connection, sql, 0, nil, nil, nil, nil, 1) })
    }

    // MARK: - Results

    /// Returns a successful result. Records and throws a failure.
    func checkedResult(_ pointer: OpaquePointer?) throws(StorageFailure) -> PostgresResult {
        guard let pointer else { throw recordFailure(PostgresFailure.lost(connection)) }
        let answer = PostgresResult(pointer)
        switch PQresultStatus(pointer) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return answer
        default: throw recordFailure(PostgresFailure.failure(of: pointer, isLost: isLost))
        }
    }

    func clearFailure() { failure = nil }

    func recordFailure(_ new: StorageFailure) -> StorageFailure {
        failure = failure ?? new
        return new
    }

    // MARK: - Prepared statements

    /// The name of a prepared statement on this connection. Prepares the statement if necessary.
    func name(of sql: String, for values: [Value]) throws(StorageFailure) -> String {
        if let name = names[sql] { return name }
        if names.count >= Self.statementsMax {
            _ = try runUnprepared("DEALLOCATE ALL")
            names = [:]
        }
        let name = "s\(names.count)"
        let types = PostgresParameters.types(of: values)
        _ = try checkedResult(
            waitForServer { PQprepare(connection, name, sql, Int32(types.count), types) })
        names[sql] = name
        return name
    }
}
