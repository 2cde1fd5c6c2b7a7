internal import Foundation

/// Reads and writes whole files with the system's calls. A launch needs only one `open` and one
/// `read`. A crash cannot leave a file half written.
enum FileBytes {
    /// The access rights of files: only for the user that the app runs as.
    static let fileMode: mode_t = 0o600
    static let folderMode: mode_t = 0o700
    /// The maximum number of calls of `write` for one file. Several calls may be needed, because a
    /// call may write only a part.
    private static let writesMax = 100_000
    /// The maximum number of repetitions of a call that a signal interrupts.
    private static let interruptionsMax = 100
    private static let temporarySuffix = ".new"

    /// Reads a file. Returns nil if there is no such file.
    static func read(_ path: String, bytesMax: Int) throws(FileFailure) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw .last("open")
        }
        defer { close(file) }
        return try read(file, bytesMax: bytesMax)
    }

    /// Reads a file from the current position to its end.
    static func read(_ file: Int32, bytesMax: Int) throws(FileFailure) -> [UInt8] {
        // Reads one byte more than the limit, to detect a larger file.
        var bytes = [UInt8](repeating: 0, count: min(bytesMax, 8192) + 1)
        var count = 0
        while true {
            if count == bytes.count { bytes.append(contentsOf: repeatElement(0, count: count)) }
            let got = try retrying("read") {
                bytes.withUnsafeMutableBytes {
                    Foundation.read(file, $0.baseAddress! + count, $0.count - count)
                }
            }
            count += got
            guard count <= bytesMax else { throw .tooLarge }
            if got == 0 { break }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// Replaces a file in one step: after a crash the file contains either the old bytes or the new
    /// bytes.
    static func replace(_ path: String, with bytes: [UInt8]) throws(FileFailure) {
        let temporary = path + temporarySuffix
        let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, fileMode)
        guard file >= 0 else { throw .last("open") }
        do throws(FileFailure) {
            defer { close(file) }
            try write(bytes, to: file)
            guard fsync(file) == 0 else { throw .last("fsync") }
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, path) == 0 else { throw .last("rename") }
        try synchronizeFolder(of: path)
    }

    /// Writes all bytes at the file's position.
    static func write(_ bytes: [UInt8], to file: Int32) throws(FileFailure) {
        var done = 0
        for _ in 0..<writesMax where done < bytes.count {
            done += try retrying("write") {
                bytes.withUnsafeBytes {
                    Foundation.write(file, $0.baseAddress! + done, $0.count - done)
                }
            }
        }
        guard done == bytes.count else { throw .system(call: "write", code: EIO) }
    }

    /// Deletes a file. Idempotent.
    static func delete(_ path: String) throws(FileFailure) {
        guard unlink(path) == 0 || errno == ENOENT else { throw .last("unlink") }
    }

    /// Makes sure that the names in a path's folder survive a power failure.
    static func synchronizeFolder(of path: String) throws(FileFailure) {
        let folder = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { throw .last("open") }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw .last("fsync") }
    }

    private static func retrying(
        _ call: String, _ body: () -> Int
    ) throws(FileFailure) -> Int {
        for _ in 0..<interruptionsMax {
            let result = body()
            if result >= 0 { return result }
            guard errno == EINTR else { break }
        }
        throw .last(call)
    }
}
