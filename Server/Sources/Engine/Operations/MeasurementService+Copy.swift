import Ledger
import Storage

// The copy of the database from which reports are read.
extension MeasurementService {
    /// Measures how far the copy is behind. For each app, this is the time from the newest event in
    /// the copy to the newest event in the database. Returns the largest of these times. Returns
    /// nil if there is no copy.
    ///
    /// - Throws: ``EngineFailure`` if the copy cannot be read, or if it has another history.
    package func lagOfCopy() async throws(EngineFailure) -> Duration? {
        guard context.db.copy != nil else { return nil }
        let apps = context.appIDs
        // The copy is read first. Otherwise an event between the two reads would seem to be
        // missing.
        let copied = try await context.scanForReport { tx in try Self.newest(of: apps, tx) }
        let present = try await context.read { tx in try Self.newest(of: apps, tx) }
        guard !Self.isOtherHistory(copied, than: present) else {
            throw .storage("the copy has events that this database does not have")
        }
        return apps.map { app -> Duration in
            guard let newest = present[app] else { return .zero }
            guard let copy = copied[app] else { return max(.zero, context.now() - newest.knownAt) }
            guard copy.sequence < newest.sequence else { return .zero }
            return max(.zero, newest.knownAt - copy.knownAt)
        }.max() ?? .zero
    }

    /// Whether the copy contains this database, and not another one: each app has the same secret
    /// key in both, and this database has the copy's newest event. Returns nil if the copy has no
    /// key of an app yet.
    ///
    /// - Throws: ``EngineFailure`` if one of the two cannot be read.
    package func copyIsOfThisDatabase() async throws(EngineFailure) -> Bool? {
        let apps = context.appIDs
        let (copied, copiedEvents) = try await context.scanForReport { tx in
            (try Self.keys(of: apps, tx), try Self.newest(of: apps, tx))
        }
        let (present, events) = try await context.read { tx in
            (try Self.keys(of: apps, tx), try Self.newest(of: apps, tx))
        }
        if Self.isOtherHistory(copiedEvents, than: events) { return false }
        if copied == present { return true }
        let isOther = apps.contains { app in
            copied[app].map { $0 != present[app] } ?? false
        }
        return isOther ? false : nil
    }

    private struct NewestEvent: Sendable {
        var sequence: Int64
        var knownAt: Instant
        var epochs: LogEpochs
    }

    /// Whether a copy that was read earlier has an event that this database does not have, for
    /// example because the database was restored, and the copy was not.
    private static func isOtherHistory(
        _ copied: [AppID: NewestEvent], than present: [AppID: NewestEvent]
    ) -> Bool {
        copied.contains { app, copy in
            guard let newest = present[app] else { return true }
            return !newest.epochs.contain(
                LogPosition(copy.epochs.current, copy.sequence), last: newest.sequence)
        }
    }

    private static func newest(
        of apps: [AppID], _ tx: DatabaseSession
    ) throws -> [AppID: NewestEvent] {
        var newest: [AppID: NewestEvent] = [:]
        for app in apps {
            guard let event = try tx.measurements.newestEvent(of: app) else { continue }
            newest[app] = NewestEvent(
                sequence: event.sequence, knownAt: event.knownAt,
                epochs: try tx.events.epochs(of: app))
        }
        return newest
    }

    private static func keys(
        of apps: [AppID], _ tx: DatabaseSession
    ) throws -> [AppID: [UInt8]] {
        var keys: [AppID: [UInt8]] = [:]
        for app in apps { keys[app] = try tx.erasedIDs.storedKey(of: app) }
        return keys
    }
}
