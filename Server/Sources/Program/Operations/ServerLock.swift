import Foundation
import Synchronization

/// Allows only one server at a time on a SQLite file. The operating system locks a file next to the
/// database. The system releases the lock when the process ends, even by a crash. Commands can work
/// beside a server, and take only a ``DatabaseUse``.
///
/// The lock file is never removed, because otherwise two processes could each hold a lock.
final class ServerLock: Sendable {
    static let suffix = ".lock"

    /// Nil once it is released.
    private let descriptor: Mutex<Int32?>

    private init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

    deinit { release() }

    /// Acquires the lock of a database.
    ///
    /// - Returns: nil for a PostgreSQL server, which several servers may share, and for an
    /// in-memory database.
    /// - Throws: ``StartFailure`` if another process holds the lock.
    static func acquire(for address: String) throws(StartFailure) -> ServerLock? {
        guard DatabaseAddress.isFile(address), address != ":memory:" else { return nil }
        let path = try file(for: address)
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, Disk.permissions)
        guard file >= 0 else { throw unusable(path) }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let isHeld = errno == EWOULDBLOCK
            let failure = isHeld ? held(address, by: file) : unusable(path)
            close(file)
            throw failure
        }
        giveToOwner(of: address, file)
        writeProcessID(in: file)
        return ServerLock(file)
    }

    /// Prevents servers from using a database while a command reads it. Needs no write permission
    /// beside the database. If no server ever used the file, there is no lock file, and none is
    /// made.
    ///
    /// - Returns: nil for a PostgreSQL server, and if there is no lock.
    /// - Throws: ``StartFailure`` if a server runs on the database.
    static func shared(of address: String) throws(StartFailure) -> ServerLock? {
        guard DatabaseAddress.isFile(address), address != ":memory:" else { return nil }
        let file = open(Disk.resolvedName(address) + suffix, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        guard flock(file, LOCK_SH | LOCK_NB) == 0 else {
            defer { close(file) }
            guard errno == EWOULDBLOCK else { return nil }
            throw held(address, by: file)
        }
        return ServerLock(file)
    }

    /// Gives the lock file to the database's owner. If root has made the lock, for example with
    /// `sudo perennial restore`, the service must still be able to use it.
    static func giveToOwner(of address: String, _ file: Int32) {
        var status = stat()
        guard geteuid() == 0, stat(address, &status) == 0 else { return }
        _ = fchown(file, status.st_uid, status.st_gid)
    }

    /// Releases the lock. Idempotent.
    func release() {
        descriptor.withLock { descriptor in
            if let held = descriptor { close(held) }
            descriptor = nil
        }
    }

    /// Returns a path next to the database itself, after following symbolic links.
    private static func file(for address: String) throws(StartFailure) -> String {
        if let real = Disk.resolved(address) { return real + suffix }
        let url = URL(fileURLWithPath: address)
        let folder = url.deletingLastPathComponent().path
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw StartFailure(
                "The folder \(folder) cannot be made: \(error.localizedDescription)",
                remedy: "Let this user write there, or name another database with --database.")
        }
        return Disk.resolvedName(address) + suffix
    }

    /// Writes the process id into the lock file. The error message of a second server shows it.
    private static func writeProcessID(in file: Int32) {
        let text = "\(getpid())\n"
        guard ftruncate(file, 0) == 0 else { return }
        _ = text.withCString { pwrite(file, $0, strlen($0), 0) }
    }

    private static func held(_ address: String, by file: Int32) -> StartFailure {
        var bytes = [UInt8](repeating: 0, count: 20)
        let count = pread(file, &bytes, bytes.count, 0)
        let process = Int(
            String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).prefix { $0.isNumber })
        let holder = process.map { " (process \($0))" } ?? ""
        return StartFailure(
            "Another server works on the database \(address)\(holder).",
            remedy: "Stop that one first, or name another database with --database. To run "
                + "several servers, use PostgreSQL.")
    }

    static func unusable(_ path: String) -> StartFailure {
        StartFailure(
            "The lock \(path) cannot be taken: \(String(cString: strerror(errno))).",
            remedy: "Run this as the user whose database it is, with the database on a disk of "
                + "this machine.")
    }
}
