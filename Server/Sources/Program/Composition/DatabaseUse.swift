import Foundation
import Synchronization

/// Marks a SQLite file as open: a shared lock of the operating system on a second file beside it,
/// `….use`. A restore takes the same lock exclusively, so that the database cannot be opened while
/// it is being replaced.
///
/// As with ``ServerLock``, the lock ends with the process, and its file is never deleted.
final class DatabaseUse: Sendable {
    static let suffix = ".use"

    /// The open file with the lock. Nil once the lock is released.
    private let descriptor: Mutex<Int32?>

    private init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

    deinit { release() }

    /// Takes the lock, shared with others.
    ///
    /// - Returns: nil if there is nothing to lock, or if this user cannot lock: a database in a
    ///   read-only folder must still be readable.
    /// - Throws: ``StartFailure`` if a restore is running.
    static func shared(of address: String) throws(StartFailure) -> DatabaseUse? {
        guard let path = path(for: address), let file = opened(path, O_RDONLY, for: address)
        else { return nil }
        guard flock(file, LOCK_SH | LOCK_NB) == 0 else {
            let isHeld = errno == EWOULDBLOCK
            close(file)
            guard isHeld else { return nil }
            throw StartFailure(
                "The database \(address) is being restored.",
                remedy: "Let `perennial restore` end, then try again.")
        }
        return DatabaseUse(file)
    }

    /// Takes the lock exclusively, for a restore.
    ///
    /// - Throws: ``StartFailure`` if any process has the database open, or if the lock cannot be
    ///   taken.
    static func alone(of address: String) throws(StartFailure) -> DatabaseUse? {
        guard let path = path(for: address) else { return nil }
        // On some file systems, a process can lock a file exclusively only if it has opened the
        // file for writing.
        guard let file = opened(path, O_RDWR, for: address) else {
            throw ServerLock.unusable(path)
        }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let failure = errno == EWOULDBLOCK ? inUse(address) : ServerLock.unusable(path)
            close(file)
            throw failure
        }
        return DatabaseUse(file)
    }

    static func inUse(_ address: String) -> StartFailure {
        StartFailure(
            "Another program has the database \(address) open.",
            remedy: "Let it end, then restore.")
    }

    /// Releases the lock. Idempotent.
    func release() {
        descriptor.withLock { descriptor in
            if let held = descriptor { close(held) }
            descriptor = nil
        }
    }

    private static func path(for address: String) -> String? {
        guard DatabaseAddress.isFile(address), address != ":memory:" else { return nil }
        return Disk.resolvedName(address) + suffix
    }

    /// Creates the file if it is missing. Every user who may read the database may lock it.
    private static func opened(_ path: String, _ mode: Int32, for address: String) -> Int32? {
        let made = open(path, mode | O_CREAT | O_EXCL | O_CLOEXEC, Disk.permissions)
        if made >= 0 {
            if let status = FileStatus(path: address) {
                _ = fchmod(made, status.permissions & 0o666)
            }
            ServerLock.giveToOwner(of: address, made)
            return made
        }
        let found = open(path, mode | O_CLOEXEC)
        return found >= 0 ? found : nil
    }
}
