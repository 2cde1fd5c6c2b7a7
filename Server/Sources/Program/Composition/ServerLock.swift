import Foundation
import Synchronization

/// Lets one server at a time work on a SQLite file: a lock of the operating system on a file beside
/// it, which ends with the process however that ends. Commands work beside a server, and take
/// ``DatabaseUse`` alone.
///
/// The lock's file stays for ever: whoever removed it would let two hold a lock each.
final class ServerLock: Sendable {
    static let suffix = ".lock"

    /// Nil once it is released.
    private let descriptor: Mutex<Int32?>

    private init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

    deinit { release() }

    /// Takes the lock of a database.
    ///
    /// - Returns: nil for a PostgreSQL server, which many may share, and for a database in memory.
    /// - Throws: ``StartFailure`` where another process holds it.
    static func take(for address: String) throws(StartFailure) -> ServerLock? {
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
        note(in: file)
        return ServerLock(file)
    }

    /// A lock that root has made, as by `sudo perennial restore`, must not keep the service out.
    static func giveToOwner(of address: String, _ file: Int32) {
        var status = stat()
        guard geteuid() == 0, stat(address, &status) == 0 else { return }
        _ = fchown(file, status.st_uid, status.st_gid)
    }

    /// Lets others take it. Harmless to repeat.
    func release() {
        descriptor.withLock { descriptor in
            if let held = descriptor { close(held) }
            descriptor = nil
        }
    }

    /// Beside the database itself, whatever symbolic links lead there.
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

    /// Says who holds the lock, for whoever comes second.
    private static func note(in file: Int32) {
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
            remedy: "Stop that one first, or name another database with --database. Several "
                + "servers at a time take a PostgreSQL.")
    }

    static func unusable(_ path: String) -> StartFailure {
        StartFailure(
            "The lock \(path) cannot be taken: \(String(cString: strerror(errno))).",
            remedy: "Run this as the user whose database it is, with the database on a disk of "
                + "this machine.")
    }
}
