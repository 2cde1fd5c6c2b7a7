import Ledger

/// A purchase that one server has leased in order to check it with the App Store.
package struct CheckLease: Hashable, Sendable {
    package var app: AppID
    package var timeline: Timeline
    package var history: CheckHistory
    /// The position up to which the App Store's list of transactions was read. Nil if the list was
    /// not read yet.
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

/// The worker that takes leases, and its limits.
package struct CheckWorker: Hashable, Sendable {
    /// The name under which the worker takes leases, unique for each process.
    package var holder: String
    /// How long a lease lasts. After that, another server may take over unfinished work.
    package var lease: Duration
    /// The maximum number of checks per second for each app and environment. The limit applies to
    /// all servers of one database together.
    package var checksPerSecond: Int

    package init(holder: String, lease: Duration, checksPerSecond: Int) {
        self.holder = holder
        self.lease = lease
        self.checksPerSecond = checksPerSecond
    }
}

/// When a purchase is checked next, and the results of earlier checks.
package struct CheckState: Hashable, Sendable {
    package var purchase: PurchaseID
    package var history: CheckHistory
    package var dueAt: Instant
}

extension LeaseQueue {
    /// The queue of purchases to be checked. The result of a check is recorded even if its lease
    /// was lost.
    static let checks = Self(
        table: "purchases", key: ["app", "environment", "purchase"], scope: ["app", "environment"],
        columns: "\(CheckRows.historyColumns), timeline", completesWithoutLease: true)
}

/// Checks: when to ask the App Store about each purchase.
package struct CheckRows: RowGroup {
    package let tx: DatabaseSession

    static let historyColumns =
        "due_at_ms, known_at_ms, asked_at_ms, failed_at_ms, failures, revision"

    private static let selectCheck =
        "SELECT \(historyColumns) FROM purchases "
        + "WHERE app = $1 AND environment = $2 AND purchase = $3"

    /// Reads the ``historyColumns`` except the first and the last column.
    static func history(_ row: inout ColumnReader) throws(StorageFailure) -> CheckHistory {
        CheckHistory(
            knownAt: try row.instant(), askedAt: try row.optionalInstant(),
            failedAt: try row.optionalInstant(), failures: try row.count())
    }

    package func history(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> (history: CheckHistory, dueAt: Instant)? {
        try connection.firstRow(Self.selectCheck, PurchaseRows.key(of: purchase, in: app)) {
            row throws(StorageFailure) in
            let (dueAt, history) = (try row.instant(), try Self.history(&row))
            try row.skip()
            return (history, dueAt)
        }
    }

    /// The time when the next check is due. Returns nil if there are no purchases.
    package func next(
        of app: AppID, in environment: Environment
    ) throws(StorageFailure) -> Instant? {
        try tx.queues.backlog(of: .checks, in: AppStoreRows.key(app, environment)).oldest
    }

    /// The purchases whose checks are due first, ordered by the due times of the checks.
    package func next(
        of app: AppID, in environment: Environment, limit: Int
    ) throws(StorageFailure) -> [CheckState] {
        try connection.rows(
            "SELECT \(Self.historyColumns), purchase FROM purchases "
                + "WHERE app = $1 AND environment = $2 AND due_at_ms IS NOT NULL "
                + "ORDER BY due_at_ms LIMIT $3",
            AppStoreRows.key(app, environment) + [.integer(Int64(limit))]
        ) { row throws(StorageFailure) in
            let (dueAt, history) = (try row.instant(), try Self.history(&row))
            try row.skip()
            return CheckState(
                purchase: PurchaseID(try row.transaction(), in: environment), history: history,
                dueAt: dueAt)
        }
    }

    // MARK: - Leases

    /// Leases purchases that are due for a check, the longest overdue first. Returns no leases
    /// while requests to the App Store are paused, or while the pace that all servers share is used
    /// up. No other server can lease these purchases until the lease expires.
    package func lease(
        of app: AppID, in environment: Environment, dueBy now: Instant, limit: Int,
        for worker: CheckWorker
    ) throws(StorageFailure) -> [CheckLease] {
        let standing = try tx.appStore.health(of: app, in: environment)
        guard standing.pausedUntil <= now else { return [] }
        let clock = try tx.queues.clock()
        let room = standing.room(at: clock, perSecond: worker.checksPerSecond)
        guard room > 0 else { return [] }
        let rows = try tx.queues.leaseDue(
            .checks, in: AppStoreRows.key(app, environment), by: now, limit: min(limit, room),
            for: worker.holder, lease: worker.lease)
        let spent = Int64(rows.count) * 1000 / Int64(worker.checksPerSecond)
        if spent > 0 {
            try tx.appStore.update(
                app, environment, "busy_until_ms = $1",
                [.integer(max(clock, standing.busyUntil) + spent)])
        }
        return try Self.leases(rows, of: app, for: worker)
    }

    /// Leases purchases of both environments that are due for a check, production first.
    package func lease(
        of app: AppID, dueBy now: Instant, limit: Int, for worker: CheckWorker
    ) throws(StorageFailure) -> [CheckLease] {
        var leases: [CheckLease] = []
        for environment in Environment.allCases where leases.count < limit {
            leases += try lease(
                of: app, in: environment, dueBy: now, limit: limit - leases.count, for: worker)
        }
        return leases
    }

    /// Leases one purchase, even if it is not due. Returns nil if the purchase is unknown, or if
    /// another server has leased it.
    package func lease(
        of purchase: PurchaseID, in app: AppID, for worker: CheckWorker
    ) throws(StorageFailure) -> CheckLease? {
        let rows = try tx.queues.lease(
            .checks, key: PurchaseRows.key(of: purchase, in: app), for: worker.holder,
            lease: worker.lease)
        return try Self.leases(rows, of: app, for: worker).first
    }

    private static func leases(
        _ rows: [Row], of app: AppID, for worker: CheckWorker
    ) throws(StorageFailure) -> [CheckLease] {
        try rows.read { row throws(StorageFailure) in
            try row.skip()
            let (history, revision) = (try history(&row), try row.optionalText())
            let timeline = try row.bytes()
            try row.skip()
            return CheckLease(
                app: app, timeline: try Timeline(stored: timeline, of: try row.purchase()),
                history: history, revision: revision, holder: worker.holder)
        }
    }

    // MARK: - Results

    /// Records that the App Store responded with everything it knows about a purchase. The caller
    /// must have recorded the evidence before. Idempotent. The result is recorded even if the lease
    /// has expired, because the evidence is still true.
    ///
    /// - Parameters:
    ///   - others: purchases of the same account that were part of the response.
    ///   - asked: when the request was sent, not when the response arrived.
    ///   - isWhole: whether the request covered the whole history of the account. If not, purchases
    ///     of `others` that were never checked still count as unchecked.
    ///   - isListRead: whether the request covered the changes since the last check. If not,
    ///     purchases of `others` whose list must be read, for example after an upgrade, remain due.
    package func complete(
        _ purchase: PurchaseID, alsoReporting others: [PurchaseID] = [], of app: AppID,
        asked: Instant,
        isWhole: Bool, isListRead: Bool = true
    ) throws(StorageFailure) {
        for told in [purchase] + others.filter({ $0 != purchase }) {
            guard let known = try history(of: told, in: app)?.history else { continue }
            if told != purchase, !isWhole {
                guard let before = known.askedAt else { continue }
                let told = try tx.purchases.timeline(of: told, in: app)
                guard isListRead || told?.unresolvedUpgrade(after: before) == nil else { continue }
            }
            try update(told, of: app, known.succeeded(at: asked))
        }
    }

    /// Records that the App Store did not respond. Does nothing if the lease passed to another
    /// server.
    package func fail(_ lease: CheckLease, at now: Instant) throws(StorageFailure) {
        let failed = lease.history.failed(at: now)
        try update(lease.purchase, of: lease.app, failed, failedBy: lease.holder)
    }

    /// Releases a lease without a check. The purchase stays due.
    package func release(_ lease: CheckLease) throws(StorageFailure) {
        let key = PurchaseRows.key(of: lease.purchase, in: lease.app)
        try tx.queues.release(key, of: .checks, by: lease.holder)
    }

    /// Records the position up to which the App Store's list of transactions was read.
    package func save(
        revision: String, of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE purchases SET revision = $1 "
                + "WHERE app = $2 AND environment = $3 AND purchase = $4",
            [.text(revision)] + PurchaseRows.key(of: purchase, in: app))
    }

    private func update(
        _ purchase: PurchaseID, of app: AppID, _ history: CheckHistory,
        failedBy holder: String? = nil
    ) throws(StorageFailure) {
        let timeline =
            try tx.purchases.timeline(of: purchase, in: app) ?? Timeline(of: purchase, [])
        let due = timeline.nextCheck(history, rules: checkRules)
        try tx.queues.complete(
            PurchaseRows.key(of: purchase, in: app), of: .checks,
            holder == nil ? .completed(next: due) : .failed(next: due), by: holder,
            [
                ("asked_at_ms", .integer(history.askedAt?.milliseconds)),
                ("failed_at_ms", .integer(history.failedAt?.milliseconds)),
                ("failures", .integer(Int64(history.failures))),
            ])
    }
}
