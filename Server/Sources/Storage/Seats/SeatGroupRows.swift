import Ledger

/// A group whose seats one server has leased in order to compare them with the App Store's list.
package struct LeasedSeatGroup: Hashable, Sendable {
    package var purchase: PurchaseID
    /// The number of failures in a row.
    package var attempts: Int
}

extension LeaseQueue {
    /// The queue of groups whose seats are to be compared with the App Store's list.
    static let seatGroups = Self(
        table: "seat_groups", key: ["app", "environment", "purchase"],
        scope: ["app", "environment"], columns: "attempts", since: "since_ms",
        attempts: "attempts", trouble: "trouble")
}

/// Groups of seats, and when to compare each with the App Store's list.
package struct SeatGroupRows: RowGroup {
    package let tx: DatabaseSession

    // MARK: - Reading

    /// The App Store's count of a group's seats. Nil if the App Store was not asked yet.
    package func storeSeats(
        of purchase: PurchaseID, in app: AppID
    ) throws(StorageFailure) -> StoreSeats? {
        try connection.firstRow(
            "SELECT asked_at_ms, seats, available, foreign_claims FROM seat_groups "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            PurchaseRows.key(of: purchase, in: app)
        ) { row throws(StorageFailure) in try Self.storeSeats(&row) } ?? nil
    }

    private static func storeSeats(_ row: inout ColumnReader) throws(StorageFailure) -> StoreSeats?
    {
        guard let askedAt = try row.optionalInstant() else {
            try row.skip(3)
            return nil
        }
        return StoreSeats(
            seats: try row.count(), available: try row.count(), foreign: try row.count(),
            askedAt: askedAt)
    }

    // MARK: - Leases

    package func hasDue(
        of app: AppID, in environment: Environment, by now: Instant
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT 1 FROM seat_groups WHERE app = $1 AND environment = $2 AND due_at_ms <= $3 "
                + "LIMIT 1", AppStoreRows.key(app, environment) + [.integer(now.milliseconds)]
        ).isEmpty
    }

    /// Leases groups that are due, the longest overdue first. No other server can lease these
    /// groups until the lease expires.
    package func lease(
        of app: AppID, in environment: Environment, dueBy now: Instant, limit: Int,
        for worker: CheckWorker
    ) throws(StorageFailure) -> [LeasedSeatGroup] {
        try tx.queues.leaseDue(
            .seatGroups, in: AppStoreRows.key(app, environment), by: now, limit: limit,
            for: worker.holder, lease: worker.lease
        ).read { row throws(StorageFailure) in
            let attempts = try row.count()
            try row.skip()
            return LeasedSeatGroup(purchase: try row.purchase(), attempts: attempts)
        }
    }

    /// Schedules the comparison of a group for a time, unless it is due earlier.
    func compare(
        of purchase: PurchaseID, in app: AppID, by due: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO seat_groups (app, environment, purchase, since_ms, due_at_ms) "
                + "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (app, environment, purchase) "
                + "DO UPDATE SET due_at_ms = excluded.due_at_ms, since_ms = excluded.since_ms "
                + "WHERE seat_groups.due_at_ms IS NULL "
                + "OR seat_groups.due_at_ms > excluded.due_at_ms",
            PurchaseRows.key(of: purchase, in: app) + [
                .integer(due.milliseconds), .integer(due.milliseconds),
            ])
    }

    /// The number of waiting claims and groups together: claims to be reported, and groups to be
    /// compared. Also returns since when the oldest of them has waited.
    package func backlog(
        of app: AppID, in environment: Environment, at now: Instant
    ) throws(StorageFailure) -> QueueBacklog {
        let scope = AppStoreRows.key(app, environment)
        let reports = try tx.queues.backlog(of: .seatReports, in: scope)
        let groups = try tx.queues.backlog(of: .seatGroups, in: scope, dueBy: now)
        return QueueBacklog(
            count: reports.count + groups.count,
            oldest: [reports.oldest, groups.oldest].compactMap(\.self).min())
    }

    // MARK: - Outcomes

    /// The claims that the App Store's list of a group can contain: the open claims, claims that
    /// the App Store may know, claims in the list, and claims that the App Store has ended.
    ///
    /// - Parameter start: the start of the present period. Claims that the App Store ended before
    ///   that time are left out.
    package func comparableClaims(
        on purchase: PurchaseID, listed: Set<StoreSeatID>, endedSince start: Instant,
        in app: AppID
    ) throws(StorageFailure) -> [SeatClaim] {
        let open = try tx.seatClaims.openClaims(on: purchase, in: app)
        let others = try tx.seatClaims.all(storedAs: listed.sorted(), in: app).map(\.claim)
        let unanswered = try tx.seatClaims.all(
            "app = $1 AND environment = $2 AND purchase = $3 "
                + "AND apple_asked_at_ms IS NOT NULL AND apple_claim IS NULL",
            PurchaseRows.key(of: purchase, in: app)
        ).map(\.claim)
        let unclaimed = try tx.seatClaims.all(
            "app = $1 AND environment = $2 AND purchase = $3 "
                + "AND cause = 'unclaimed' AND ended_at_ms >= $4",
            PurchaseRows.key(of: purchase, in: app) + [.integer(start.milliseconds)]
        ).map(\.claim)
        var known: Set<SeatClaimID> = []
        return (open + others + unanswered + unclaimed).filter { known.insert($0.id).inserted }
    }

    /// Records the App Store's count of a group's seats. Returns false and records nothing if the
    /// lease was lost.
    ///
    /// - Parameter next: when the group is compared again.
    package func complete(
        _ leased: LeasedSeatGroup, _ seats: StoreSeats, next: Instant, in app: AppID,
        by holder: String
    ) throws(StorageFailure) -> Bool {
        let purchase = leased.purchase
        let isRecorded = try tx.queues.complete(
            PurchaseRows.key(of: purchase, in: app), of: .seatGroups, .completed(next: next),
            by: holder,
            isAttempt: false,
            [
                ("seats", .integer(Int64(seats.seats))),
                ("available", .integer(Int64(seats.available))),
                ("foreign_claims", .integer(Int64(seats.foreign))),
                ("asked_at_ms", .integer(seats.askedAt.milliseconds)),
                ("since_ms", .integer(next.milliseconds)), ("attempts", .integer(0)),
            ])
        guard isRecorded else { return false }
        // The App Store's count decides whether members have a seat.
        try tx.purchases.touch([purchase], in: app)
        return true
    }

    /// Reports the claims that differ from the App Store's list of a group. Claims that the list
    /// lacks are not reported.
    ///
    /// - Parameter available: the number of free seats, as the App Store counts them.
    package func report(
        _ comparison: StoreSeatComparison, on purchase: PurchaseID, available: Int, in app: AppID,
        at now: Instant
    ) throws(StorageFailure) {
        let leftover = comparison.leftover.map(\.id)
        let refused = try tx.seatClaims.openClaims(on: purchase, in: app)
            .filter { $0.report.state == .refused }.prefix(available).map(\.id)
        let changes: [([SeatClaimID], SeatReport.State, due: Instant?)] = [
            (leftover, .reported, now), (refused, .due, now),
            (comparison.dropped.map(\.id), .ended, nil),
            (comparison.relisted.map(\.id), .reported, nil),
        ]
        for (ids, state, due) in changes {
            try connection.runEach(
                "UPDATE seat_claims SET apple_state = $1, apple_since_ms = $2, due_at_ms = $3 "
                    + "WHERE app = $4 AND claim = $5",
                ids.map {
                    [
                        .text(state.rawValue), .integer(now.milliseconds),
                        .integer(due?.milliseconds), .text(app.rawValue), .text($0.rawValue),
                    ]
                })
        }
        try tx.seatReports.resumeReports(on: purchase, in: app, at: now)
    }

    /// Records that a group could not be compared. Does nothing if the lease was lost.
    ///
    /// - Parameter next: when to try again; nil to wait until a document about the purchase
    ///   arrives.
    package func retry(
        _ leased: LeasedSeatGroup, at next: Instant?, because trouble: String?, isAttempt: Bool,
        in app: AppID, by holder: String
    ) throws(StorageFailure) {
        if next == nil { try tx.purchases.touch([leased.purchase], in: app) }
        try tx.queues.complete(
            PurchaseRows.key(of: leased.purchase, in: app), of: .seatGroups,
            .failed(trouble, next: next), by: holder, isAttempt: isAttempt)
    }
}
