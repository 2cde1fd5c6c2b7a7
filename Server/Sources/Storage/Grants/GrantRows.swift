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

/// Entitlements that were granted manually.
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

    /// Inserts a grant to a known customer. The grant's id must be new.
    package func insert(_ kept: StoredGrant, in app: AppID) throws(StorageFailure) {
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
    }

    /// Records that a grant was withdrawn.
    package func withdraw(
        _ kept: StoredGrant, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE grants SET withdrawn_at_ms = $1, next_change_at_ms = NULL "
                + "WHERE app = $2 AND grant_id = $3",
            [.integer(now.milliseconds), .text(app.rawValue), .text(kept.grant.id.rawValue)])
    }

    /// Marks expired grants as reported, and returns them, the longest overdue first. Skips the
    /// rows that another server has locked.
    package func markExpired(
        of app: AppID, dueBy now: Instant, limit: Int
    ) throws(StorageFailure) -> [StoredGrant] {
        let ended = try storedGrants(
            "app = $1 AND next_change_at_ms <= $2 ORDER BY next_change_at_ms LIMIT $3 "
                + dialect.skippingLockedRows,
            [.text(app.rawValue), .integer(now.milliseconds), .integer(Int64(limit))])
        try connection.runEach(
            "UPDATE grants SET next_change_at_ms = NULL WHERE app = $1 AND grant_id = $2",
            ended.map { [.text(app.rawValue), .text($0.grant.id.rawValue)] })
        return ended
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
