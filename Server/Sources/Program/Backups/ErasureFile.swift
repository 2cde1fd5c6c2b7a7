import Dispatch
import Engine
import Foundation
import Ledger
import Logging

/// The file with the list of erasures, and a copy of it beside the backups. A program appends to
/// the file only while it holds the file's lock, so several servers can share one file.
///
/// The copy is needed if the disk of the database is lost. If the copy cannot be written, the
/// server reports that and continues. The next start appends the missing lines to the copy.
struct ErasureFile: Sendable {
    /// The end of the name of the file beside a database.
    static let suffix = ".erasures"
    /// The name in the folder of the setting `erasures`.
    static let name = "perennial.erasures"
    /// The name in the folder of the backups.
    static let copyName = "perennial-backups.erasures"

    /// The maximum size of the file, in bytes: about 400,000 erasures.
    static let bytesMax: Int64 = 268_435_456
    /// The minimum time for which an erasure stays in the list. It is long, because a copy of a
    /// backup may be in a place that this program does not know.
    static let keptMin = Duration.days(400)
    /// The maximum number of attempts to open the file while others replace it.
    private static let openingsMax = 10

    let path: String
    /// The path of the copy. Nil if there is none.
    var copy: String?
    private let queue = DispatchQueue(label: "perennial.erasures")

    init(path: String, copy: String? = nil) { (self.path, self.copy) = (path, copy) }

    /// The file of a database.
    ///
    /// - Parameters:
    ///   - folder: the folder of the setting `erasures`; nil for a file beside the database.
    ///   - backups: the folder of the backups; nil if there is none.
    /// - Returns: nil if there is no list: for a PostgreSQL without that setting, and for a
    ///   database in memory.
    init?(for database: String, in folder: String?, backups: String?) {
        let copy = backups.map { "\($0)/\(Self.copyName)" }
        if let folder {
            self.init(path: "\(folder)/\(Self.name)", copy: copy)
            return
        }
        guard DatabaseAddress.isFile(database), database != ":memory:" else { return nil }
        self.init(path: Disk.resolvedName(database) + Self.suffix, copy: copy)
    }

    /// The list, for the engine.
    func list(_ logger: Logger) -> ErasureList {
        ErasureList { lines in
            let text = ErasureText.text(of: lines)
            try await onQueue {
                try Self.append(text, to: path)
                guard let copy else { return }
                do { try Self.append(text, to: copy) } catch {
                    logger.error(
                        "the list of erasures beside the backups was not written",
                        metadata: ["problem": "\(error)"])
                }
            }
        }
    }

    /// What a file contains.
    struct Contents: Hashable, Sendable {
        var lines: [String] = []
        /// The numbers of the lines that cannot be read. Omits lines that a crash has cut off.
        var damaged: [Int] = []
        /// All lines except those that a crash has cut off.
        var all: [String] = []

        var erasures: [ListedErasure] {
            ListedErasure.all(in: lines.compactMap { ErasureText.line(of: $0) })
        }
    }

    /// Reads the list and its copy. Appends to each of the two files the lines that only the other
    /// file has.
    ///
    /// - Throws: ``StartFailure`` if the file cannot be read, or if it has no lines and the copy
    ///   cannot be read. If one of the two files cannot be written, this is only logged, and the
    ///   lines are returned.
    func read(_ logger: Logger) async throws -> Contents {
        try await onQueue {
            try requireFolder()
            var own = try Self.contents(of: path)
            Self.reportDamage(of: own, in: path, logger)
            guard let copy else { return own }
            func report(_ error: any Error, of file: String) {
                logger.error(
                    "a list of erasures cannot be used",
                    metadata: ["file": .string(file), "problem": "\(error)"])
            }
            let other: Contents
            do { other = try Self.contents(of: copy) } catch {
                // Without a list, erased people would reappear after a restore.
                if own.lines.isEmpty { throw error }
                report(error, of: copy)
                return own
            }
            Self.reportDamage(of: other, in: copy, logger)
            let (ours, theirs) = (Set(own.lines), Set(other.lines))
            let missing = other.lines.filter { !ours.contains($0) }
            let lacking = own.lines.filter { !theirs.contains($0) }
            own.lines += missing
            for (file, lines) in [(path, missing), (copy, lacking)] {
                do { try Self.append(Self.text(lines), to: file) } catch {
                    report(error, of: file)
                }
            }
            return own
        }
    }

    private static func reportDamage(of contents: Contents, in file: String, _ logger: Logger) {
        for number in contents.damaged {
            logger.error(
                """
                a line of the list of erasures is damaged: the person in it is not erased again, \
                unless the other file of the list has the line. Send the DELETE again
                """,
                metadata: ["file": .string(file), "line": "\(number)"])
        }
    }

    private func requireFolder() throws(StartFailure) {
        let folder = Disk.folder(of: path)
        guard access(folder, R_OK | W_OK | X_OK) == 0 else {
            throw StartFailure(
                "The folder of the list of erasures, \(folder), does not exist or cannot be "
                    + "written.",
                remedy: "Make it for the server's user, or correct the setting `erasures`.")
        }
    }

    /// The list and its copy, as a server would read them.
    struct Examination {
        /// The lines of the file, followed by the lines that only the copy has.
        var lines: [String]
        /// The numbers of the lines that cannot be read, for each file.
        var damaged: [(file: String, numbers: [Int])]
    }

    /// Reads the list and its copy, and changes nothing.
    ///
    /// - Throws: ``StartFailure`` in the same cases as ``read(_:)``.
    func examine() throws -> Examination {
        try requireFolder()
        let own = try Self.contents(of: path)
        var found = Examination(lines: own.lines, damaged: [(path, own.damaged)])
        guard let copy else { return found }
        let other: Contents
        do { other = try Self.contents(of: copy) } catch {
            // Without a list, erased people would reappear after a restore.
            if own.lines.isEmpty { throw error }
            return found
        }
        let ours = Set(own.lines)
        found.lines += other.lines.filter { !ours.contains($0) }
        found.damaged.append((copy, other.damaged))
        return found
    }

    /// Appends the lines that the file lacks.
    func add(_ lines: [String]) throws {
        let known = Set(try Self.contents(of: path).lines)
        try Self.append(Self.text(lines.filter { !known.contains($0) }), to: path)
    }

    /// Removes erasures that no backup can undo. Keeps the erasures of the last ``keptMin``, and
    /// those after the earliest backup.
    ///
    /// - Parameter earliest: when the earliest backup was begun.
    func removeExpired(before earliest: Instant, at now: Instant) async throws {
        let limit = min(earliest, now - Self.keptMin)
        try await onQueue {
            for file in [path, copy].compactMap(\.self) where Disk.exists(file) {
                try Self.removeExpired(before: limit, from: file)
            }
        }
    }

    /// Runs a closure on a thread that may wait for the disk.
    private func onQueue<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try body() }) }
        }
    }
}

// MARK: - One file

extension ErasureFile {
    /// The mark that is written after a line that a crash has cut off.
    private static let cutMark = "cut"

    static func text(_ lines: [String]) -> String {
        lines.map { $0 + "\n" }.joined()
    }

    /// Appends text, and writes it to the disk.
    private static func append(_ text: String, to path: String) throws {
        guard !text.isEmpty else { return }
        let file = try locked(path, mayCreate: true)
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw Disk.failure(path) }
        guard Int64(status.st_size) + Int64(text.utf8.count) <= bytesMax else {
            throw StartFailure(
                "The list of erasures \(path) has reached its limit of \(bytesMax >> 20) MiB.",
                remedy: "Move it away, and use it if you restore a backup from before today.")
        }
        // A crash may have left a part of a line.
        var last: UInt8 = 0
        let isBroken =
            status.st_size > 0 && pread(file, &last, 1, status.st_size - 1) == 1
            && last != UInt8(ascii: "\n")
        let bytes = Array(((isBroken ? "\n\(cutMark)\n" : "") + text).utf8)
        try Disk.write(bytes[...], to: file, of: path)
        guard fsync(file) == 0 else { throw Disk.failure(path) }
        if status.st_size == 0 { try Disk.syncFolder(of: path) }
    }

    /// Opens a file and waits for its lock. Returns its descriptor.
    private static func locked(_ path: String, mayCreate: Bool) throws -> Int32 {
        let creating = mayCreate ? O_CREAT : 0
        for _ in 0..<openingsMax {
            let file = open(
                path, O_RDWR | creating | O_APPEND | O_CLOEXEC | O_NOFOLLOW, Disk.permissions)
            guard file >= 0 else { throw Disk.failure(path) }
            // On a file system without locks, short lines are appended as a whole anyway.
            _ = flock(file, LOCK_EX)
            var (opened, present) = (stat(), stat())
            let isPresent =
                fstat(file, &opened) == 0 && lstat(path, &present) == 0
                && opened.st_ino == present.st_ino
            if isPresent {
                ServerLock.giveToOwner(of: Disk.folder(of: path), file)
                return file
            }
            // Another program has replaced the file while this program waited for the lock.
            close(file)
        }
        throw Disk.failure(path, EBUSY)
    }

    static func contents(of path: String) throws -> Contents {
        // A file in a folder that this user may not search counts as unreadable, not as absent.
        guard Disk.exists(path) || errno != ENOENT else { return Contents() }
        guard BackupCopy.size(path) <= bytesMax,
            let bytes = FileManager.default.contents(atPath: path)
        else {
            throw StartFailure(
                "The list of erasures \(path) cannot be read.",
                remedy: "Let this user read it: without it, people who were erased after a backup "
                    + "would be back.")
        }
        return contents(in: bytes)
    }

    /// Reads the bytes of a file.
    static func contents(in bytes: Data) -> Contents {
        var contents = Contents()
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        for (number, line) in zip(1..., lines) where !line.isEmpty {
            if line == cutMark {
                guard contents.damaged.last == number - 1 else { continue }
                contents.damaged.removeLast()
                contents.all.removeLast()
            } else if ErasureText.line(of: line) != nil {
                contents.lines.append(line)
                contents.all.append(line)
            } else if number < lines.count {
                // A crash can only have cut the last line, which then has no line break.
                contents.damaged.append(number)
                contents.all.append(line)
            }
        }
        return contents
    }

    /// The lines without the erasures from before a limit. A damaged line stays: whoever is in it
    /// was not erased again.
    static func kept(of lines: [String], since limit: Instant) -> [String] {
        let expired = Set(
            lines.compactMap { line -> String? in
                guard case .intent(let intent)? = ErasureText.line(of: line) else { return nil }
                return intent.at < limit ? intent.name : nil
            })
        return lines.filter { line in
            ErasureText.line(of: line).map { !expired.contains($0.name) } ?? true
        }
    }

    private static func removeExpired(before limit: Instant, from path: String) throws {
        let file = try locked(path, mayCreate: false)
        defer { close(file) }
        let contents = try contents(of: path)
        let kept = kept(of: contents.all, since: limit)
        guard kept.count < contents.all.count else { return }
        try Disk.replace(path, with: Data(text(kept).utf8))
    }
}

extension ErasureLine {
    /// The name of the erasure that a line is about.
    var name: String {
        switch self {
        case .intent(let intent): intent.name
        case .end(let name, _, _), .abandoned(let name, _): name
        }
    }
}
