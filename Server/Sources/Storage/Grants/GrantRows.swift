import Ledger

/// A manual grant with its recipient.
package struct StoredGrant: Hashable, Sendable {
    package var grant: Grant
    package var customer: CustomerID
    package var environment: Environment

    package init(_ grant: Grant, to customer: CustomerID, in environment: Environment) {
        self.grant = grant
        self.customer = customer
        self.environment = environment
    }
}

/// Entitlements granted by hand, and the events of their start and end.
package struct GrantRows: RowGroup {
    package let tx: DatabaseSession

    /// All grants that a customer ever received, ordered by time.
    package func all(
        of customer: CustomerID, in app: AppID, environment: Environment
    ) throws(StorageFailure) -> [Grant] {
        try storedGrants(
            "app = $1 AND customer = $2 AND environment = $3",
            [.text(app.rawValue), .text(customer.rawValue), .text(environment.rawValue)]
        ).map(\.grant).sorted { ($0.from, $0.id) < ($1.from, $1.id) }
    }

    package func find(_ id: GrantID, in app: AppID) throws(StorageFailure) -> StoredGrant? {
        try storedGrants(
            "app = $1 AND grant_id = $2", [.text(app.rawValue), .text(id.rawValue)]
        ).first
    }

    /// Grants something to a known customer, and emits an event. Not idempotent: check first
    /// whether the grant exists.
    package func add(_ kept: StoredGrant, in app: AppID) throws(StorageFailure) {
        let grant = kept.grant
        try connection.run(
            "INSERT INTO grants (app, grant_id, environment, customer, entitlement, from_ms, "
                + "until_ms, reason, next_change_at_ms) "
                + "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            [
                .text(app.rawValue), .text(grant.id.rawValue), .text(kept.environment.rawValue),
                .text(kept.customer.rawValue), .text(grant.entitlement.rawValue),
                .integer(grant.from.milliseconds), .integer(grant.until?.milliseconds),
                .text(grant.reason), .integer(grant.until?.milliseconds),
            ])
        try emitEvent(
            .granted, kept, in: app, at: grant.from, by: .request, knownAt: grant.from)
    }

    /// Withdraws a grant, and emits an event. Not idempotent.
    package func withdraw(
        _ kept: StoredGrant, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE grants SET withdrawn_at_ms = $1, next_change_at_ms = NULL "
                + "WHERE app = $2 AND grant_id = $3",
            [.integer(now.milliseconds), .text(app.rawValue), .text(kept.grant.id.rawValue)])
        var kept = kept
        kept.grant.withdrawnAt = now
        try emitEvent(.grantEnded, kept, in: app, at: now, by: .request, knownAt: now)
    }

    /// Emits events for grants that have expired. Returns how many there were. Idempotent, and safe
    /// for several servers at once.
    package func emitExpired(
        of app: AppID, dueBy now: Instant, limit: Int
    ) throws(StorageFailure) -> Int {
        let ended = try storedGrants(
            "app = $1 AND next_change_at_ms <= $2 ORDER BY next_change_at_ms LIMIT $3 "
                + dialect.skippingLockedRows,
            [.text(app.rawValue), .integer(now.milliseconds), .integer(Int64(limit))])
        try connection.runEach(
            "UPDATE grants SET next_change_at_ms = NULL WHERE app = $1 AND grant_id = $2",
            ended.map { [.text(app.rawValue), .text($0.grant.id.rawValue)] })
        for kept in ended {
            try emitEvent(
                .grantEnded, kept, in: app, at: kept.grant.end ?? now, by: .time, knownAt: now)
        }
        return ended.count
    }

    private func emitEvent(
        _ kind: Change.Kind, _ kept: StoredGrant, in app: AppID, at moment: Instant,
        by cause: EventEntry.Cause, knownAt: Instant
    ) throws(StorageFailure) {
        var change = Change(kind, at: moment)
        (change.grant, change.grantEnvironment) = (kept.grant, kept.environment)
        try tx.events.append([
            EventEntry(
                app: app, customer: kept.customer, purchase: nil, change: change, knownAt: knownAt,
                cause: cause)
        ])
    }

    private func storedGrants(
        _ condition: String, _ values: [Value]
    ) throws(StorageFailure) -> [StoredGrant] {
        try connection.rows(
            "SELECT grant_id, entitlement, from_ms, until_ms, reason, withdrawn_at_ms, customer, "
                + "environment FROM grants WHERE \(condition)", values
        ) { row throws(StorageFailure) in
            let grant = Grant(
                id: GrantID(rawValue: try row.text()),
                entitlement: EntitlementID(rawValue: try row.text()), from: try row.instant(),
                until: try row.optionalInstant(), reason: try row.text(),
                withdrawnAt: try row.optionalInstant())
            return StoredGrant(grant, to: try row.customer(), in: try row.environment())
        }
    }
}
