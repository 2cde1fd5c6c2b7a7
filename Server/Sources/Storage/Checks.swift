import Ledger

/// A purchase that the store is to be asked about, taken by one server for a while.
package struct CheckLease: Hashable, Sendable {
    package var app: AppID
    package var timeline: Timeline
    package var history: CheckHistory
    /// Up to where the store's list of its transactions has been read; nil: not at all.
    package var revision: String?
    package var holder: String

    package init(
        app: AppID, timeline: Timeline, history: CheckHistory, revision: String?, holder: String
    ) {
        self.app = app
        self.timeline = timeline
        self.history = history
        self.revision = revision
        self.holder = holder
    }

    package var purchase: PurchaseID { timeline.purchase }
}

/// Who takes work, and how much at once.
package struct CheckWorker: Hashable, Sendable {
    /// Distinct for each process.
    package var holder: String
    /// After so long another server may take what this one has not finished.
    package var lease: Duration
    /// All servers on one database together, for each app and environment.
    package var checksPerSecond: Int

    package init(holder: String, lease: Duration, checksPerSecond: Int) {
        self.holder = holder
        self.lease = lease
        self.checksPerSecond = checksPerSecond
    }
}

extension StoreTransaction {
    static let historyColumns =
        "due_at_ms, known_at_ms, asked_at_ms, failed_at_ms, failures, revision"

    private static let selectCheck =
        "SELECT \(historyColumns) FROM purchases "
        + "WHERE app = $1 AND environment = $2 AND purchase = $3"

    /// Of a row that begins with the columns above.
    static func history(_ row: Row) throws(StorageFailure) -> CheckHistory {
        CheckHistory(
            knownAt: Instant(milliseconds: try row.integer(1)),
            askedAt: try row.optionalInteger(2).map(Instant.init(milliseconds:)),
            failedAt: try row.optionalInteger(3).map(Instant.init(milliseconds:)),
            failures: Int(try row.integer(4)))
    }

    package func checkHistory(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> (history: CheckHistory, dueAt: Instant)? {
        let rows = try connection.rows(Self.selectCheck, Self.key(of: purchase, in: app))
        guard let row = rows.first else { return nil }
        return (try Self.history(row), Instant(milliseconds: try row.integer(0)))
    }

    /// When the first check is due; nil: none ever is.
    package func nextCheck(
        of app: AppID, in environment: Environment
    ) throws(StorageFailure) -> Instant? {
        let rows = try connection.rows(
            "SELECT min(due_at_ms) FROM purchases "
                + "WHERE app = $1 AND environment = $2 AND due_at_ms IS NOT NULL",
            [.text(app.rawValue), .text(environment.rawValue)])
        return try rows[0].optionalInteger(0).map(Instant.init(milliseconds:))
    }

    // MARK: - Leases

    /// Takes purchases that are due, the longest due first; none while asking is paused, or the
    /// pace of all servers is used up. Nobody else is given them until the lease runs out.
    package func leaseChecks(
        of app: AppID, in environment: Environment, dueBy now: Instant, limit: Int,
        for worker: CheckWorker
    ) throws(StorageFailure) -> [CheckLease] {
        let standing = try standing(of: app, in: environment)
        guard standing.pausedUntil <= now else { return [] }
        let clock = try clock()
        let room = standing.room(at: clock, perSecond: worker.checksPerSecond)
        guard room > 0 else { return [] }
        let rows = try connection.rows(
            Self.selectDue(dialect),
            [
                .text(app.rawValue), .text(environment.rawValue), .integer(now.milliseconds),
                .integer(clock), .integer(Int64(min(limit, room))),
            ])
        var leases: [CheckLease] = []
        for row in rows {
            let purchase = PurchaseID(TransactionID(rawValue: try row.text(7)), in: environment)
            leases.append(try Self.lease(purchase, of: app, row, for: worker))
        }
        try hold(leases, until: clock + worker.lease.wholeMilliseconds)
        let spent = Int64(leases.count) * 1000 / Int64(worker.checksPerSecond)
        if spent > 0 {
            try put(busyUntil: max(clock, standing.busyUntil) + spent, app, environment)
        }
        return leases
    }

    /// The same of both environments together, production first.
    package func leaseChecks(
        of app: AppID, dueBy now: Instant, limit: Int, for worker: CheckWorker
    ) throws(StorageFailure) -> [CheckLease] {
        var leases: [CheckLease] = []
        for environment in Environment.allCases where leases.count < limit {
            leases += try leaseChecks(
                of: app, in: environment, dueBy: now, limit: limit - leases.count, for: worker)
        }
        return leases
    }

    static func selectDue(_ dialect: Dialect) -> String {
        "SELECT \(historyColumns), timeline, purchase FROM purchases "
            + "WHERE app = $1 AND environment = $2 "
            + "AND due_at_ms <= $3 AND lease_until_ms <= $4 ORDER BY due_at_ms LIMIT $5 "
            + dialect.takingFreeRows
    }

    /// Takes one purchase, due or not; nil where it is not known, or another server has it.
    package func leaseCheck(
        of purchase: PurchaseID, in app: AppID, for worker: CheckWorker
    ) throws(StorageFailure) -> CheckLease? {
        let clock = try clock()
        let rows = try connection.rows(
            "SELECT \(Self.historyColumns), timeline FROM purchases "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3 "
                + "AND lease_until_ms <= $4 \(dialect.takingFreeRows)",
            Self.key(of: purchase, in: app) + [.integer(clock)])
        guard let row = rows.first else { return nil }
        let lease = try Self.lease(purchase, of: app, row, for: worker)
        try hold([lease], until: clock + worker.lease.wholeMilliseconds)
        return lease
    }

    private static func lease(
        _ purchase: PurchaseID, of app: AppID, _ row: Row, for worker: CheckWorker
    ) throws(StorageFailure) -> CheckLease {
        CheckLease(
            app: app, timeline: try Timeline(stored: try row.bytes(6), of: purchase),
            history: try history(row), revision: try row.optionalText(5), holder: worker.holder)
    }

    private func hold(_ leases: [CheckLease], until end: Int64) throws(StorageFailure) {
        try connection.runEach(
            "UPDATE purchases SET lease_until_ms = $1, lease_holder = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5",
            leases.map {
                [.integer(end), .text($0.holder)] + Self.key(of: $0.purchase, in: $0.app)
            })
    }

    // MARK: - Ends

    /// The store has told all it knows about a purchase, which is kept already. Harmless to repeat,
    /// also by a server whose lease has run out: what it learned is as true as before.
    ///
    /// - Parameters:
    ///   - others: purchases of the same account, which came with the answer.
    ///   - asked: when the question was put, not when the answer came.
    ///   - isWhole: whether it was asked about all of the account's past. Else others that were
    ///     never asked about stay so.
    ///   - isListRead: whether it was asked what has changed since. Else others whose list is to be
    ///     read, as after an upgrade, stay so.
    package func answered(
        _ purchase: PurchaseID, alsoTold others: [PurchaseID] = [], of app: AppID, asked: Instant,
        isWhole: Bool, isListRead: Bool = true
    ) throws(StorageFailure) {
        for told in [purchase] + others.filter({ $0 != purchase }) {
            guard let known = try checkHistory(of: told, in: app)?.history else { continue }
            if told != purchase, !isWhole {
                guard let before = known.askedAt else { continue }
                let told = try timeline(of: told, in: app)
                guard isListRead || told?.unreadUpgrade(after: before) == nil else { continue }
            }
            try end(told, of: app, known.answered(at: asked))
        }
    }

    /// The store did not answer. Nothing is taken back where the lease has passed to another.
    package func failed(_ lease: CheckLease, at now: Instant) throws(StorageFailure) {
        guard try holds(lease) else { return }
        try end(lease.purchase, of: lease.app, lease.history.failed(at: now))
    }

    /// Gives a purchase back unasked: it stays due.
    package func release(_ lease: CheckLease) throws(StorageFailure) {
        guard try holds(lease) else { return }
        try end(lease.purchase, of: lease.app, lease.history)
    }

    /// Remembers how far the store's list of transactions has been read.
    package func put(
        revision: String, of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE purchases SET revision = $1 "
                + "WHERE app = $2 AND environment = $3 AND purchase = $4",
            [.text(revision)] + Self.key(of: purchase, in: app))
    }

    private func holds(_ lease: CheckLease) throws(StorageFailure) -> Bool {
        let rows = try connection.rows(
            "SELECT lease_holder FROM purchases "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            Self.key(of: lease.purchase, in: lease.app))
        return try rows.first?.optionalText(0) == lease.holder
    }

    private func end(
        _ purchase: PurchaseID, of app: AppID, _ history: CheckHistory
    ) throws(StorageFailure) {
        let timeline = try timeline(of: purchase, in: app) ?? Timeline(of: purchase, [])
        let due = timeline.nextCheck(history, rules: checkRules)
        try connection.run(
            "UPDATE purchases SET due_at_ms = $1, asked_at_ms = $2, failed_at_ms = $3, "
                + "failures = $4, lease_until_ms = 0, lease_holder = NULL "
                + "WHERE app = $5 AND environment = $6 AND purchase = $7",
            [
                .integer(due.milliseconds), .integer(history.askedAt?.milliseconds),
                .integer(history.failedAt?.milliseconds), .integer(Int64(history.failures)),
            ] + Self.key(of: purchase, in: app))
    }

    func clock() throws(StorageFailure) -> Int64 {
        try connection.rows("SELECT \(dialect.clock)", [])[0].integer(0)
    }
}
