import Engine
import Foundation
import Ledger
import Logging
import Storage
import StorageSQLite

/// A trial restore: restores a backup into a temporary folder, verifies it there, and deletes the
/// folder. Neither the backup nor the server's database is touched.
struct RestoreDrill {
    var backup: BackupFolder.Backup
    /// The changes after the backup that are applied to it. Nil if there are none.
    var changes: PointInTime?
    /// The apps of the configuration, whose documents are verified again.
    var apps: [AppConfiguration]
    var now: Instant
    /// The file with the private key of an encrypted backup.
    var identity: String?
    /// How the backup is shown if it was downloaded. Nil for its path.
    var address: String?

    struct Outcome: Sendable {
        var contents: DatabaseContents
        var rebuild: RebuildReport
        var duration: Duration
    }

    /// The word that names the newest backup in the folder of the configuration.
    static let newest = "newest"

    /// - Parameter progress: called with the number of documents verified so far, and the number of
    ///   all documents.
    /// - Throws: ``StartFailure`` if the backup cannot be restored.
    func run(
        progress: @escaping @Sendable (Int, Int) -> Void = { _, _ in }
    ) async throws -> Outcome {
        let began = ContinuousClock.now
        let place = try TemporaryPlace(named: "drill")
        defer { place.remove() }
        let folder = place.folder
        try requireRoom(in: folder)
        let restored = folder + "/perennial.sqlite"
        let outcome = try await DatabaseRestore(
            backup: backup.path, path: restored, now: now, identity: identity, changes: changes
        ).run()
        try await requireIntact()
        var logger = Logger(label: "drill")
        logger.logLevel = .critical
        let assembly = try await Assembly(
            apps: apps, databaseAddress: restored, for: .inspecting, now: { [now] in now },
            logger: logger)
        defer { assembly.database.close() }
        let report = try await RebuildCommand.report(
            of: assembly.engine, verify: true, progress: progress)
        return Outcome(
            contents: outcome.contents, rebuild: report, duration: ContinuousClock.now - began)
    }

    /// Checks the pages of the backup itself. Checking the restored copy is not enough, because its
    /// pages are written anew and may be intact even if the backup is damaged. An encrypted backup
    /// needs no check: if it is damaged, it cannot be decrypted.
    ///
    /// Not inlined for the same reason as ``BackupCopy/contents(of:)``.
    ///
    /// - Throws: ``StartFailure`` if a page is damaged.
    @inline(never)
    private func requireIntact() async throws {
        guard !AgeProgram.hasEncrypted(backup.path) else { return }
        var damage: [String]
        do {
            damage = try await SQLiteFile(backup.path).read { connection in
                try connection.texts("PRAGMA integrity_check(5)")
            }
        } catch { damage = ["\(error)"] }
        damage.removeAll { $0 == "ok" }
        guard damage.isEmpty else {
            throw StartFailure(
                "\(backup.path) is damaged, although its rows can be restored: "
                    + "\(damage.joined(separator: "; ")).",
                remedy: "Check the disk of the backups, and make a new backup.")
        }
    }

    private func requireRoom(in folder: String) throws(StartFailure) {
        // An encrypted backup needs room for two copies: the decrypted one, and the restored one.
        // Applying changes needs one more copy.
        let copies = 1 + (AgeProgram.hasEncrypted(backup.path) ? 1 : 0) + (changes == nil ? 0 : 1)
        try Disk.requireRoom(
            for: backup.bytes * Int64(copies), in: folder, "the drill needs",
            remedy: "Name a folder on a larger disk with the variable TMPDIR.")
    }
}

extension RestoreDrill {
    /// Finds the backup that a drill is about.
    ///
    /// - Parameters:
    ///   - name: the path of a file, or ``newest``.
    ///   - folder: the folder of the configuration's backups; nil if the configuration has no
    ///     backups.
    static func backup(
        named name: String, in folder: BackupFolder?, at now: Instant
    ) throws(StartFailure) -> BackupFolder.Backup {
        guard name == newest else { return try file(at: name) }
        guard let folder else {
            throw StartFailure(
                "The configuration has no `backup:`, so no folder has its newest backup.",
                remedy: "Name a file with --backup FILE, or add `backup:`: see docs/backups.md.")
        }
        guard let backup = try folder.backups().last(where: { $0.at <= now }) else {
            throw StartFailure(
                "There is no backup in \(folder.path).",
                remedy: "Let the server make one, or name a file with --backup FILE.")
        }
        return backup
    }

    /// If a file's name does not contain the time of the backup, the time of the file's last change
    /// is used.
    private static func file(at path: String) throws(StartFailure) -> BackupFolder.Backup {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw StartFailure(
                "There is no backup at \(path).",
                remedy: "Name a file that `perennial backup` or the server made.")
        }
        let changed = Instant(milliseconds: Int64(status.st_mtim.tv_sec) * 1000)
        let name = URL(filePath: path).lastPathComponent
        return BackupFolder.Backup(
            at: BackupFolder.moment(of: name) ?? changed, path: path,
            bytes: Int64(status.st_size))
    }

    /// The findings, as the lines that the command prints.
    func lines(of outcome: Outcome) -> [String] {
        let mebibytes = (backup.bytes + 1_048_575) >> 20
        let contents = outcome.contents
        return [
            "\(address ?? backup.path): \(mebibytes) MiB, from \(backup.at.minute), "
                + "\(Self.words(for: now - backup.at)) ago",
            "restored: \(contents.documents.counted("document")), "
                + "\(contents.customers.counted("customer")), "
                + "\(contents.events.counted("event")); no page is damaged, no event is missing",
        ] + RebuildCommand.lines(of: outcome.rebuild, verify: true)
    }

    /// A duration in whole minutes, hours or days.
    static func words(for duration: Duration) -> String {
        let minutes = max(0, duration.components.seconds / 60)
        if minutes < 120 { return minutes.counted("minute") }
        if minutes < 2880 { return (minutes / 60).counted("hour") }
        return (minutes / 1440).counted("day")
    }
}
