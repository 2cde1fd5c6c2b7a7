import Foundation
import StorageSQLite

/// Writes the changes since a backup to the folder of the backups. A file gets its final name only
/// when it is complete and on the disk.
struct ChangeWriter: Sendable {
    /// The full path of the folder of the backups.
    let folder: String
    /// The path of the database.
    let database: String
    /// The public keys of age. If there is none, files are not encrypted.
    let recipients: [String]

    /// Why no further changes can follow the files of a chain. Nil if they can.
    ///
    /// - Throws: ``StartFailure`` if the folder of the backups is missing, for example because its
    ///   disk is not mounted. Then it is unknown whether the files exist.
    func obstacle(for chain: ShippedChain) throws(StartFailure) -> String? {
        let backup = "\(folder)/\(chain.backup)"
        let hasFiles = chain.number == 1 || Disk.exists(ChangeFolder(of: backup).path)
        if Disk.exists(backup), hasFiles { return nil }
        try BackupFolder(path: folder).requireOwner()
        return Disk.exists(backup)
            ? "the files with the changes since \(backup) were removed" : "\(backup) was removed"
    }

    /// The number of the next file of a chain. After a power failure, the chain's own file may be
    /// an older version. Then this number is greater than the number in that file.
    ///
    /// Also deletes files that were incomplete when the server was killed.
    func nextNumber(in chain: ShippedChain) throws(StartFailure) -> Int {
        let changes = ChangeFolder(of: "\(folder)/\(chain.backup)")
        try changes.removeUnfinished()
        return max(chain.number, (try changes.files().last?.number ?? 0) + 1)
    }

    /// Writes the next file of a chain, and returns its path.
    func write(_ segment: ChangeSegment, after chain: ShippedChain) async throws -> String {
        let changes = ChangeFolder(of: "\(folder)/\(chain.backup)")
        let data = segment.data
        if !Disk.exists(changes.path) {
            try FileManager.default.createDirectory(
                atPath: changes.path, withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
            try Disk.syncFolder(of: changes.path)
        }
        try Self.requireRoom(for: Int64(data.count), in: changes.path)
        let file = changes.file(chain.number, with: segment)
        guard recipients.isEmpty else {
            let encrypted = file + EncryptedBackup.suffix
            try await encrypt(data, into: encrypted)
            return encrypted
        }
        try await Disk.makeWhole(file) { part in
            try data.write(to: URL(fileURLWithPath: part))
        }
        return file
    }

    private static func requireRoom(
        for bytes: Int64, in folder: String
    ) throws(StartFailure) {
        try Disk.requireRoom(
            for: bytes + BackupFolder.freeBytesMin, in: folder, "the changes need",
            remedy: "Make room there, or keep fewer backups (`keep:`).")
    }

    /// For a moment, a file beside the database contains the plain text. This reveals nothing,
    /// because the disk of the database contains the same data.
    private func encrypt(_ data: Data, into file: String) async throws {
        let plain = EncryptedBackup.plainChanges(of: database)
        unlink(plain)
        try Disk.make(plain)
        defer { unlink(plain) }
        try data.write(to: URL(fileURLWithPath: plain))
        let age = try AgeProgram()
        try await Disk.makeWhole(file) { part in
            try await age.encrypt(plain, into: part, for: recipients)
        }
    }
}
