import Foundation
import Ledger
import StorageSQLite

/// The folder `….changes` beside a backup, with the changes since this backup. For each second with
/// changes it contains a file `NUMBER-MOMENT-FROM-TO.pages`.
///
/// FROM and TO are the checksums of two places in the write-ahead log. A file follows another file
/// if its FROM equals the TO of that file. If one reading of the log is split into several files,
/// the names of all but the last end with `-more.pages`. The name of an encrypted file ends with
/// `.age`.
struct ChangeFolder: Hashable, Sendable {
    struct File: Hashable, Sendable {
        /// The order in which files were written, from 1.
        var number: Int
        var moment: Instant
        /// The checksums of the places before and after the changes.
        var from: UInt64
        var to: UInt64
        /// Whether reading stopped at a limit before the end of the log. Pages of the backup may
        /// then be newer than the pages of this file, so a restore must not end with this file.
        var hasMore: Bool
        var path: String
        /// The size in bytes; 0 if it was not read.
        var bytes: Int64 = 0
    }

    let path: String

    static let suffix = ".changes"
    private static let fileSuffix = ".pages"
    private static let moreMark = "more"
    /// The maximum number of files after one backup. When it is reached, another backup is due.
    static let filesMax = 200_000

    /// The folder of a backup.
    ///
    /// - Parameter backup: the path of the backup, whether encrypted or not.
    init(of backup: String) {
        let plain =
            backup.hasSuffix(EncryptedBackup.suffix)
            ? String(backup.dropLast(EncryptedBackup.suffix.count)) : backup
        path = plain + Self.suffix
    }

    /// The path of a file that is not encrypted.
    func file(_ number: Int, with segment: ChangeSegment) -> String {
        let digits = String(number)
        let padded = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        let (from, to) = (segment.from.checksum, segment.changes.end.checksum)
        let more = segment.changes.hasMore ? "-\(Self.moreMark)" : ""
        return "\(path)/\(padded)-\(segment.moment.milliseconds)"
            + "-\(String(from, radix: 16))-\(String(to, radix: 16))\(more)\(Self.fileSuffix)"
    }

    /// All files, in their order. Empty if there is no such folder.
    ///
    /// - Throws: ``StartFailure`` if the folder cannot be read.
    func files() throws(StartFailure) -> [File] {
        guard Disk.exists(path) else { return [] }
        return try names().compactMap { file(named: $0) }.sorted {
            ($0.number, $0.moment) < ($1.number, $1.moment)
        }
    }

    private func names() throws(StartFailure) -> [String] {
        do { return try FileManager.default.contentsOfDirectory(atPath: path) } catch {
            throw StartFailure(
                "The folder \(path) cannot be read.", remedy: "Let this user read it.")
        }
    }

    /// Reads the name of a file. Returns nil for any other name.
    func file(named name: String) -> File? {
        var stem = name[...]
        if stem.hasSuffix(EncryptedBackup.suffix) {
            stem = stem.dropLast(EncryptedBackup.suffix.count)
        }
        guard stem.hasSuffix(Self.fileSuffix) else { return nil }
        let parts = stem.dropLast(Self.fileSuffix.count).split(separator: "-")
        let hasMore = parts.count == 5 && parts[4] == Self.moreMark
        guard parts.count == 4 || hasMore, let number = Int(parts[0]), let moment = Int64(parts[1]),
            let from = UInt64(parts[2], radix: 16), let to = UInt64(parts[3], radix: 16)
        else { return nil }
        return File(
            number: number, moment: Instant(milliseconds: moment), from: from, to: to,
            hasMore: hasMore, path: "\(path)/\(name)")
    }

    /// Deletes files that were incomplete when a server was killed. Only the server that ships
    /// changes to the folder may call this function.
    func removeUnfinished() throws(StartFailure) {
        guard Disk.exists(path) else { return }
        for name in try names() where name.hasSuffix(BackupCopy.partSuffix) {
            unlink("\(path)/\(name)")
        }
    }

    /// Deletes the folder with its files. Idempotent.
    func remove() throws {
        guard Disk.exists(path) else { return }
        try FileManager.default.removeItem(atPath: path)
    }
}
