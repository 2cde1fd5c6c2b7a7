import Foundation
import Ledger
import Storage
import StorageSQLite

/// Replaces a SQLite database with a backup. During the restore, no server may run on the database,
/// and no command may have it open.
struct DatabaseRestore {
    var backup: String
    /// The path of the database.
    var path: String
    var now: Instant
    /// The file with the private key of an encrypted backup.
    var identity: String?
    /// The changes after the backup that are applied to it. Nil if there are none.
    private var changes: PointInTime?
    /// Called with the path of the restored database, before it gets its name.
    private var prepare: @Sendable (String) async throws -> Void
    private var progress: @Sendable (BackupCopy.Progress) -> Void

    struct Outcome: Sendable {
        var contents: DatabaseContents
        /// The path at which the replaced database is kept; nil if there was none.
        var aside: String?
        /// The new epoch of the logs.
        var epoch: String
    }

    private var sidecars: [String] { ["-wal", "-shm", "-journal"] }

    /// - Parameters:
    ///   - path: the path of the database. A symbolic link stays, and its target is replaced.
    ///   - identity: the file with the private key of an encrypted backup.
    ///   - changes: the changes after the backup that are applied to it.
    ///   - prepare: called with the path of the restored database, before it gets its name.
    ///   - progress: called with the progress of the copy of the backup.
    init(
        backup: String, path: String, now: Instant, identity: String? = nil,
        changes: PointInTime? = nil,
        prepare: @escaping @Sendable (String) async throws -> Void = { _ in },
        progress: @escaping @Sendable (BackupCopy.Progress) -> Void = { _ in }
    ) {
        self.backup = backup
        self.path = Disk.resolved(path) ?? path
        self.now = now
        self.identity = identity
        self.changes = changes
        self.prepare = prepare
        self.progress = progress
    }

    /// Prepares everything next to the database, and then gives the restored database its name in
    /// one step. Before that step the old database stays in place, even if the power fails.
    func run() async throws -> Outcome {
        try requireDistinctFiles()
        let lock = try ServerLock.acquire(for: path)
        defer { lock?.release() }
        let use = try DatabaseUse.alone(of: path)
        defer { use?.release() }
        let fresh = path + ".restoring"
        BackupCopy.remove(fresh)
        let contents = try await EncryptedBackup.withPlain(
            backup, identity: identity, at: path + ".decrypted"
        ) { plain in
            try await makeFresh(fresh, from: plain)
        }
        defer { unlink(fresh + DatabaseUse.suffix) }
        do {
            try Task.checkCancellation()
            let epoch = try await beginEpoch(in: fresh)
            try await prepare(fresh)
            if let status = FileStatus(path: path) { try status.apply(to: fresh, of: path) }
            try await SQLiteFile(fresh).close()
            try Disk.sync(fresh)
            // Changes of the former database are no longer shipped. Changes of the restored
            // database are not shipped yet.
            ShippedChain.remove(of: path)
            let aside = try await moveAside()
            try Disk.rename(fresh, to: path)
            LogPlaceFile(for: path)?.remove()
            try Disk.syncFolder(of: path)
            return Outcome(contents: contents, aside: aside, epoch: epoch)
        } catch {
            BackupCopy.remove(fresh)
            throw error
        }
    }

    private func makeFresh(_ fresh: String, from plain: String) async throws -> DatabaseContents {
        guard let changes else {
            return try await BackupCopy(of: plain).makePart(fresh, progress: progress)
        }
        // The changes are applied to a copy, because the backup must stay unchanged.
        let copy = path + ".replaying"
        BackupCopy.remove(copy)
        defer { BackupCopy.remove(copy) }
        try Disk.make(copy)
        try Disk.copy(plain, into: copy)
        try await changes.apply(to: copy, identity: identity)
        try await changes.requireIntact(copy)
        return try await BackupCopy(of: copy).makePart(fresh, progress: progress)
    }

    private func requireDistinctFiles() throws {
        guard let status = FileStatus(path: backup) else {
            throw StartFailure(
                "There is no backup at \(backup).",
                remedy: "Name a file that `perennial backup` made.")
        }
        if let present = FileStatus(path: path), present.isSameFile(as: status) {
            throw StartFailure(
                "\(backup) is the database itself.",
                remedy: "Name the backup first, and the database with --database.")
        }
    }

    /// Begins a new epoch. The restored log continues its numbers from the end of the backup: see
    /// ``LogPlaceFile``.
    private func beginEpoch(in file: String) async throws -> String {
        // The file is private to this command, so it is opened without a server lock.
        let store = Database(try SQLiteDriver(path: file))
        defer { store.driver.close() }
        return try await store.beginEpoch(at: now)
    }

    // MARK: - The replaced database

    /// Gives the current database a second name, under which it is kept. Returns that name, or nil
    /// if there is no database.
    private func moveAside() async throws -> String? {
        guard Disk.exists(path) else {
            // If the database is missing but its log is not, SQLite would use this log for the
            // restored database.
            for suffix in sidecars where Disk.exists(path + suffix) {
                try Disk.renameExclusively(path + suffix, aside + suffix)
            }
            return nil
        }
        let isReadable = try await checkpoint()
        let isInUse = ["-wal", "-journal"].contains { Disk.exists(path + $0) }
        guard !isReadable || !isInUse else {
            // A process that could not take the lock, or another program, has the database open.
            throw DatabaseUse.inUse(path)
        }
        if isReadable, link(path, aside) == 0 {
            try Disk.syncFolder(of: path)
            return aside
        }
        // The database is damaged, or its file system does not support hard links. It is renamed
        // instead, so it is missing for a moment. Its log is moved last, because the database
        // without its log would lack the latest writes.
        try Disk.renameExclusively(path, aside)
        for suffix in sidecars where Disk.exists(path + suffix) {
            try Disk.renameExclusively(path + suffix, aside + suffix)
        }
        try Disk.syncFolder(of: path)
        return aside
    }

    /// Moves the write-ahead log into the database file. Returns false if the database is too
    /// damaged to be opened, which may be the reason for the restore.
    private func checkpoint() async throws -> Bool {
        do {
            try await SQLiteFile(path).checkpoint()
            return true
        } catch let failure as StorageFailure where failure.kind == .busy {
            throw StartFailure(
                "Another program works on the database \(path): \(failure).",
                remedy: "Let it end, then restore.")
        } catch { return false }
    }

    /// For example `perennial.sqlite.replaced-1795248000000`.
    private var aside: String { "\(path).replaced-\(now.milliseconds)" }
}

extension Database {
    /// Begins a new epoch of every app's log, in a database of this schema version or an older one.
    func beginEpoch(at now: Instant) async throws -> String {
        try await migrate(at: now.milliseconds)
        var random = SystemRandomNumberGenerator()
        let epoch = LogPosition.newEpoch(by: &random)
        try await transaction { tx in try tx.events.beginEpoch(named: epoch, at: now) }
        return epoch
    }
}
