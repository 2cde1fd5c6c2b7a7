internal import Foundation

/// An exclusive lock on a file, held as long as this object lives. The system releases the lock
/// when the process ends, even after a crash.
final class FileLock: Sendable {
    private let file: Int32

    /// Locks a file. Returns nil if another process, or another object of this process, has the
    /// lock.
    init?(_ path: String) throws(FileFailure) {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, FileBytes.fileMode)
        guard file >= 0 else { throw .last("open") }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let failure = FileFailure.last("flock")
            close(file)
            guard failure == .system(call: "flock", code: EWOULDBLOCK) else { throw failure }
            return nil
        }
        self.file = file
    }

    deinit { close(file) }
}
