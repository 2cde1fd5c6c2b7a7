import CLibPQ
import Storage

/// One connection to the server, used by the one thread that opened it.
final class PostgresSession {
    /// A statement that takes longer is stopped by the server.
    static let statementSecondsMax = 30
    /// A transaction that does nothing for so long is ended by the server, and its locks with it:
    /// the process was paused, or lost its network. Until then all who write wait for it.
    static let idleTransactionSecondsMax = 10
    /// A writer that waits longer for a lock fails. Those of a process that was paused are gone by
    /// then.
    static let lockSecondsMax = idleTransactionSecondsMax + 2
    /// Prepared statements of a connection. With one more, all are forgotten.
    static let statementsMax = 500

    enum Purpose {
        case reading
        case writing

        fileprivate var begin: String {
            switch self {
            case .reading: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            case .writing: "BEGIN ISOLATION LEVEL SERIALIZABLE"
            }
        }
    }

    let connection: OpaquePointer
    /// By the clock of ``Watch``.
    let openedAt = Watch.now
    private let watch: Watch
    private let line: Int
    /// Whether the running transaction may take as long as it does.
    private var takesItsTime = false
    /// The first failure of the running transaction that is not undone. It counts even where the
    /// closure swallowed it, or threw something else in its place.
    private(set) var failure: StorageFailure?
    private var names: [String: String] = [:]

    /// Connects.
    ///
    /// - Parameter lockWait: how long a writer waits for a lock, to the millisecond.
    /// - Throws: ``StorageFailure`` of kind `unavailable`.
    init(
        _ address: PostgresAddress, for purpose: Purpose, watch: Watch,
        lockWait: Duration = .seconds(lockSecondsMax)
    ) throws(StorageFailure) {
        guard let connection = address.connect() else {
            throw StorageFailure("PostgreSQL: no memory for a connection", kind: .unavailable)
        }
        self.connection = connection
        self.watch = watch
        line = watch.add(socket: PQsocket(connection))
        guard PQstatus(connection) == CONNECTION_OK else { throw PostgresFailure.lost(connection) }
        // Else libpq prints the server's notices to the standard error stream.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        try prepare(for: purpose, lockWait)
    }

    deinit {
        watch.remove(line)
        PQfinish(connection)
    }

    /// Every call that waits for the server.
    func waiting<Answer>(_ call: () -> Answer) -> Answer {
        takesItsTime ? call() : watch.during(line, call)
    }

    /// Notes what a statement that has been run does to those behind it.
    func noteRun(_ sql: String) {
        if sql == Dialect.takingItsTime { takesItsTime = true }
    }

    var isLost: Bool { PQstatus(connection) == CONNECTION_BAD }

    private func prepare(
        for purpose: Purpose, _ lockWait: Duration
    ) throws(StorageFailure) {
        var settings = [
            "SET statement_timeout = '\(Self.statementSecondsMax)s'",
            "SET idle_in_transaction_session_timeout = '\(Self.idleTransactionSecondsMax)s'",
        ]
        if purpose == .writing {
            settings.append("SET lock_timeout = \(Int(lockWait / .milliseconds(1)))")
            // A transaction that reads a whole table conflicts with every other that writes to it;
            // by an index, only with those that touch the same rows. Small tables would be read
            // whole.
            settings.append("SET enable_seqscan = off")
            // Rows are found by whole keys, so one plan serves every value. The server would plan
            // each check of a document's month anew, which takes longer than the check.
            settings.append("SET plan_cache_mode = force_generic_plan")
            // What we acknowledge must be on disk. Stronger and weaker settings that still wait for
            // the local disk are the operator's choice.
            let found = try simple("SHOW synchronous_commit").rows()
            if found.first?.values == [.text("off")] {
                settings.append("SET synchronous_commit = on")
            }
        }
        for setting in settings { _ = try simple(setting) }
    }

    /// Runs a closure in a transaction.
    ///
    /// - Parameter alone: whether nobody else writes meanwhile.
    func transaction<Value>(
        for purpose: Purpose, alone: Bool = false, _ body: (any Connection) throws -> Value
    ) throws -> Value {
        (failure, takesItsTime) = (nil, false)
        do {
            try begin(for: purpose, alone: alone)
            let value = try body(self)
            if let failure { throw failure }
            try commit()
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    private func begin(for purpose: Purpose, alone: Bool) throws(StorageFailure) {
        guard purpose == .writing else {
            _ = try simple(purpose.begin)
            return
        }
        let lock = alone ? Dialect.alone : Dialect.besideOthers
        do throws(StorageFailure) {
            // Both in one message.
            _ = try answer(waiting { PQexec(connection, "\(purpose.begin); \(lock)") })
        } catch {
            // Before there are tables, nobody writes but who makes them.
            guard error.sqlState == Self.undefinedTable else { throw error }
            rollBack()
            forgetFailure()
            _ = try simple(purpose.begin)
        }
    }

    private static let undefinedTable = "42P01"

    private func commit() throws(StorageFailure) {
        let answer = try simple("COMMIT")
        // The server answers the commit of a failed transaction by undoing it, without an error.
        guard answer.tag == "COMMIT" else {
            throw noted(StorageFailure("PostgreSQL: a failed transaction was undone"))
        }
    }

    /// Where even this fails the connection is no good any more, which the next use of it shows.
    private func rollBack() {
        guard PQtransactionStatus(connection) != PQTRANS_IDLE, !isLost else { return }
        PQclear(waiting { PQexec(connection, "ROLLBACK") })
    }

    /// Runs a statement without parameters that is not worth preparing. Its rows come in binary.
    private func simple(_ sql: String) throws(StorageFailure) -> PostgresAnswer {
        try answer(waiting { PQexecParams(connection, sql, 0, nil, nil, nil, nil, 1) })
    }

    // MARK: - Answers

    /// An answer that is no failure; of a failure, notes that it happened.
    func answer(_ pointer: OpaquePointer?) throws(StorageFailure) -> PostgresAnswer {
        guard let pointer else { throw noted(PostgresFailure.lost(connection)) }
        let answer = PostgresAnswer(pointer)
        switch PQresultStatus(pointer) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return answer
        default: throw noted(PostgresFailure.failure(of: pointer, isLost: isLost))
        }
    }

    func forgetFailure() { failure = nil }

    func noted(_ new: StorageFailure) -> StorageFailure {
        failure = failure ?? new
        return new
    }

    // MARK: - Prepared statements

    /// The name under which a statement is prepared on this connection.
    func name(of sql: String, for values: [Value]) throws(StorageFailure) -> String {
        if let name = names[sql] { return name }
        if names.count >= Self.statementsMax {
            _ = try simple("DEALLOCATE ALL")
            names = [:]
        }
        let name = "s\(names.count)"
        let types = PostgresParameters.types(of: values)
        _ = try answer(waiting { PQprepare(connection, name, sql, Int32(types.count), types) })
        names[sql] = name
        return name
    }
}
