import Foundation
import HTTPServer
import Ledger
import Logging
import ServiceLifecycle
import Storage
import StorageSQLite
import Synchronization

/// Backs up a SQLite database while a server runs on it, whenever a backup is due.
///
/// The next backup is due a fixed time after the newest one in the folder. So a restart neither
/// causes an extra backup nor prevents one. A failure is reported, and never stops the server.
final class BackupWorker: Service {
    /// The time between two checks of the folder.
    static let pause = Duration.seconds(60)
    /// The time between two checks of the folder if changes are shipped. It is shorter, because
    /// shipping may need another backup at any time.
    private static let pauseOfShipper = Duration.seconds(5)
    /// The time for which shipped changes are kept. For an earlier time, only the backups are kept.
    static let changesKept = Duration.days(7)
    /// Attempts that fail are repeated after growing pauses.
    private static let backoff = ExponentialBackoff(first: pause, longest: .hours(1))
    /// The pauses between attempts if changes are shipped. They are shorter, because shipping may
    /// be waiting for the backup.
    private static let backoffOfShipper = ExponentialBackoff(first: pause, longest: .seconds(300))

    private let settings: BackupSettings
    private let folder: BackupFolder
    private let database: String
    private let now: @Sendable () -> Instant
    private let logger: Logger
    private let shipper: ChangeShipper?
    private let mirror: BucketMirror?
    private let startedAt: Instant
    private let latest = Mutex(Latest())
    private let line = KeyedLock()

    /// The backups and the state at the time of the last check of the folder.
    private struct Latest {
        var backups: [BackupFolder.Backup] = []
        var state = BackupState()
    }

    /// - Parameters:
    ///   - folder: the full path of the folder of the settings.
    ///   - database: the path of the database.
    ///   - shipper: ships changes between backups; nil if they are not shipped.
    ///   - mirror: uploads everything to a bucket; nil if there is none.
    init(
        _ settings: BackupSettings, in folder: String, of database: String,
        now: @escaping @Sendable () -> Instant = { .machine }, shipper: ChangeShipper? = nil,
        mirror: BucketMirror? = nil, logger: Logger
    ) {
        self.shipper = shipper
        self.mirror = mirror
        self.settings = settings
        self.folder = BackupFolder(path: folder)
        self.database = database
        self.now = now
        self.logger = logger
        startedAt = now()
        if let shipper {
            mirror?.follow {
                .init(backup: shipper.backup, at: shipper.shippedAt)
            } abandon: {
                await shipper.leave($0)
            }
        }
    }

    /// The worker, and what ships changes and uploads files for it.
    var services: [any Service] {
        ([mirror, shipper, self] as [(any Service)?]).compactMap(\.self)
    }

    /// Ships and uploads what was written until the server's end.
    func shipRest() async {
        await shipper?.shipRest()
        await mirror?.uploadRest()
    }

    /// Does not run on the threads of the event loops, because these must not wait for the disk.
    func run() async {
        await withTaskExecutorPreference(globalConcurrentExecutor) {
            await cancelWhenGracefulShutdown {
                var failures = 0
                repeat {
                    failures = await self.makeIfDue() ? 0 : failures + 1
                    let (usual, backoff) =
                        self.shipper == nil
                        ? (Self.pause, Self.backoff) : (Self.pauseOfShipper, Self.backoffOfShipper)
                    let pause = max(usual, backoff.delay(after: failures))
                    guard (try? await Task.sleep(for: pause)) != nil else { return }
                } while !Task.isCancelled
            }
        }
    }

    /// The state at this moment.
    var state: BackupState {
        let now = now()
        return latest.withLock { latest in
            var state = latest.state
            let newest = Self.newest(of: latest.backups, at: now)
            state.files = latest.backups.count
            state.newestAt = newest?.at
            state.age = newest.map { now - $0.at }
            state.bytes = newest?.bytes ?? 0
            state.overdue = max(.zero, now - dueAt(after: newest, at: now))
            (state.changesLag, state.changesProblem) = (shipper?.lag, shipper?.problem)
            (state.bucketLag, state.bucketProblem) = (mirror?.lag, mirror?.problem)
            return state
        }
    }

    /// Makes a backup if one is due. Concurrent calls run one after the other. Returns false if the
    /// backup failed.
    func makeIfDue() async -> Bool {
        await line.lock()
        defer { line.unlock() }
        do {
            try await makeInFolder()
            latest.withLock { $0.state.problem = nil }
            return true
        } catch {
            // The backup was cancelled because the server stops. The unfinished file was deleted.
            guard !Task.isCancelled else { return true }
            report(error)
            return false
        }
    }

    private func makeInFolder() async throws {
        let (lock, isNew) = try folder.claim(
            forDatabaseMade: try await SQLiteFile(database).madeAt)
        defer { try? lock.close() }
        if isNew {
            logger.notice(
                "the folder of the backups belongs to this database from now on",
                metadata: ["folder": .string(folder.path)])
        }
        try folder.removeUnfinished()
        encrypted.removePlain()
        let now = now()
        try deleteExpired(among: try readFolder(), at: now)
        let newest = Self.newest(of: try readFolder(), at: now)
        let isDue = dueAt(after: newest, at: now) <= now
        guard isDue || shipper?.wantsBackup == true else { return }
        try folder.requireRoom(for: database)
        let began = ContinuousClock.now
        let (file, contents) = try await make(at: now)
        let duration = ContinuousClock.now - began
        latest.withLock { latest in
            latest.state.made += 1
            latest.state.duration = duration
        }
        logger.notice(
            "the database was backed up",
            metadata: [
                "file": .string(file), "documents": "\(contents.documents)",
                "seconds": "\(duration.components.seconds)",
            ])
        try deleteExpired(among: try readFolder(), at: now)
        _ = try readFolder()
    }

    private var encrypted: EncryptedBackup {
        EncryptedBackup(
            database: database, recipients: settings.recipients, keepsPages: shipper != nil)
    }

    private func make(at moment: Instant) async throws -> (file: String, DatabaseContents) {
        guard let shipper else {
            let made = try await copy(at: moment)
            mirror?.compareSoon()
            return made
        }
        return try await shipper.backUp {
            let made = try await copy(at: moment)
            // Until it is in the bucket, changes go on after the former one, which is there.
            await mirror?.upload(backup: made.file) { shipper.hasRoomInLog }
            // If the server stops, they go on after the former one at the next start.
            try Task.checkCancellation()
            return made
        }
    }

    private func copy(at moment: Instant) async throws -> (file: String, DatabaseContents) {
        let plain = folder.file(at: moment)
        guard settings.recipients.isEmpty else {
            let file = plain + EncryptedBackup.suffix
            return (file, try await encrypted.make(at: file))
        }
        let copy = BackupCopy(of: database, keepingPages: shipper != nil)
        return (plain, try await copy.make(at: plain))
    }

    /// The backups in the folder.
    private func readFolder() throws -> [BackupFolder.Backup] {
        let backups = try folder.backups()
        latest.withLock { $0.backups = backups }
        return backups
    }

    private func deleteExpired(among backups: [BackupFolder.Backup], at now: Instant) throws {
        let expired = Set(settings.keep.expired(among: backups.map(\.at), at: now))
        for backup in backups where expired.contains(backup.at) {
            // Changes can only be restored together with their backup.
            try ChangeFolder(of: backup.path).remove()
            guard unlink(backup.path) == 0 || errno == ENOENT else {
                throw Disk.failure(backup.path)
            }
        }
        for (backup, next) in zip(backups, backups.dropFirst())
        where next.at < now - Self.changesKept {
            try ChangeFolder(of: backup.path).remove()
        }
    }

    private func report(_ error: any Error) {
        let failure =
            error as? StartFailure
            ?? StartFailure(
                "The database could not be backed up: \(error).",
                remedy: "Run `perennial backup` to see whether the database can be copied.")
        latest.withLock { latest in
            latest.state.failed += 1
            latest.state.problem = .init(failure.message, remedy: failure.remedy)
        }
        logger.error(
            "the database was not backed up",
            metadata: ["problem": .string("\(failure.message) \(failure.remedy)")])
    }

    /// The newest backup before `now`. Backups whose time is later than `now` were made while the
    /// clock was ahead, so the next due time does not depend on them.
    private static func newest(
        of backups: [BackupFolder.Backup], at now: Instant
    ) -> BackupFolder.Backup? {
        backups.last { $0.at <= now }
    }

    /// When the next backup is due. The first backup is due when the server starts, or now if the
    /// clock was ahead at the start.
    private func dueAt(after newest: BackupFolder.Backup?, at now: Instant) -> Instant {
        newest.map { $0.at + settings.every } ?? min(startedAt, now)
    }
}

extension SQLiteFile {
    /// When the tables of the database were made, which identifies it.
    var madeAt: Instant {
        get async throws {
            Instant(milliseconds: try await read { try DatabaseContents.madeAt($0) })
        }
    }
}
