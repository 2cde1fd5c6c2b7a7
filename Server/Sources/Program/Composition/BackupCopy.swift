import Foundation
import Storage
import StorageSQLite

/// A copy of a SQLite database in one file, made and looked at.
struct BackupCopy {
    let source: SQLiteFile

    init(of path: String) { source = SQLiteFile(path) }

    /// How far the copy is, of a size that is about that of the source.
    struct Progress: Sendable {
        var bytes: Int64
        var ofAbout: Int64
    }

    /// Between two reports.
    private static let reportPause = Duration.seconds(2)

    /// Makes the copy under a name that nothing has yet, and looks whether it is whole. Until then
    /// it has another name, so that no part of a copy is ever taken for one.
    ///
    /// - Throws: ``StartFailure``; then nothing is left behind.
    func make(
        at path: String, progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) async throws -> StoreContents {
        guard !Disk.exists(path) else { throw Disk.trouble(path, EEXIST) }
        let use = try DatabaseUse.shared(of: source.path)
        defer { use?.release() }
        let part = path + ".part"
        let contents = try await makePart(part, progress: progress)
        do {
            try Disk.name(part, path)
            try Disk.syncFolder(of: path)
        } catch {
            Self.remove(part)
            throw error
        }
        return contents
    }

    /// The same under the given name, synced, and with nothing beside it.
    func makePart(
        _ part: String, progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) async throws -> StoreContents {
        let before = try await Self.contents(of: source)
        guard !Disk.exists(part) else {
            throw StartFailure(
                "\(part) is there already.",
                remedy: "Another backup is being made there, or one was interrupted: then remove "
                    + "that file.")
        }
        try Disk.make(part)
        do {
            try await copy(into: part, progress)
            try Disk.sync(part)
            return try await Self.verified(SQLiteFile(part), after: before)
        } catch {
            Self.remove(part)
            throw error
        }
    }

    static func remove(_ path: String) {
        for suffix in ["", "-journal", "-wal", "-shm"] { unlink(path + suffix) }
    }

    /// What a file holds.
    ///
    /// Not inlined: the optimizer of Swift 6.3 crashes over it.
    ///
    /// - Throws: ``StartFailure`` where it is no database of this program's.
    @inline(never)
    static func contents(of file: SQLiteFile) async throws -> StoreContents {
        do { return try await file.read { try Store.contents($0) } } catch {
            throw StartFailure(
                "\(file.path) cannot be used: \(error).",
                remedy: "Name a database of this program's, which this user may read.")
        }
    }

    /// What a copy holds, where it is whole.
    ///
    /// - Parameter before: what its source held before it was made: documents and events are only
    ///   ever added.
    static func verified(
        _ copy: SQLiteFile, after before: StoreContents
    ) async throws -> StoreContents {
        var damage = try await copy.damage()
        let contents = try await Self.contents(of: copy)
        if contents.events != contents.counted {
            damage.append("\(contents.events) events are there, and \(contents.counted) were told")
        }
        if contents.version < before.version || contents.documents < before.documents
            || contents.events < before.events
        {
            damage.append("it holds less than its source held before it was made")
        }
        guard damage.isEmpty else {
            throw StartFailure(
                "The copy of the database is not whole: \(damage.joined(separator: "; ")).",
                remedy: "Look at the disk, and at what `perennial rebuild --verify` says of the "
                    + "source.")
        }
        return contents
    }

    private func copy(
        into part: String, _ progress: @escaping @Sendable (Progress) -> Void
    ) async throws {
        let source = source
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                let about = Self.size(source.path)
                while true {
                    do { try await Task.sleep(for: Self.reportPause) } catch { return }
                    progress(Progress(bytes: Self.size(part), ofAbout: about))
                }
            }
            defer { tasks.cancelAll() }
            do { try await source.copy(into: part) } catch {
                throw StartFailure(
                    "\(source.path) could not be copied: \(error).",
                    remedy: "See that the disk has room for all of it, and that the source is "
                        + "whole.")
            }
        }
    }

    private static func size(_ path: String) -> Int64 {
        var found = stat()
        return stat(path, &found) == 0 ? Int64(found.st_size) : 0
    }
}
