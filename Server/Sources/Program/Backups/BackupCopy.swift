import Foundation
import Storage
import StorageSQLite

/// A copy of a SQLite database in one file, which is verified after it is made.
struct BackupCopy {
    let source: SQLiteFile
    /// Whether pages keep their numbers, so that later changes can be applied to the copy.
    private let keepsPages: Bool

    init(of path: String, keepingPages keepsPages: Bool = false) {
        source = SQLiteFile(path)
        self.keepsPages = keepsPages
    }

    /// The progress of a copy. The final size of the copy is about the size of the source.
    struct Progress: Sendable {
        var bytes: Int64
        var ofAbout: Int64
    }

    /// The time between two reports.
    private static let reportPause = Duration.seconds(2)
    /// The end of the name of an unfinished copy.
    static let partSuffix = ".part"
    /// The suffixes of a database file and of the files that SQLite makes beside it.
    static let sidecars = ["", "-journal", "-wal", "-shm"]

    /// Makes the copy at a path where no file exists, and verifies it. Until the copy is verified,
    /// the file has another name, so that a partial copy is never mistaken for a backup.
    ///
    /// - Throws: ``StartFailure``. Then no file is left behind.
    func make(
        at path: String, progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) async throws -> DatabaseContents {
        guard !Disk.exists(path) else { throw Disk.failure(path, EEXIST) }
        let use = try DatabaseUse.shared(of: source.path)
        defer { use?.release() }
        let part = path + Self.partSuffix
        let contents = try await makePart(part, progress: progress)
        do {
            try Disk.renameExclusively(part, path)
            try Disk.syncFolder(of: path)
        } catch {
            Self.remove(part)
            throw error
        }
        return contents
    }

    /// Makes the copy at the given path, syncs it to disk, and leaves no other files next to it.
    func makePart(
        _ part: String, progress: @escaping @Sendable (Progress) -> Void = { _ in }
    ) async throws -> DatabaseContents {
        let before = try await Self.contents(of: source)
        guard !Disk.exists(part) else {
            throw StartFailure(
                "\(part) already exists.",
                remedy: "Another backup is in progress, or one was interrupted. If so, remove "
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
        for suffix in sidecars { unlink(path + suffix) }
    }

    /// Counts the contents of a database file.
    ///
    /// Not inlined, because the optimizer of Swift 6.3 crashes on it.
    ///
    /// - Throws: ``StartFailure`` if it is not a database of this program.
    @inline(never)
    static func contents(of file: SQLiteFile) async throws -> DatabaseContents {
        do { return try await file.read { try Database.contents($0) } } catch {
            let doubt =
                Disk.exists(file.path)
                ? " If it is one, the file may be damaged: use another backup." : ""
            throw StartFailure(
                "\(file.path) cannot be used: \(error).",
                remedy: "Name a database of Perennial that this user may read.\(doubt)")
        }
    }

    /// Verifies a copy and returns its contents.
    ///
    /// - Parameter before: the contents of the source before the copy was made. Documents and
    ///   events are never removed, so the copy must not have fewer.
    static func verified(
        _ copy: SQLiteFile, after before: DatabaseContents
    ) async throws -> DatabaseContents {
        var damage = try await copy.damage()
        let contents = try await Self.contents(of: copy)
        if contents.events != contents.loggedEvents {
            damage.append(
                "\(contents.events.counted("event")) found, but \(contents.loggedEvents) were "
                    + "emitted")
        }
        if contents.version < before.version || contents.documents < before.documents
            || contents.events < before.events
        {
            damage.append("it contains less than its source did before")
        }
        guard damage.isEmpty else {
            throw StartFailure(
                "The copy of the database is not complete: \(damage.joined(separator: "; ")).",
                remedy: "Check the disk, and run `perennial rebuild --verify` on the "
                    + "source.")
        }
        return contents
    }

    private func copy(
        into part: String, _ progress: @escaping @Sendable (Progress) -> Void
    ) async throws {
        let (source, keepsPages) = (source, keepsPages)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                let about = Self.size(source.path)
                while true {
                    do { try await Task.sleep(for: Self.reportPause) } catch { return }
                    progress(Progress(bytes: Self.size(part), ofAbout: about))
                }
            }
            defer { tasks.cancelAll() }
            do {
                if keepsPages {
                    try await source.copyPages(into: part)
                } else {
                    try await source.copy(into: part)
                }
            } catch {
                throw StartFailure(
                    "\(source.path) could not be copied: \(error).",
                    remedy: "Check that the disk has enough space. If it has, \(source.path) may "
                        + "be damaged: use another backup.")
            }
        }
    }

    /// The bytes of a file; 0 if there is none.
    static func size(_ path: String) -> Int64 {
        var found = stat()
        return stat(path, &found) == 0 ? Int64(found.st_size) : 0
    }
}
