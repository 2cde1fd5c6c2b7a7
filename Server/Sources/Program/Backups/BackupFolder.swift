import Foundation
import Ledger
import Storage
import StorageSQLite

/// The folder in which a server keeps the backups of one database.
///
/// The name of a backup contains the time at which the backup was begun. The name of an encrypted
/// backup ends with `.age`. Links, folders, and files with other names do not belong to this
/// program, and are neither counted nor deleted.
struct BackupFolder: Sendable {
    /// One verified backup.
    struct Backup: Hashable, Sendable {
        /// When it was begun, to the second.
        var at: Instant
        var path: String
        var bytes: Int64
    }

    let path: String

    static let prefix = "perennial-"
    private static let suffix = ".sqlite"
    /// The name of the file that identifies the database whose backups the folder contains.
    static let ownerName = "perennial-backups.owner"
    private static let ownerBytesMax = 100
    /// The number of bytes that must stay free on the folder's disk. This protects the database,
    /// which may be on the same disk.
    static let freeBytesMin: Int64 = 67_108_864

    // MARK: - Names

    /// For example `perennial-2026-11-30T083751Z.sqlite`.
    static func name(at moment: Instant) -> String {
        let second = moment.description.prefix("2026-11-30T08:37:51".count)
        return "\(prefix)\(second.replacing(":", with: ""))Z\(suffix)"
    }

    /// The time in the name of a backup; nil for any other name.
    static func moment(of name: String) -> Instant? {
        let encrypted = suffix + EncryptedBackup.suffix
        guard name.hasPrefix(prefix),
            let ending = [suffix, encrypted].first(where: name.hasSuffix)
        else { return nil }
        var digits = Array(name.dropFirst(prefix.count).dropLast(ending.count))
        guard digits.count == "2026-11-30T083751Z".count, digits.last == "Z" else { return nil }
        digits.insert(":", at: 13)
        digits.insert(":", at: 16)
        guard let moment = Instant(String(digits.dropLast()) + ".000Z"),
            moment.milliseconds >= 0
        else { return nil }
        return moment
    }

    func file(at moment: Instant) -> String { "\(path)/\(Self.name(at: moment))" }

    // MARK: - Files

    /// All backups, earliest first.
    ///
    /// - Throws: ``StartFailure`` if the folder cannot be read.
    func backups() throws(StartFailure) -> [Backup] {
        try names().compactMap { name in
            guard let moment = Self.moment(of: name) else { return nil }
            let file = "\(path)/\(name)"
            var status = stat()
            guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            return Backup(at: moment, path: file, bytes: Int64(status.st_size))
        }.sorted { $0.at < $1.at }
    }

    /// Deletes the unfinished files of a server that was killed during a backup. Call this function
    /// while the folder is claimed, so that no backup is in progress.
    func removeUnfinished() throws(StartFailure) {
        for name in try names() {
            guard let end = name.range(of: BackupCopy.partSuffix) else { continue }
            let isOwn = Self.moment(of: String(name[..<end.lowerBound])) != nil
            let isSidecar = BackupCopy.sidecars.contains(String(name[end.upperBound...]))
            if isOwn, isSidecar { unlink("\(path)/\(name)") }
        }
    }

    private func names() throws(StartFailure) -> [String] {
        do { return try FileManager.default.contentsOfDirectory(atPath: path) } catch {
            throw Self.unusable(path)
        }
    }

    // MARK: - Conditions

    /// - Throws: ``StartFailure`` if no server has made backups in the folder. Its disk may not be
    ///   mounted.
    func requireOwner() throws(StartFailure) {
        guard Disk.exists("\(path)/\(Self.ownerName)") else { throw Self.unusable(path) }
    }

    /// - Throws: ``StartFailure`` if this user cannot make files in the folder.
    func requireWritable() throws(StartFailure) {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
            isFolder.boolValue, access(path, R_OK | W_OK | X_OK) == 0
        else { throw Self.unusable(path) }
    }

    /// - Throws: ``StartFailure`` if a copy of the database does not fit on the disk. If the
    ///   database is on the same disk, a copy that fills this disk could stop the server.
    func requireRoom(for database: String) throws(StartFailure) {
        let copied = BackupCopy.size(database) + BackupCopy.size(database + "-wal")
        try Disk.requireRoom(
            for: copied + Self.freeBytesMin, in: path, "a backup needs",
            remedy: "Make room there, keep fewer backups (`keep:`), or name a folder on another "
                + "disk.")
    }

    /// Claims the folder for one run on a database. Other servers cannot claim it until the
    /// returned file is closed.
    ///
    /// - Parameter madeAt: when the tables of the database were made. This moment identifies the
    ///   database.
    /// - Returns: the open file, and whether the folder belonged to no database before.
    /// - Throws: ``StartFailure`` if the folder cannot be used, or belongs to another database.
    ///   Servers of two databases would delete each other's backups.
    func claim(
        forDatabaseMade madeAt: Instant
    ) throws(StartFailure) -> (lock: FileHandle, isNew: Bool) {
        try requireWritable()
        let owner = "\(path)/\(Self.ownerName)"
        let file = open(owner, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, Disk.permissions)
        guard file >= 0 else { throw Self.unusable(path) }
        let lock = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        // On a file system without locks, only the server's lock on the database protects the
        // folder.
        guard flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
            throw StartFailure(
                "Another server is making a backup in \(path).",
                remedy: "Give each server a folder of its own.")
        }
        let text = [UInt8](Self.ownerText(ofDatabaseMade: madeAt).utf8)
        var found = [UInt8](repeating: 0, count: Self.ownerBytesMax)
        let count = pread(file, &found, found.count, 0)
        guard count >= 0 else { throw Disk.failure(owner) }
        // After a crash the file may be empty.
        guard count > 0 else {
            guard pwrite(file, text, text.count, 0) == text.count, fsync(file) == 0 else {
                throw Disk.failure(owner)
            }
            return (lock, true)
        }
        guard found.prefix(count) == text[...] else {
            throw StartFailure(
                "The folder \(path) has the backups of another database.",
                remedy: "Name another folder under `backup:`. If the other database is no longer "
                    + "used, move its backups away, together with \(Self.ownerName).")
        }
        return (lock, false)
    }

    /// The content of the file that says whose backups the folder contains.
    static func ownerText(ofDatabaseMade madeAt: Instant) -> String {
        "The backups in this folder are of the database made at \(madeAt).\n"
    }

    private static func unusable(_ path: String) -> StartFailure {
        StartFailure(
            "The folder of the backups, \(path), does not exist or cannot be written.",
            remedy: "Make it for the server's user: `install -d -o perennial -m 0700 \(path)`. "
                + "Under systemd, also allow it with ReadWritePaths: see docs/backups.md.")
    }
}
