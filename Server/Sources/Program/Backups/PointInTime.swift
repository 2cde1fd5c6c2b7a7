import Foundation
import Ledger
import StorageSQLite

/// The state of a database at a moment: a backup, and the changes after it.
///
/// Each file names the place of the write-ahead log after which its changes come. So the chain of
/// files to apply is followed backwards, from the last file to the first one after the backup.
/// Files outside of this chain are ignored: after a power failure, a server may have written the
/// same changes twice, or its database may have lost changes that were shipped.
///
/// If a clock was set back, a moment may have occurred twice. Then the later state is restored.
struct PointInTime: Sendable {
    /// The backup to begin with.
    var backup: BackupFolder.Backup
    /// The files with changes up to the moment, in their order.
    var files: [ChangeFolder.File]
    /// The moment of the first shipped changes that are not restored. Nil if all are restored.
    var next: Instant?

    /// If the moment of a file is later than this machine's time by more than this, one of two
    /// clocks is wrong: the clock of the server that wrote the file, or this machine's clock.
    private static let clockDifferenceMax = Duration.seconds(60)

    /// A description of the state that is restored.
    var sentence: String {
        let last = files.last?.moment ?? backup.at
        return "\(backup.path), with the changes that were shipped up to \(last)"
            + (next.map { "; the next ones are from \($0)" } ?? "")
    }

    /// Finds the changes up to a moment, and the backup that they follow.
    ///
    /// - Parameters:
    ///   - moment: nil for the latest moment.
    ///   - now: the time of this machine.
    /// - Throws: ``StartFailure`` if the moment is before the first or after the last change, or if
    ///   a file is missing.
    init(at moment: Instant?, in folder: BackupFolder, now: Instant) throws(StartFailure) {
        try self.init(at: moment, among: BackupList(of: folder), now: now)
    }

    /// Finds the changes up to a moment in a folder or a bucket, with the same parameters.
    init(at moment: Instant?, among list: BackupList, now: Instant) throws(StartFailure) {
        let limit = moment ?? (now + Self.clockDifferenceMax)
        var found: (backup: BackupFolder.Backup, files: ArraySlice<ChangeFolder.File>)?
        var moments: [Instant] = []
        for (backup, files) in list.entries.reversed() {
            moments += files.filter { !$0.hasMore }.map(\.moment)
            guard let last = files.lastIndex(where: { !$0.hasMore && $0.moment <= limit }) else {
                continue
            }
            if let best = found?.files.last?.moment, best >= files[last].moment { continue }
            found = (backup, files[...last])
        }
        next = moments.lazy.filter { $0 > limit }.min()
        if moment == nil, let next {
            throw StartFailure(
                "Changes in \(list.place) are from \(next), which is later than this machine's "
                    + "clock, \(now).",
                remedy: "Set this clock. If it is right, the server's clock was wrong: name the "
                    + "moment to restore instead of `\(Self.latest)`.")
        }
        guard let found else {
            throw Self.tooEarly(moment, in: list.place, first: moments.min())
        }
        if let moment, let end = moments.max(), end < moment {
            throw StartFailure(
                "The last changes in \(list.place) are from \(end), before \(moment). Later ones "
                    + "were not shipped, or there were none.",
                remedy: "Restore the last ones with `--at \(Self.latest)`.")
        }
        backup = found.backup
        files = try Self.way(to: found.files)
    }

    private static func tooEarly(
        _ moment: Instant?, in place: String, first: Instant?
    ) -> StartFailure {
        guard let first else {
            return StartFailure(
                "No backup in \(place) has changes after it.",
                remedy: "Name a backup instead, or add `point_in_time: true` to `backup:` for "
                    + "later restores.")
        }
        return StartFailure(
            "No changes in \(place) are from before \(moment ?? first).",
            remedy: "The earliest moment that can be restored is \(first). For an earlier state, "
                + "name a backup without --at.")
    }

    /// The chain of files from the backup to the last of the given files.
    private static func way(
        to files: ArraySlice<ChangeFolder.File>
    ) throws(StartFailure) -> [ChangeFolder.File] {
        var way = Array(files.suffix(1))
        for file in files.dropLast().reversed() {
            guard let first = way.last, first.number > 1 else { break }
            if file.to == first.from { way.append(file) }
        }
        guard let first = way.last, first.number == 1 else {
            throw StartFailure(
                "A file before \(way.last?.path ?? "the first one") is missing.",
                remedy: Self.remedy(
                    before: way.last.flatMap { first in
                        files.last { !$0.hasMore && $0.number < first.number }
                    }))
        }
        return way.reversed()
    }

    private static func remedy(before file: ChangeFolder.File?) -> String {
        "Restore an earlier moment"
            + (file.map { ", such as `--at \($0.moment)`" } ?? " of another backup")
            + ", or a backup without --at."
    }

    /// Applies the changes to a plain copy of the backup.
    ///
    /// - Parameter identity: the file with the private key, if the changes are encrypted.
    /// - Throws: ``StartFailure`` if a file is damaged. Then the copy is unusable.
    func apply(to copy: String, identity: String?) async throws {
        let file = open(copy, O_RDWR | O_CLOEXEC)
        guard file >= 0 else { throw Disk.failure(copy) }
        defer { close(file) }
        var place: WriteAheadLog.Place?
        for change in files {
            try Task.checkCancellation()
            let segment = try await segment(in: change, beside: copy, identity: identity)
            guard segment.from == place ?? segment.from else { throw damaged(change) }
            place = segment.changes.end
            try Self.apply(segment.changes, to: file, at: copy)
        }
        guard fsync(file) == 0 else { throw Disk.failure(copy) }
    }

    /// Checks the pages and indexes of the copy to which the changes were applied.
    ///
    /// Not inlined for the same reason as ``BackupCopy/contents(of:)``.
    ///
    /// - Throws: ``StartFailure`` if the changes do not fit the backup, or each other.
    @inline(never)
    func requireIntact(_ copy: String) async throws {
        var damage: [String]
        do {
            damage = try await SQLiteFile(copy).read { connection in
                try connection.texts("PRAGMA integrity_check(5)")
            }
        } catch { damage = ["\(error)"] }
        try Task.checkCancellation()
        damage.removeAll { $0 == "ok" }
        guard let last = files.last, !damage.isEmpty else { return }
        throw StartFailure(
            "The changes after \(backup.path), up to the file \(last.path), lead to a damaged "
                + "database: \(damage.joined(separator: "; ")).",
            remedy: Self.remedy(before: files.last { !$0.hasMore && $0.number < last.number }))
    }

    private func segment(
        in change: ChangeFolder.File, beside copy: String, identity: String?
    ) async throws -> ChangeSegment {
        guard BackupCopy.size(change.path) <= ChangeSegment.bytesMax else { throw damaged(change) }
        let data = try await EncryptedBackup.withPlain(
            change.path, identity: identity, at: copy + ".pages"
        ) { plain in
            FileManager.default.contents(atPath: plain)
        }
        guard let segment = data.flatMap({ ChangeSegment($0) }),
            segment.moment == change.moment, segment.from.checksum == change.from,
            segment.changes.end.checksum == change.to, segment.changes.hasMore == change.hasMore
        else { throw damaged(change) }
        return segment
    }

    private func damaged(_ change: ChangeFolder.File) -> StartFailure {
        StartFailure(
            "\(change.path) is damaged.",
            remedy: Self.remedy(before: files.last { !$0.hasMore && $0.number < change.number }))
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

    /// Reads a moment, such as `2026-11-30T08:37:51Z`. Returns nil for ``latest``.
    static func moment(_ text: String) throws(StartFailure) -> Instant? {
        if text == latest { return nil }
        let precise = text.hasSuffix("Z") && !text.contains(".")
        if let moment = Instant(precise ? text.dropLast() + ".000Z" : text) { return moment }
        throw StartFailure(
            "“\(text)” is not a moment.",
            remedy: "Write it in UTC, such as 2026-11-30T08:37:51Z, or write \(latest).")
    }
}
