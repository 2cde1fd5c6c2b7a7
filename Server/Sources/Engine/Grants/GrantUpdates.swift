import Ledger
import Storage

/// Stores manual grants, ends them, and emits events.
struct GrantUpdates {
    let tx: DatabaseSession

    init(_ tx: DatabaseSession) { self.tx = tx }

    /// Adds a grant to a known customer, and emits an event. Not idempotent: the caller must check
    /// first that the grant does not exist.
    ///
    /// - Parameter now: when the grant became known. Nil if it was made at its beginning.
    func add(
        _ kept: StoredGrant, in app: AppID, knownAt now: Instant? = nil
    ) throws(StorageFailure) {
        let start = kept.grant.from
        try tx.grants.insert(kept, in: app)
        try emitEvent(.granted, kept, in: app, at: start, by: .request, knownAt: now ?? start)
    }

    /// Withdraws a grant, and emits an event. Not idempotent.
    func withdraw(
        _ kept: StoredGrant, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try tx.grants.withdraw(kept, in: app, at: now)
        var kept = kept
        kept.grant.withdrawnAt = now
        try emitEvent(.grantEnded, kept, in: app, at: now, by: .request, knownAt: now)
    }

    /// Emits events for grants that have expired. Returns the number of these grants. Idempotent,
    /// and safe for several servers at once.
    func emitExpired(
        of app: AppID, dueBy now: Instant, limit: Int
    ) throws(StorageFailure) -> Int {
        let ended = try tx.grants.markExpired(of: app, dueBy: now, limit: limit)
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
}
