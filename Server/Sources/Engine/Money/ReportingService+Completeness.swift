import Ledger
import Storage

// How far a report is complete.
extension ReportingService {
    /// Reads the rows of a report. Returns them with the time up to which they contain all changes
    /// of an app. Nil if a copy was read that contains no event of the app.
    ///
    /// Rows from the database itself are complete when they are read, because a change is recorded
    /// in one transaction with its rows about money. A copy is complete if it has the app's newest
    /// event. Otherwise it contains all changes up to the newest event that it has.
    func scanWithCompleteness<Value: Sendable>(
        of app: AppID, _ body: @escaping @Sendable (DatabaseSession) throws -> Value
    ) async throws(EngineFailure) -> (value: Value, completeUntil: Instant?) {
        let start = context.now()
        let (value, copied, isStandby) = try await context.scanForReport { tx in
            (try body(tx), try Self.newestEvent(of: app, tx), try tx.measurements.isStandby())
        }
        guard context.db.copy != nil else {
            // A command may read a standby. It does not read the primary.
            return (value, isStandby ? copied?.knownAt : start)
        }
        // The time is read before the event. Otherwise an event between the two reads would seem
        // to be known.
        let now = context.now()
        // Reports from a copy continue while the primary cannot be read. Then it is not known
        // whether the copy is complete.
        let isComplete = try? await context.read { tx in
            try Self.newestEvent(of: app, tx)?.sequence == copied?.sequence
        }
        return (value, isComplete == true ? now : copied?.knownAt)
    }

    private struct NewestEvent: Sendable {
        var sequence: Int64
        var knownAt: Instant
    }

    private static func newestEvent(
        of app: AppID, _ tx: DatabaseSession
    ) throws -> NewestEvent? {
        try tx.measurements.newestEvent(of: app).map {
            NewestEvent(sequence: $0.sequence, knownAt: $0.knownAt)
        }
    }
}
