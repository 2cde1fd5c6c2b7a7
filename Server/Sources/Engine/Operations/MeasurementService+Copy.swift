import Ledger
import Storage

// The copy of the database from which reports are read.
extension MeasurementService {
    /// Measures how far the copy is behind. For each app, this is the time from the newest event in
    /// the copy to the newest event in the database. Returns the largest of these times. Returns
    /// nil if there is no copy.
    ///
    /// - Throws: ``EngineFailure`` if the copy cannot be read.
    package func lagOfCopy() async throws(EngineFailure) -> Duration? {
        guard context.db.copy != nil else { return nil }
        let apps = context.appIDs
        // The copy is read first. Otherwise an event between the two reads would seem to be
        // missing.
        let copied = try await context.scanForReport { tx in try Self.newest(of: apps, tx) }
        let present = try await context.read { tx in try Self.newest(of: apps, tx) }
        return apps.map { app -> Duration in
            guard let newest = present[app] else { return .zero }
            guard let copy = copied[app] else { return max(.zero, context.now() - newest.knownAt) }
            guard copy.sequence < newest.sequence else { return .zero }
            return max(.zero, newest.knownAt - copy.knownAt)
        }.max() ?? .zero
    }

    /// Whether the copy contains this database, and not another one: each app has the same secret
    /// key in both. Returns nil if the copy has no key of an app yet.
    ///
    /// - Throws: ``EngineFailure`` if one of the two cannot be read.
    package func copyIsOfThisDatabase() async throws(EngineFailure) -> Bool? {
        let apps = context.appIDs
        let copied = try await context.scanForReport { tx in try Self.keys(of: apps, tx) }
        let present = try await context.read { tx in try Self.keys(of: apps, tx) }
        if copied == present { return true }
        let isOther = apps.contains { app in
            copied[app].map { $0 != present[app] } ?? false
        }
        return isOther ? false : nil
    }

    private struct NewestEvent: Sendable {
        var sequence: Int64
        var knownAt: Instant
    }

    private static func newest(
        of apps: [AppID], _ tx: DatabaseSession
    ) throws -> [AppID: NewestEvent] {
        var newest: [AppID: NewestEvent] = [:]
        for app in apps {
            newest[app] = try tx.measurements.newestEvent(of: app).map {
                NewestEvent(sequence: $0.sequence, knownAt: $0.knownAt)
            }
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
