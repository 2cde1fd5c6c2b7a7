import Ledger

/// How far the derived rows and the event log are behind, for metrics. Each query reads a limited
/// number of rows.
package struct MeasurementRows: RowGroup {
    package let tx: DatabaseSession

    /// The maximum number of rows that one query counts.
    package static let countMax = 10_000

    /// The number of an app's committed events that have no log number yet, and the time when the
    /// oldest of them was committed. Nobody can read an event without a number.
    package func unnumberedEvents(of app: AppID) throws(StorageFailure) -> QueueBacklog {
        guard dialect == .postgres else { return QueueBacklog(count: 0, oldest: nil) }
        return try backlog(
            "SELECT count(*), min(known_at_ms) FROM (SELECT known_at_ms FROM pending_events "
                + "WHERE app = $1 ORDER BY position LIMIT $2) AS waiting", of: app)
    }

    /// The number of the newest event of an app, and when its change became known. Nil if there is
    /// no event.
    package func newestEvent(
        of app: AppID
    ) throws(StorageFailure) -> (sequence: Int64, knownAt: Instant)? {
        try connection.firstRow(
            "SELECT sequence, known_at_ms FROM events WHERE app = $1 "
                + "ORDER BY sequence DESC LIMIT 1", [.text(app.rawValue)]
        ) { row throws(StorageFailure) in (try row.integer(), try row.instant()) }
    }

    /// The number of waiting changes, which the sums of movements do not contain yet, and the time
    /// when the oldest of these changes was recorded. If there are more than ``countMax``, the
    /// oldest may be missing.
    package func unsummedChanges(of app: AppID) throws(StorageFailure) -> QueueBacklog {
        try backlog(
            "SELECT count(*), min(known_at_ms) FROM (SELECT known_at_ms FROM money_changes "
                + "WHERE app = $1 LIMIT $2) AS waiting", of: app)
    }

    /// When the oldest change that time alone causes became due; nil if no such change is due.
    package func oldestDueTransition(
        of app: AppID, at now: Instant
    ) throws(StorageFailure) -> Instant? {
        let purchase = try oldestDue(
            "SELECT next_change_at_ms FROM purchases WHERE app = $1 AND next_change_at_ms <= $2 "
                + "ORDER BY next_change_at_ms LIMIT 1", of: app, at: now)
        let grant = try oldestDue(
            "SELECT next_change_at_ms FROM grants WHERE app = $1 AND next_change_at_ms <= $2 "
                + "ORDER BY next_change_at_ms LIMIT 1", of: app, at: now)
        return [purchase, grant].compactMap(\.self).min()
    }

    private func oldestDue(
        _ select: String, of app: AppID, at now: Instant
    ) throws(StorageFailure) -> Instant? {
        try connection.firstRow(
            select, [.text(app.rawValue), .integer(now.milliseconds)]
        ) { row throws(StorageFailure) in try row.instant() }
    }

    /// The size of the database in bytes, without SQLite's write-ahead log. For a distributed
    /// PostgreSQL, the size of the part on the coordinator.
    package func databaseBytes() throws(StorageFailure) -> Int64 {
        try connection.number(
            dialect == .sqlite
                ? "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
                : "SELECT pg_database_size(current_database())")
    }

    /// Whether this is a standby of PostgreSQL, which may lack the newest changes. A copy made by
    /// logical replication is not recognized.
    package func isStandby() throws(StorageFailure) -> Bool {
        guard dialect == .postgres else { return false }
        return try connection.number("SELECT pg_is_in_recovery()::int") == 1
    }

    private func backlog(
        _ select: String, of app: AppID
    ) throws(StorageFailure) -> QueueBacklog {
        try connection.rows(select, [.text(app.rawValue), .integer(Int64(Self.countMax))]) {
            row throws(StorageFailure) in
            QueueBacklog(count: try row.count(), oldest: try row.optionalInstant())
        }[0]
    }
}
