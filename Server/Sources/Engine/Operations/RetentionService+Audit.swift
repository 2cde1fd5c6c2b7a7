import Ledger
import Storage

/// The deletion of old entries of the audit, and of rows about sign-ins.
///
/// The entries in the database have no hashes. An exported file chains the entries that exist when
/// it is written, so a deletion breaks no chain. But a later file must repeat the entries of an
/// earlier one (`--against`). So each deletion is itself an entry, in the same transaction: it has
/// the moment before which entries were deleted, and the number of all entries that were ever
/// deleted. An entry that is missing in a later file is accepted only if such an entry accounts
/// for it: see `AuditFile`.
extension RetentionService {
    /// The act of an entry about deleted entries, and the author of this entry.
    package static let auditAct = "audit.retention"
    private static let author = "retention"
    /// The values of this entry: the moment as in the HTTP API, and the number of all entries that
    /// were deleted since the beginning.
    package static let beforeMember = "before"
    package static let removedMember = "removed"

    /// The maximum number of rows of a table that one transaction deletes.
    static let rowsAtOnce = 5_000

    /// Deletes entries that are older than configured, by whole days in UTC. Returns the number of
    /// deleted entries; 0 if nothing is left.
    ///
    /// Entries about accounts belong to no app. They are deleted only if all apps have configured a
    /// time, after the longest of these times.
    package func deleteOldAuditEntries() async throws(EngineFailure) -> Int {
        let times = context.apps.mapValues(\.retention.audit)
        var count = 0
        for (app, time) in times.sorted(by: { $0.key < $1.key }) {
            guard let time else { continue }
            count += try await deleteAuditEntries(of: app, olderThan: time)
        }
        let all = times.values.compactMap(\.self)
        guard all.count == times.count, let longest = all.max() else { return count }
        return try await count + deleteAuditEntries(of: nil, olderThan: longest)
    }

    private func deleteAuditEntries(
        of app: AppID?, olderThan time: Duration
    ) async throws(EngineFailure) -> Int {
        let day = WallClock.utc.dayNumber(at: context.now() - time)
        let cutoff = WallClock.utc.midnight(ofDay: day)
        let isAny = try await context.read { tx in try tx.audit.hasAny(of: app, before: cutoff) }
        guard isAny else { return 0 }
        return try await context.transaction { tx in
            let last = try tx.audit.last(Self.auditAct, of: app)
            let count = try tx.audit.delete(of: app, before: cutoff, limit: Self.rowsAtOnce)
            guard count > 0 else { return 0 }
            let former = last?.stateAfter?[Self.removedMember].flatMap { Int($0) } ?? 0
            var entry = audit.entry(
                Self.auditAct, by: Self.author,
                [Self.beforeMember: "\(cutoff)", Self.removedMember: "\(former + count)"])
            entry.app = app
            try tx.audit.append(entry)
            return count
        }
    }

    /// Deletes sessions, links, failed attempts, known networks and used sign-ins that have
    /// expired. Returns the number of deleted rows; 0 if nothing is left.
    package func deleteExpiredSignIns() async throws(EngineFailure) -> Int {
        let now = context.now()
        let expiry = SignInExpiry(
            now: now, sessionsUsed: now - operatorSettings.idle,
            failures: now - SessionService.failuresLast, places: now - SessionService.placesLast)
        return try await context.transaction { tx in
            try tx.retention.deleteExpired(expiry, limit: Self.rowsAtOnce)
        }
    }
}
