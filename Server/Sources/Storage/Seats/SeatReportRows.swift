import Ledger

/// A claim that has to be reported to the App Store.
package struct LeasedSeatReport: Hashable, Sendable {
    package var stored: StoredSeatClaim
    /// The number of failures in a row.
    package var attempts: Int
}

extension LeaseQueue {
    /// The queue of claims to be reported to the App Store. The App Store's answer is recorded even
    /// if the lease was lost.
    static let seatReports = Self(
        table: "seat_claims", key: ["app", "claim"], scope: ["app", "environment"],
        columns: "\(SeatClaimRows.claimColumns), attempts", since: "apple_since_ms",
        attempts: "attempts", trouble: "trouble", completesWithoutLease: true)
}

/// Claims on seats that are due to be reported to the App Store.
package struct SeatReportRows: RowGroup {
    package let tx: DatabaseSession

    // MARK: - Leases

    /// Whether any claim is due to be reported. This check avoids a write transaction.
    package func hasDue(
        of app: AppID, in environment: Environment, by now: Instant
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT 1 FROM seat_claims WHERE app = $1 AND environment = $2 AND due_at_ms <= $3 "
                + "LIMIT 1", AppStoreRows.key(app, environment) + [.integer(now.milliseconds)]
        ).isEmpty
    }

    /// Leases claims that are due to be reported, the longest overdue first. No other server can
    /// lease these claims until the lease expires.
    package func lease(
        of app: AppID, in environment: Environment, dueBy now: Instant, limit: Int,
        for worker: CheckWorker
    ) throws(StorageFailure) -> [LeasedSeatReport] {
        try tx.queues.leaseDue(
            .seatReports, in: AppStoreRows.key(app, environment), by: now, limit: limit,
            for: worker.holder, lease: worker.lease
        ).read { row throws(StorageFailure) in
            let leased = LeasedSeatReport(
                stored: try SeatClaimRows.seatClaim(&row), attempts: try row.count())
            try row.skip(LeaseQueue.seatReports.key.count)
            return leased
        }
    }

    /// Records that a request about a claim is about to be sent. From then on the App Store may
    /// know the claim. Idempotent.
    package func recordAsked(
        about id: SeatClaimID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE seat_claims SET apple_asked_at_ms = $1 "
                + "WHERE app = $2 AND claim = $3 AND apple_asked_at_ms IS NULL",
            [.integer(now.milliseconds), .text(app.rawValue), .text(id.rawValue)])
    }

    /// Ends the lease of a claim that does not have to be reported.
    ///
    /// - Parameter state: `off` if the claim is to be reported when the subscription runs again;
    ///   `ended` if it is never to be reported.
    package func stopReporting(
        _ stored: StoredSeatClaim, as state: SeatReport.State, in app: AppID, by holder: String
    ) throws(StorageFailure) {
        // Touches the purchase, so that the transaction of a later document about the running
        // subscription sees this claim: see `resumeSeatReports(on:in:at:)`.
        try tx.purchases.touch([stored.purchase], in: app)
        try tx.queues.complete(
            Self.key(of: stored.claim.id, in: app), of: .seatReports, .failed(next: nil),
            by: holder, isAttempt: false,
            [("apple_state", .text(state.rawValue)), ("attempts", .integer(0))])
    }

    // MARK: - Outcomes

    /// Records the App Store's answer about a claim. Idempotent. Returns the purchase of the claim;
    /// nil if nothing was recorded.
    ///
    /// - Parameter trouble: why the App Store refused.
    package func complete(
        _ leased: LeasedSeatReport, _ answer: SeatReport.Answer, trouble: String?, in app: AppID,
        by holder: String, at now: Instant
    ) throws(StorageFailure) -> PurchaseID? {
        guard let stored = try tx.seatClaims.find(leased.stored.claim.id, in: app) else {
            return nil
        }
        let (claim, purchase) = (stored.claim, stored.purchase)
        let isOpen =
            try tx.purchases.timeline(of: purchase, in: app)?.isOpen(claim) ?? (claim.end == nil)
        let (report, isDue) = claim.report.after(
            answer, isOpen: isOpen, isFirst: leased.stored.claim.report.askedAt == nil, at: now)
        let due = isDue ? now : nil
        let outcome: LeaseOutcome =
            switch answer {
            case .claimed, .unclaimed: .completed(next: due)
            case .noSeat, .notRunning, .refused: .failed(trouble, next: due)
            }
        if report.state == .off { try tx.purchases.touch([purchase], in: app) }
        let isRecorded = try tx.queues.complete(
            Self.key(of: claim.id, in: app), of: .seatReports, outcome, by: holder,
            isAttempt: false,
            [
                ("apple_state", .text(report.state.rawValue)),
                ("apple_claim", .text(report.storeID?.rawValue)),
                ("apple_asked_at_ms", .integer(report.askedAt?.milliseconds)),
                ("apple_since_ms", .integer(report.since.milliseconds)),
                ("attempts", .integer(0)),
            ])
        return isRecorded ? purchase : nil
    }

    /// Schedules the comparison of a group's seats after the App Store has answered about a claim.
    ///
    /// - Parameter next: when to compare the seats, unless the comparison is due earlier.
    package func scheduleComparison(
        of purchase: PurchaseID, after answer: SeatReport.Answer, in app: AppID,
        next: Instant, at now: Instant
    ) throws(StorageFailure) {
        switch answer {
        case .claimed, .notRunning, .refused:
            try tx.seatGroups.compare(of: purchase, in: app, by: next)
        case .noSeat:
            // The seats are not compared again at once if the App Store counts a free seat but
            // refuses the claim.
            let asked = try tx.seatGroups.storeSeats(of: purchase, in: app)?.askedAt
            let isFresh = asked.map { now < $0 + StoreSeatComparison.settledAfter } ?? false
            try tx.seatGroups.compare(of: purchase, in: app, by: isFresh ? next : now)
        case .unclaimed: break
        }
    }

    /// Records that the App Store did not answer. Does nothing if the lease was lost.
    package func retry(
        _ leased: LeasedSeatReport, at next: Instant, because trouble: String, isAttempt: Bool,
        in app: AppID, by holder: String
    ) throws(StorageFailure) {
        try tx.queues.complete(
            Self.key(of: leased.stored.claim.id, in: app), of: .seatReports,
            .failed(trouble, next: next), by: holder, isAttempt: isAttempt)
    }

    // MARK: - Becoming due

    /// Marks as due the claims that wait for an active subscription, and the seat comparison of the
    /// purchase. Call this function when a document has changed the purchase. Also ends the lease
    /// of a comparison, because an earlier answer of the App Store may be wrong now.
    package func resumeSeatReports(
        on purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try resumeReports(on: purchase, in: app, at: now)
        try connection.run(
            "UPDATE seat_groups SET since_ms = $1, due_at_ms = $2, lease_until_ms = 0, "
                + "lease_holder = NULL WHERE app = $3 AND environment = $4 AND purchase = $5",
            [.integer(now.milliseconds), .integer(now.milliseconds)]
                + PurchaseRows.key(of: purchase, in: app))
    }

    func resumeReports(
        on purchase: PurchaseID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE seat_claims SET apple_state = 'due', apple_since_ms = $1, due_at_ms = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5 AND apple_state = 'off'",
            [.integer(now.milliseconds), .integer(now.milliseconds)]
                + PurchaseRows.key(of: purchase, in: app))
    }

    private static func key(of claim: SeatClaimID, in app: AppID) -> [Value] {
        [.text(app.rawValue), .text(claim.rawValue)]
    }
}
