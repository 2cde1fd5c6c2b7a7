import Ledger

/// The epochs of one app's log, and where each of them began.
package struct LogEpochs: Hashable, Sendable {
    struct Mark: Hashable, Sendable {
        var name: String
        /// How many events of the epochs before it the restored log had.
        var after: Int64
    }

    /// From the second epoch on, in their order.
    var marks: [Mark]

    init(_ marks: [Mark]) { self.marks = marks }

    /// Of a log that was never restored.
    package static let first = Self([])

    /// Nil: the first.
    package var current: String? { marks.last?.name }

    /// Where an event of the log stands. Its id keeps this place through every later restore.
    package func place(of sequence: Int64) -> LogPlace {
        LogPlace(marks.last { $0.after < sequence }?.name, sequence)
    }

    /// How many events of an earlier epoch's log the present one has; nil for an epoch that is not
    /// among them, because a backup from before it was restored.
    package func shared(with epoch: String?) -> Int64? {
        guard let epoch else { return marks.first?.after ?? .max }
        guard let index = marks.firstIndex(where: { $0.name == epoch }) else { return nil }
        return index + 1 < marks.count ? marks[index + 1].after : .max
    }
}

extension StoreTransaction {
    /// Stands for every app that had no log when an epoch began.
    private static let otherApps = ""
    /// After a restore, lost notifications are asked for from so much earlier than they would be,
    /// so that it is due at once.
    private static let askedAgain = Duration.hours(1)

    /// The epochs of an app's log.
    package func logEpochs(of app: AppID) throws(StorageFailure) -> LogEpochs {
        // Of one number the app's own row comes second, and counts.
        let rows = try connection.rows(
            "SELECT number, name, after_sequence FROM log_epochs "
                + "WHERE app IN ('\(Self.otherApps)', $1) ORDER BY number, app",
            [.text(app.rawValue)])
        var marks: [(number: Int64, mark: LogEpochs.Mark)] = []
        for row in rows {
            let number = try row.integer(0)
            if marks.last?.number == number { marks.removeLast() }
            marks.append((number, .init(name: try row.text(1), after: try row.integer(2))))
        }
        return LogEpochs(marks.map(\.mark))
    }

    /// Begins a new epoch of every app's log: what is told from now on has other ids than what a
    /// lost log told under the same numbers. Harmless to repeat with the same name.
    ///
    /// What the App Store said after the backup was made is lost with it, so asking for it is made
    /// due at once.
    package func beginEpoch(named name: String, at now: Instant) throws(StorageFailure) {
        let known = try connection.rows(
            "SELECT number FROM log_epochs WHERE app = $1 AND name = $2",
            [.text(Self.otherApps), .text(name)])
        guard known.isEmpty else { return }
        let last = try connection.rows(
            "SELECT coalesce(max(number), 1) FROM log_epochs WHERE app = $1",
            [.text(Self.otherApps)])
        let number = try last[0].integer(0) + 1
        var ends: [(app: String, sequence: Int64)] = [(Self.otherApps, 0)]
        for row in try connection.rows("SELECT app, last_sequence FROM logs ORDER BY app", []) {
            ends.append((try row.text(0), try row.integer(1)))
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
            [.integer(Self.askedAgain.wholeMilliseconds)])
    }
}
