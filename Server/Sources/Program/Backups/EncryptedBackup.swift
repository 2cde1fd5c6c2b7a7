import Foundation
import Storage

/// A backup of a SQLite database that only the holder of a key can read.
///
/// First, a plain copy is made beside the database, and verified. The disk of the database has the
/// same data anyway, and the disk of the backups never gets plain data. The plain copy is deleted
/// as soon as it is encrypted. If the server is killed before that, the copy is deleted at the next
/// backup or start of the server.
struct EncryptedBackup {
    var database: String
    /// The public keys of age.
    var recipients: [String]
    /// Whether pages keep their numbers: see ``BackupCopy``.
    var keepsPages = false

    /// The end of the name of an encrypted backup.
    static let suffix = ".age"
    /// The end of the name of the plain copy.
    static let plainSuffix = ".backing-up"

    private var plain: String { Disk.resolvedName(database) + Self.plainSuffix }

    /// Makes the backup at a path where no file exists.
    ///
    /// - Throws: ``StartFailure``. Then neither the plain copy nor a part of the backup is left.
    func make(at file: String) async throws -> DatabaseContents {
        guard !Disk.exists(file) else { throw Disk.failure(file, EEXIST) }
        let age = try AgeProgram()
        try BackupFolder(path: Disk.folder(of: plain)).requireRoom(for: database)
        removePlain()
        defer { removePlain() }
        let use = try DatabaseUse.shared(of: database)
        defer { use?.release() }
        let contents = try await BackupCopy(of: database, keepingPages: keepsPages)
            .makePart(plain)
        // The free space is checked again, because the plain copy may have used space on the same
        // disk.
        try BackupFolder(path: Disk.folder(of: file)).requireRoom(for: plain)
        try await Disk.makeWhole(file) { part in
            try await age.encrypt(plain, into: part, for: recipients)
        }
        return contents
    }

    /// Deletes the plain copy of a backup that was interrupted. Idempotent.
    func removePlain() { BackupCopy.remove(plain) }

    /// The path of the plain text of changes that are being encrypted.
    static func plainChanges(of database: String) -> String {
        Disk.resolvedName(database) + plainSuffix + ".pages"
    }

    /// Calls a function with the path of a backup that is not encrypted: the backup itself, or a
    /// decrypted copy, which is deleted when the function returns.
    ///
    /// - Parameters:
    ///   - identity: the file with the private key; nil if there is none.
    ///   - place: the path of the decrypted copy.
    static func withPlain<Value>(
        _ backup: String, identity: String?, at place: String,
        _ body: (String) async throws -> Value
    ) async throws -> Value {
        guard AgeProgram.hasEncrypted(backup) else { return try await body(backup) }
        guard let identity else {
            throw StartFailure(
                "\(backup) is encrypted.",
                remedy: "Name the file with its private key with --identity FILE.")
        }
        guard !AgeProgram.hasEncrypted(identity) else {
            throw StartFailure(
                "\(identity) is protected by a passphrase, for which age cannot ask here.",
                remedy: "Decrypt it first, for example `age --decrypt \(identity) >plain.key`, and "
                    + "name that file. Delete it afterwards.")
        }
        let age = try AgeProgram()
        BackupCopy.remove(place)
        defer { BackupCopy.remove(place) }
        try Disk.make(place)
        try await age.decrypt(backup, into: place, with: identity)
        return try await body(place)
    }
}
