import Ledger

/// The epochs of one app's log, and where each of them began.
package struct LogEpochs: Hashable, Sendable {
    struct Mark: Hashable, Sendable {
        var name: String
        /// The number of events that the restored log had when this epoch began.
        var after: Int64
    }

    /// The starts of all epochs but the first, in order.
    var marks: [Mark]

    init(_ marks: [Mark]) { self.marks = marks }

    /// The epochs of a log that was never restored.
    package static let first = Self([])

    /// The name of the present epoch. Nil means the first epoch.
    package var current: String? { marks.last?.name }

    /// The position of an event in the log. The event's id contains this position, and stays the
    /// same through every later restore.
    package func position(of sequence: Int64) -> LogPosition {
        LogPosition(marks.last { $0.after < sequence }?.name, sequence)
    }

    /// The number of events that the present log shares with the log of an earlier epoch. Returns
    /// nil if the epoch is unknown, because a backup from before that epoch was restored.
    package func sharedCount(with epoch: String?) -> Int64? {
        guard let epoch else { return marks.first?.after ?? .max }
        guard let index = marks.firstIndex(where: { $0.name == epoch }) else { return nil }
        return index + 1 < marks.count ? marks[index + 1].after : .max
    }

    /// Whether the present log has the event at a position.
    ///
    /// - Parameter last: the number of the log's last event.
    package func contain(_ position: LogPosition, last: Int64) -> Bool {
        guard let shared = sharedCount(with: position.epoch) else { return false }
        return position.sequence <= min(shared, last)
    }
}

extension EventLog {
    /// The value of the column `app` in a row that stands for every app that had no log when an
    /// epoch began.
    private static let otherApps = ""
    /// A restore moves the start of the next backfill back by this time, so that the backfill is
    /// due at once.
    private static let backfillOverlap = Duration.hours(1)

    /// The epochs of an app's log.
    package func epochs(of app: AppID) throws(StorageFailure) -> LogEpochs {
        // If the app's own row and the row for other apps have the same number, the app's own row
        // comes second and wins.
        var marks: [(number: Int64, mark: LogEpochs.Mark)] = []
        try connection.eachRow(
            "SELECT number, name, after_sequence FROM log_epochs "
                + "WHERE app IN ('\(Self.otherApps)', $1) ORDER BY number, app",
            [.text(app.rawValue)]
        ) { row throws(StorageFailure) in
            let number = try row.integer()
            if marks.last?.number == number { marks.removeLast() }
            marks.append((number, .init(name: try row.text(), after: try row.integer())))
        }
        return LogEpochs(marks.map(\.mark))
    }

    /// Begins a new epoch of every app's log. So later events have different ids from the lost
    /// events that had the same numbers. Idempotent for the same name.
    ///
    /// Notifications that the App Store sent after the backup are lost, too, so a backfill becomes
    /// due at once.
    package func beginEpoch(named name: String, at now: Instant) throws(StorageFailure) {
        let known = try connection.rows(
            "SELECT number FROM log_epochs WHERE app = $1 AND name = $2",
            [.text(Self.otherApps), .text(name)])
        guard known.isEmpty else { return }
        let last = try connection.number(
            "SELECT coalesce(max(number), 1) FROM log_epochs WHERE app = $1",
            [.text(Self.otherApps)])
        let number = last + 1
        var ends: [(app: String, sequence: Int64)] = [(Self.otherApps, 0)]
        try connection.eachRow("SELECT app, last_sequence FROM logs ORDER BY app", []) {
            row throws(StorageFailure) in
            ends.append((try row.text(), try row.integer()))
        }
        try connection.runEach(
            "INSERT INTO log_epochs (app, number, name, after_sequence, began_at_ms) "
                + "VALUES ($1, $2, $3, $4, $5)",
            ends.map {
                [
                    .text($0.app), .integer(number), .text(name), .integer($0.sequence),
                    .integer(now.milliseconds),
                ]
            })
        try connection.run(
            "UPDATE app_stores SET caught_up_to_ms = caught_up_to_ms - $1 "
                + "WHERE caught_up_to_ms IS NOT NULL",
            [.integer(Self.backfillOverlap.wholeMilliseconds)])
    }
}
