import Foundation
import Ledger
import StorageSQLite

/// The state of a database at a moment: a backup, and the changes after it.
struct PointInTime: Sendable {
    /// The backup to begin with.
    var backup: BackupFolder.Backup
    /// The files with changes up to the moment, in their order.
    var files: [ChangeFolder.File]

    /// The last moment whose changes are restored, for messages.
    var shownMoment: String { files.last?.moment.description ?? backup.at.description }

    /// Finds the latest backup after which changes were shipped before a moment, and the changes up
    /// to it.
    ///
    /// - Throws: ``StartFailure`` if there is no such backup.
    init(at moment: Instant, in folder: BackupFolder) throws(StartFailure) {
        var earliest: Instant?
        for backup in try folder.backups().reversed() {
            let files = try ChangeFolder(of: backup.path).files()
            guard let first = files.first?.moment else { continue }
            guard first <= moment else {
                earliest = first
                continue
            }
            self.backup = backup
            self.files = files.filter { $0.moment <= moment }
            return
        }
        throw StartFailure(
            "No backup in \(folder.path) has changes from before \(moment).",
            remedy: earliest.map { "The earliest moment that can be restored is \($0)." }
                ?? "Name a backup instead, or add `point_in_time: true` to `backup:` for later "
                + "restores.")
    }

    /// Applies the changes to a plain copy of the backup.
    ///
    /// - Parameter identity: the file with the private key, if the changes are encrypted.
    /// - Throws: ``StartFailure`` if a file is missing or damaged. Then the copy is unusable.
    func apply(to copy: String, identity: String?) async throws {
        let file = open(copy, O_RDWR | O_CLOEXEC)
        guard file >= 0 else { throw Disk.failure(copy) }
        defer { close(file) }
        var places: Set<WriteAheadLog.Place> = []
        for change in files {
            let segment = try await segment(in: change, beside: copy, identity: identity)
            guard places.isEmpty || places.contains(segment.from) else {
                throw StartFailure(
                    "A file before \(change.path) is missing.",
                    remedy: "Restore an earlier moment with --at, or a backup.")
            }
            places.formUnion([segment.from, segment.changes.end])
            try Self.apply(segment.changes, to: file, at: copy)
        }
        guard fsync(file) == 0 else { throw Disk.failure(copy) }
    }

    private func segment(
        in change: ChangeFolder.File, beside copy: String, identity: String?
    ) async throws -> ChangeSegment {
        guard change.bytes <= Int64(ChangeSegment.bytesMax) else { throw Self.damaged(change) }
        let data = try await EncryptedBackup.withPlain(
            change.path, identity: identity, at: copy + ".pages"
        ) { plain in
            FileManager.default.contents(atPath: plain)
        }
        guard let segment = data.flatMap({ ChangeSegment($0) }) else {
            throw Self.damaged(change)
        }
        return segment
    }

    private static func damaged(_ change: ChangeFolder.File) -> StartFailure {
        StartFailure(
            "\(change.path) is damaged.",
            remedy: "Restore an earlier moment with --at, or a backup.")
    }

    private static func apply(
        _ changes: WriteAheadLog.Changes, to file: Int32, at path: String
    ) throws(StartFailure) {
        guard changes.pageCount > 0 else { return }
        for (number, page) in changes.pages where number > 0 && number <= changes.pageCount {
            let offset = off_t(number - 1) * off_t(changes.pageBytes)
            guard pwrite(file, page, page.count, offset) == page.count else {
                throw Disk.failure(path)
            }
        }
        let size = off_t(changes.pageCount) * off_t(changes.pageBytes)
        guard ftruncate(file, size) == 0 else { throw Disk.failure(path) }
    }
}

extension PointInTime {
    /// The word that names the latest moment.
    static let latest = "latest"
    /// Later than every file: the year 9999.
    private static let end = Instant(milliseconds: 253_402_300_799_000)

    /// Reads a moment, such as `2026-11-30T08:37:51Z`, or ``latest``.
    static func moment(_ text: String) throws(StartFailure) -> Instant {
        if text == latest { return end }
        let precise = text.hasSuffix("Z") && !text.contains(".")
        if let moment = Instant(precise ? text.dropLast() + ".000Z" : text) { return moment }
        throw StartFailure(
            "“\(text)” is not a moment.",
            remedy: "Write it in UTC, such as 2026-11-30T08:37:51Z, or write \(latest).")
    }
}
