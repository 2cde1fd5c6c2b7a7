import Ledger

/// A lease for walking the App Store's notification history, held by one server.
package struct WalkLease: Hashable, Sendable {
    package var app: AppID
    package var environment: Environment
    /// The time up to which the history was walked before; nil means never.
    package var from: Instant?
    package var worker: CheckWorker
}

extension DatabaseSession {
    /// Returns whether the history should be walked now: not if it was walked recently, another
    /// server is walking it, or requests to the App Store are paused.
    package func isWalkDue(
        of app: AppID, in environment: Environment, at now: Instant, every interval: Duration
    ) throws(StorageFailure) -> Bool {
        guard let row = try walkRow(of: app, in: environment) else { return true }
        let walkedTo = try row.optionalInteger(0).map(Instant.init(milliseconds:))
        let isLeased = try (row.optionalInteger(1) ?? 0) > clock()
        let isPaused = Instant(milliseconds: try row.integer(2)) > now
        return !isLeased && !isPaused && walkedTo.map { $0 + interval <= now } ?? true
    }

    /// Leases the walk if it is due: see ``isWalkDue(of:in:at:every:)``.
    package func leaseWalk(
        of app: AppID, in environment: Environment, at now: Instant, every interval: Duration,
        for worker: CheckWorker
    ) throws(StorageFailure) -> WalkLease? {
        guard try isWalkDue(of: app, in: environment, at: now, every: interval) else { return nil }
        let from = try walkRow(of: app, in: environment)?.optionalInteger(0)
        try updateAppStore(
            app, environment, "walk_lease_until_ms = $1, walk_lease_holder = $2",
            [
                .integer(try clock() + worker.lease.wholeMilliseconds), .text(worker.holder),
            ])
        return WalkLease(
            app: app, environment: environment, from: from.map(Instant.init(milliseconds:)),
            worker: worker)
    }

    /// Extends the lease and, if a time is given, records that all notifications made before it are
    /// known. Returns false if the lease passed to another server, which repeats the walk.
    package func extend(
        _ lease: WalkLease, walkedTo moment: Instant? = nil
    ) throws(StorageFailure) -> Bool {
        let until = try clock() + lease.worker.lease.wholeMilliseconds
        let changed = try connection.run(
            "UPDATE app_stores SET walk_lease_until_ms = $1, "
                + "walked_to_ms = coalesce($2, walked_to_ms) "
                + "WHERE app = $3 AND environment = $4 AND walk_lease_holder = $5",
            [.integer(until), .integer(moment?.milliseconds)] + Self.key(of: lease))
        return changed > 0
    }

    /// Releases the lease, whether or not the walk is finished.
    package func release(_ lease: WalkLease) throws(StorageFailure) {
        try connection.run(
            "UPDATE app_stores SET walk_lease_until_ms = NULL, walk_lease_holder = NULL "
                + "WHERE app = $1 AND environment = $2 AND walk_lease_holder = $3",
            Self.key(of: lease))
    }

    /// Makes the next walk a first one, if the last one went past a moment and there are purchases
    /// that it did not know. A walk that is running loses its lease.
    package func walkAnew(of app: AppID, from moment: Instant) throws(StorageFailure) {
        try connection.run(
            "UPDATE app_stores SET walked_to_ms = NULL, walk_lease_until_ms = NULL, "
                + "walk_lease_holder = NULL WHERE app = $1 AND walked_to_ms > $2 "
                + "AND EXISTS (SELECT 1 FROM purchases WHERE purchases.app = app_stores.app "
                + "AND purchases.environment = app_stores.environment)",
            [.text(app.rawValue), .integer(moment.milliseconds)])
    }

    /// Returns whether the environment has any purchases whose state could be wrong.
    package func hasPurchases(
        of app: AppID, in environment: Environment
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT 1 FROM purchases WHERE app = $1 AND environment = $2 LIMIT 1",
            [.text(app.rawValue), .text(environment.rawValue)]
        ).isEmpty
    }

    /// The signing time of the newest document of an app. Returns nil if it has none.
    package func newestDocument(of app: AppID) throws(StorageFailure) -> Instant? {
        try connection.rows(
            "SELECT max(signed_at_ms) FROM documents WHERE app = $1", [.text(app.rawValue)]
        ).first?.optionalInteger(0).map(Instant.init(milliseconds:))
    }

    private func walkRow(
        of app: AppID, in environment: Environment
    ) throws(StorageFailure) -> Row? {
        try connection.rows(
            "SELECT walked_to_ms, walk_lease_until_ms, paused_until_ms FROM app_stores "
                + "WHERE app = $1 AND environment = $2",
            [.text(app.rawValue), .text(environment.rawValue)]
        ).first
    }

    private static func key(of lease: WalkLease) -> [Value] {
        [
            .text(lease.app.rawValue), .text(lease.environment.rawValue),
            .text(lease.worker.holder),
        ]
    }
}
