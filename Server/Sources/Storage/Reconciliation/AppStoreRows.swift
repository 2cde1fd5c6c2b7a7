import Ledger

/// Work that is repeated for each app and environment, by one server at a time.
package enum AppStoreTask: Hashable, Sendable {
    /// Backfills notifications that the App Store could not deliver.
    case backfill
    /// Walks the whole notification history.
    case walk

    /// The queue of the task. The column `due` contains the time up to which the task was done;
    /// null means never.
    var queue: LeaseQueue {
        let key = ["app", "environment"]
        return switch self {
        case .backfill: LeaseQueue(table: "app_stores", key: key, due: "caught_up_to_ms")
        case .walk:
            LeaseQueue(
                table: "app_stores", key: key, due: "walked_to_ms",
                leaseEnd: "walk_lease_until_ms", holder: "walk_lease_holder")
        }
    }

    fileprivate func progress(to moment: Instant?) -> [QueueRows.Assignment] {
        moment.map { [(queue.due, .integer($0.milliseconds))] } ?? []
    }
}

/// A lease for a task, held by one server.
package struct AppStoreLease: Hashable, Sendable {
    package var task: AppStoreTask
    package var app: AppID
    package var environment: Environment
    /// The time up to which the task was done before this lease. Nil if the task was never done.
    package var from: Instant?
    package var worker: CheckWorker
}

/// The App Store's health for an app, and the repeated tasks that query it.
package struct AppStoreRows: RowGroup {
    package let tx: DatabaseSession

    /// Whether a task should be done now. False if the task was done recently, if another server is
    /// doing it, or if requests to the App Store are paused.
    package func isDue(
        _ task: AppStoreTask, of app: AppID, in environment: Environment, at now: Instant,
        every interval: Duration
    ) throws(StorageFailure) -> Bool {
        guard let row = try row(of: task, app, environment) else { return true }
        let isLeased = try (row.leasedUntil ?? 0) > tx.queues.clock()
        let isPaused = row.pausedUntil > now
        return !isLeased && !isPaused && row.doneTo.map { $0 + interval <= now } ?? true
    }

    /// Leases a task if it is due: see ``isDue(_:of:in:at:every:)``.
    package func lease(
        _ task: AppStoreTask, of app: AppID, in environment: Environment, at now: Instant,
        every interval: Duration, for worker: CheckWorker
    ) throws(StorageFailure) -> AppStoreLease? {
        guard try isDue(task, of: app, in: environment, at: now, every: interval) else {
            return nil
        }
        let from = try row(of: task, app, environment)?.doneTo
        try update(
            app, environment, "\(task.queue.leaseEnd) = $1, \(task.queue.holder) = $2",
            [
                .integer(try tx.queues.clock() + worker.lease.wholeMilliseconds),
                .text(worker.holder),
            ])
        return AppStoreLease(
            task: task, app: app, environment: environment, from: from, worker: worker)
    }

    /// Extends the lease. If a time is given, records that the task is done up to that time.
    /// Returns false if the lease passed to another server, which repeats the task.
    package func extend(
        _ lease: AppStoreLease, doneTo moment: Instant? = nil
    ) throws(StorageFailure) -> Bool {
        let end = try tx.queues.clock() + lease.worker.lease.wholeMilliseconds
        return try tx.queues.updateLease(
            Self.key(lease.app, lease.environment), of: lease.task.queue, by: lease.worker.holder,
            [(lease.task.queue.leaseEnd, .integer(end))] + lease.task.progress(to: moment))
    }

    /// Releases the lease. If a time is given, records that the task is done up to that time. Does
    /// nothing if the lease passed to another server, which repeats the task.
    package func release(
        _ lease: AppStoreLease, doneTo moment: Instant? = nil
    ) throws(StorageFailure) {
        try tx.queues.release(
            Self.key(lease.app, lease.environment), of: lease.task.queue,
            by: lease.worker.holder, lease.task.progress(to: moment))
    }

    /// Makes the next walk begin from the start. Does nothing if the last walk has not passed the
    /// given moment, or if the app has no purchases. A running walk loses its lease.
    package func walkAnew(of app: AppID, from moment: Instant) throws(StorageFailure) {
        try connection.run(
            "UPDATE app_stores SET walked_to_ms = NULL, walk_lease_until_ms = NULL, "
                + "walk_lease_holder = NULL WHERE app = $1 AND walked_to_ms > $2 "
                + "AND EXISTS (SELECT 1 FROM purchases WHERE purchases.app = app_stores.app "
                + "AND purchases.environment = app_stores.environment)",
            [.text(app.rawValue), .integer(moment.milliseconds)])
    }

    private func row(
        of task: AppStoreTask, _ app: AppID, _ environment: Environment
    ) throws(StorageFailure) -> (doneTo: Instant?, leasedUntil: Int64?, pausedUntil: Instant)? {
        try connection.firstRow(
            "SELECT \(task.queue.due), \(task.queue.leaseEnd), paused_until_ms FROM app_stores "
                + "WHERE app = $1 AND environment = $2", Self.key(app, environment)
        ) { row throws(StorageFailure) in
            (try row.optionalInstant(), try row.optionalInteger(), try row.instant())
        }
    }
}
