import Ledger

/// The health of requests to the App Store for one app in one environment, shared by all servers.
package struct AppStoreHealth: Hashable, Sendable {
    /// When the App Store last responded. Nil if the App Store never responded.
    package var respondedAt: Instant?
    /// The number of failed requests since the last response.
    package var failures: Int
    /// No requests are made before this time.
    package var pausedUntil: Instant
    /// The time until which the leased checks use up the permitted pace, in milliseconds of the
    /// database's clock.
    var busyUntil: Int64
    /// Notifications that were sent before this time and did not arrive have been backfilled. Nil
    /// if nothing was backfilled yet.
    package var backfilledTo: Instant?

    static let never = Self(
        respondedAt: nil, failures: 0, pausedUntil: Instant(milliseconds: 0), busyUntil: 0,
        backfilledTo: nil)

    /// The maximum time by which leases of checks may run ahead of the permitted pace.
    static let paceWindowMilliseconds: Int64 = 1000

    /// How many checks the pace permits now.
    func room(at clock: Int64, perSecond: Int) -> Int {
        let free = Self.paceWindowMilliseconds - max(0, busyUntil - clock)
        return max(0, Int(free) * perSecond / 1000)
    }
}

extension AppStoreRows {
    package func health(
        of app: AppID, in environment: Environment
    ) throws(StorageFailure) -> AppStoreHealth {
        try connection.firstRow(
            "SELECT answered_at_ms, failures, paused_until_ms, busy_until_ms, caught_up_to_ms "
                + "FROM app_stores WHERE app = $1 AND environment = $2",
            Self.key(app, environment)
        ) { row throws(StorageFailure) in
            AppStoreHealth(
                respondedAt: try row.optionalInstant(), failures: try row.count(),
                pausedUntil: try row.instant(), busyUntil: try row.integer(),
                backfilledTo: try row.optionalInstant())
        } ?? .never
    }

    /// Records a response of the App Store, which ends any pause.
    package func responded(
        _ app: AppID, in environment: Environment, at now: Instant
    ) throws(StorageFailure) {
        try update(
            app, environment,
            "answered_at_ms = $1, failures = 0, paused_until_ms = 0", [.integer(now.milliseconds)])
    }

    /// Records that the App Store did not respond.
    ///
    /// - Parameter pausedUntil: no requests are made before this time.
    package func failed(
        _ app: AppID, in environment: Environment, pausedUntil: Instant
    ) throws(StorageFailure) {
        try update(
            app, environment, "failures = app_stores.failures + 1, paused_until_ms = $1",
            [.integer(pausedUntil.milliseconds)])
    }

    /// Records that the App Store asked for a pause. This does not count as a failure.
    package func paused(
        _ app: AppID, in environment: Environment, until moment: Instant
    ) throws(StorageFailure) {
        try update(
            app, environment, "paused_until_ms = $1", [.integer(moment.milliseconds)])
    }

    /// Updates the row of an app and environment. Creates the row if necessary.
    func update(
        _ app: AppID, _ environment: Environment, _ changes: String, _ values: [Value]
    ) throws(StorageFailure) {
        let key = Self.key(app, environment)
        let update =
            "UPDATE app_stores SET \(changes) "
            + "WHERE app = $\(values.count + 1) AND environment = $\(values.count + 2)"
        guard try connection.run(update, values + key) == 0 else { return }
        try connection.run(
            "INSERT INTO app_stores (app, environment, failures, paused_until_ms, busy_until_ms, "
                + "lease_until_ms) VALUES ($1, $2, 0, 0, 0, 0) "
                + "ON CONFLICT (app, environment) DO NOTHING", key)
        try connection.run(update, values + key)
    }

    static func key(_ app: AppID, _ environment: Environment) -> [Value] {
        [.text(app.rawValue), .text(environment.rawValue)]
    }

    // MARK: - Backlog

    /// How many purchases are due for a check, and when the first of them became due.
    package func backlog(
        of app: AppID, in environment: Environment, at now: Instant
    ) throws(StorageFailure) -> QueueBacklog {
        try tx.queues.backlog(of: .checks, in: Self.key(app, environment), dueBy: now)
    }
}
