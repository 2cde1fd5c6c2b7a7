import Ledger

/// How asking the store goes, for one app in one environment: shared by all servers.
package struct AppStoreStanding: Hashable, Sendable {
    /// When it last answered; nil: never.
    package var answeredAt: Instant?
    /// How often it has failed to answer, since it last did.
    package var failures: Int
    /// Before then nobody asks.
    package var pausedUntil: Instant
    /// By the database's clock, in milliseconds: until then the pace is used up.
    var busyUntil: Int64
    /// Notifications made before then have been asked for again, where they did not reach us.
    package var caughtUpTo: Instant?

    static let never = Self(
        answeredAt: nil, failures: 0, pausedUntil: Instant(milliseconds: 0), busyUntil: 0,
        caughtUpTo: nil)

    /// Work is given out for so long ahead of the pace.
    static let paceWindowMilliseconds: Int64 = 1000

    /// How many checks the pace allows now.
    func room(at clock: Int64, perSecond: Int) -> Int {
        let free = Self.paceWindowMilliseconds - max(0, busyUntil - clock)
        return max(0, Int(free) * perSecond / 1000)
    }
}

/// The task of asking for lost notifications, taken by one server for a while.
package struct CatchUpLease: Hashable, Sendable {
    /// How far it was done before; nil: never.
    package var from: Instant?
    package var holder: String
}

/// How far behind asking is.
package struct CheckBacklog: Hashable, Sendable {
    /// Purchases that are due; ``countMax`` where there are more.
    package var count: Int
    package var oldestDueAt: Instant?

    package static let countMax = 100_000
}

extension StoreTransaction {
    package func standing(
        of app: AppID, in environment: Environment
    ) throws(StorageFailure) -> AppStoreStanding {
        let rows = try connection.rows(
            "SELECT answered_at_ms, failures, paused_until_ms, busy_until_ms, caught_up_to_ms "
                + "FROM app_stores WHERE app = $1 AND environment = $2",
            [.text(app.rawValue), .text(environment.rawValue)])
        guard let row = rows.first else { return .never }
        return AppStoreStanding(
            answeredAt: try row.optionalInteger(0).map(Instant.init(milliseconds:)),
            failures: Int(try row.integer(1)),
            pausedUntil: Instant(milliseconds: try row.integer(2)),
            busyUntil: try row.integer(3),
            caughtUpTo: try row.optionalInteger(4).map(Instant.init(milliseconds:)))
    }

    /// The store has answered: whatever was paused goes on.
    package func storeAnswered(
        _ app: AppID, in environment: Environment, at now: Instant
    ) throws(StorageFailure) {
        try write(
            app, environment,
            "answered_at_ms = $1, failures = 0, paused_until_ms = 0", [.integer(now.milliseconds)])
    }

    /// The store has not answered.
    ///
    /// - Parameter pausedUntil: before then nobody asks.
    package func storeFailed(
        _ app: AppID, in environment: Environment, pausedUntil: Instant
    ) throws(StorageFailure) {
        try write(
            app, environment, "failures = app_stores.failures + 1, paused_until_ms = $1",
            [.integer(pausedUntil.milliseconds)])
    }

    /// The store wants to be left alone for a while. That is an answer, too.
    package func storePaused(
        _ app: AppID, in environment: Environment, until moment: Instant
    ) throws(StorageFailure) {
        try write(app, environment, "paused_until_ms = $1", [.integer(moment.milliseconds)])
    }

    func put(
        busyUntil: Int64, _ app: AppID, _ environment: Environment
    ) throws(StorageFailure) {
        try write(app, environment, "busy_until_ms = $1", [.integer(busyUntil)])
    }

    // MARK: - Catching up

    /// Takes the task of asking for lost notifications, where it is due and nobody else has it.
    ///
    /// - Returns: nil where it is not to be done now.
    package func leaseCatchUp(
        of app: AppID, in environment: Environment, at now: Instant, every interval: Duration,
        for worker: CheckWorker
    ) throws(StorageFailure) -> CatchUpLease? {
        let standing = try standing(of: app, in: environment)
        let clock = try clock()
        let leased = try connection.rows(
            "SELECT lease_until_ms FROM app_stores "
                + "WHERE app = $1 AND environment = $2 AND lease_until_ms > $3",
            [.text(app.rawValue), .text(environment.rawValue), .integer(clock)])
        let isDue = standing.caughtUpTo.map { $0 + interval <= now } ?? true
        guard isDue, leased.isEmpty, standing.pausedUntil <= now else { return nil }
        try write(
            app, environment, "lease_until_ms = $1, lease_holder = $2",
            [.integer(clock + worker.lease.wholeMilliseconds), .text(worker.holder)])
        return CatchUpLease(from: standing.caughtUpTo, holder: worker.holder)
    }

    /// Lost notifications have been asked for up to a moment; nil: it could not be done. Where the
    /// lease has passed to another nothing is written: that one asks for the same again.
    package func endCatchUp(
        _ lease: CatchUpLease, of app: AppID, in environment: Environment, upTo moment: Instant?
    ) throws(StorageFailure) {
        let key: [Value] = [
            .text(app.rawValue), .text(environment.rawValue), .text(lease.holder),
        ]
        guard let moment else {
            try connection.run(
                "UPDATE app_stores SET lease_until_ms = 0, lease_holder = NULL "
                    + "WHERE app = $1 AND environment = $2 AND lease_holder = $3", key)
            return
        }
        try connection.run(
            "UPDATE app_stores SET caught_up_to_ms = $1, lease_until_ms = 0, lease_holder = NULL "
                + "WHERE app = $2 AND environment = $3 AND lease_holder = $4",
            [.integer(moment.milliseconds)] + key)
    }

    /// Changes the row, which is made where there is none yet.
    func write(
        _ app: AppID, _ environment: Environment, _ changes: String, _ values: [Value]
    ) throws(StorageFailure) {
        let key: [Value] = [.text(app.rawValue), .text(environment.rawValue)]
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

    // MARK: - How far behind

    package func backlog(
        of app: AppID, in environment: Environment, at now: Instant
    ) throws(StorageFailure) -> CheckBacklog {
        let rows = try connection.rows(
            "SELECT count(*), min(due_at_ms) FROM (SELECT due_at_ms FROM purchases WHERE app = $1 "
                + "AND environment = $2 AND due_at_ms <= $3 ORDER BY due_at_ms LIMIT $4) AS due",
            [
                .text(app.rawValue), .text(environment.rawValue), .integer(now.milliseconds),
                .integer(Int64(CheckBacklog.countMax)),
            ])
        return CheckBacklog(
            count: Int(try rows[0].integer(0)),
            oldestDueAt: try rows[0].optionalInteger(1).map(Instant.init(milliseconds:)))
    }
}
