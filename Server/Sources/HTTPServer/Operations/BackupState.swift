import Dashboard
import Ledger

/// The backups that a server makes, at one moment.
package struct BackupState: Hashable, Sendable {
    /// When the newest backup was begun, according to the last check of the folder. Nil if there
    /// was none.
    package var newestAt: Instant?
    /// How long ago the newest backup was begun.
    package var age: Duration?
    /// How long a backup has been due; zero if none is due.
    package var overdue = Duration.zero
    /// The size of the newest backup, in bytes.
    package var bytes: Int64 = 0
    /// The number of backups in the folder.
    package var files = 0
    /// How long the last backup of this process took, with its verification.
    package var duration: Duration?
    /// The number of backups that this process has made.
    package var made = 0
    /// The number of attempts of this process that failed.
    package var failed = 0
    /// Why the last attempt failed, and what to do. Nil if it did not fail.
    package var problem: Problem?
    /// The time since the last moment at which all changes of the database were shipped. Nil if
    /// changes are not shipped.
    package var changesLag: Duration?
    /// Why changes are not shipped, and what to do. Nil if they are shipped, or if this is not
    /// known yet.
    package var changesProblem: Problem?
    /// How long ago everything had been uploaded to the bucket. Nil if there is none.
    package var bucketLag: Duration?
    /// Why the bucket is behind, and what to do. Nil if it is not, or if it is not known yet.
    package var bucketProblem: Problem?

    package struct Problem: Hashable, Sendable {
        package var message: String
        package var remedy: String

        package init(_ message: String, remedy: String) {
            self.message = message
            self.remedy = remedy
        }
    }

    /// A backup that has been due for this long needs attention.
    static let lateAfter = Duration.hours(1)
    /// Changes that were not shipped for this long need attention.
    static let changesLateAfter = Duration.seconds(60)
    /// A bucket that was not up to date for this long needs attention: a large backup takes time.
    static let bucketLateAfter = Duration.hours(1)

    package init() {}

    var isLate: Bool { overdue >= Self.lateAfter }

    /// The newest backup and the number of backups, as a sentence.
    var sentence: String {
        guard let newestAt else { return "There is no backup yet." }
        let mebibytes = (bytes + 1_048_575) >> 20
        return "The newest is from \(newestAt.minute), with \(mebibytes) MiB. "
            + "\(files.counted("backup is", "backups are")) kept."
    }
}

extension Metrics {
    /// Without `backup:` in the configuration, these metrics have no samples.
    static let backups = [
        Metric("perennial_backups_total", "Attempts to back up the database.", by: ["result"]) {
            $0.backup.map { [(["made"], $0.made), (["failed"], $0.failed)] } ?? []
        },
        backup("perennial_backup_age_seconds", "How long ago the newest backup was begun.") {
            $0.age.map { Int($0.components.seconds) }
        },
        backup(
            "perennial_backup_overdue_seconds", "How long a backup has been due; 0 if none is due."
        ) { Int($0.overdue.components.seconds) },
        backup("perennial_backup_bytes", "Bytes of the newest backup.") {
            $0.newestAt == nil ? nil : Int($0.bytes)
        },
        backup(
            "perennial_backup_duration_seconds",
            "Seconds that the last backup took, with its verification."
        ) { $0.duration.map { Int($0.components.seconds) } },
        backup("perennial_backup_files", "Backups in the folder.") { $0.files },
        backup(
            "perennial_backup_changes_lag_seconds",
            "How long ago all changes of the database had been shipped."
        ) { $0.changesLag.map { Int($0.components.seconds) } },
        backup(
            "perennial_backup_bucket_lag_seconds",
            "How long ago everything had been uploaded to the bucket of the backups."
        ) { $0.bucketLag.map { Int($0.components.seconds) } },
    ]

    private static func backup(
        _ name: String, _ help: String, value: @escaping @Sendable (BackupState) -> Int?
    ) -> Metric {
        Metric(name, help, .gauge) { $0.backup.flatMap(value) }
    }
}

extension HealthChecks {
    /// The checks of the backups, and of the shipped changes. Empty if this server makes no
    /// backups.
    var backupChecks: [ChecksPage.Check] {
        guard let state = server.readsBackups?() else { return [] }
        return Self.backupChecks(of: state) + Self.changeChecks(of: state)
            + Self.bucketChecks(of: state)
    }

    private static func bucketChecks(of state: BackupState) -> [ChecksPage.Check] {
        guard let lag = state.bucketLag else { return [] }
        let late =
            state.changesLag == nil ? BackupState.bucketLateAfter : BackupState.changesLateAfter
        guard lag >= late || state.bucketProblem != nil else {
            return [.init("Bucket of the backups", .well, "Everything is uploaded.")]
        }
        let minutes = Int(lag.components.seconds / 60)
        let reason = state.bucketProblem.map { " \($0.message)" } ?? ""
        return [
            .init(
                "Bucket of the backups", .needsYou,
                "It was last up to date \(minutes.counted("minute")) ago.\(reason)",
                remedy: state.bucketProblem?.remedy
                    ?? "If a large backup is being uploaded, wait. Otherwise, look at the log.")
        ]
    }

    private static func changeChecks(of state: BackupState) -> [ChecksPage.Check] {
        guard let lag = state.changesLag else { return [] }
        guard lag >= BackupState.changesLateAfter else {
            return [.init("Changes after backups", .well, "They are shipped every second.")]
        }
        let minutes = Int(lag.components.seconds / 60)
        let reason = state.changesProblem.map { " \($0.message)" } ?? ""
        return [
            .init(
                "Changes after backups", .needsYou,
                "They were last shipped \(minutes.counted("minute")) ago.\(reason)",
                remedy: state.changesProblem?.remedy ?? "Look at the log of this server.")
        ]
    }

    private static func backupChecks(of state: BackupState) -> [ChecksPage.Check] {
        if let problem = state.problem {
            return [
                .init(
                    "Backups", .needsYou, "\(problem.message) \(state.sentence)",
                    remedy: problem.remedy)
            ]
        }
        guard state.isLate else { return [.init("Backups", .well, state.sentence)] }
        return [
            .init(
                "Backups", .needsYou, "One has been due for an hour or longer. \(state.sentence)",
                remedy: "Look at the log of this server.")
        ]
    }
}
