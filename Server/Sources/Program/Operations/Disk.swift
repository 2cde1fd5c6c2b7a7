import Foundation

/// File operations that survive a power failure. When a call returns, the bytes and the names of
/// files and folders are on disk.
enum Disk {
    /// Read and write permission for the program's own user only.
    static let permissions: mode_t = 0o600

    /// Makes an empty file that only its own user can read, from the moment at which it exists.
    ///
    /// - Throws: also if a file with this name exists, because this function overwrites nothing.
    static func make(_ path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions)
        guard file >= 0 else { throw failure(path) }
        close(file)
    }

    /// Writes the bytes of a file, or the names in a folder, to the disk.
    static func sync(_ path: String) throws {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure(path) }
        defer { close(file) }
        guard fsync(file) == 0 else { throw failure(path) }
    }

    static func syncFolder(of path: String) throws { try sync(folder(of: path)) }

    static func folder(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }

    /// The number of bytes that ``copy(_:into:)`` holds in memory.
    private static let copiedBytes = 1_048_576

    /// Copies the bytes of a file into an existing empty file, which keeps its permissions.
    static func copy(_ path: String, into other: String) throws {
        let source = open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw failure(path) }
        defer { close(source) }
        let target = open(other, O_WRONLY | O_CLOEXEC)
        guard target >= 0 else { throw failure(other) }
        defer { close(target) }
        var bytes = [UInt8](repeating: 0, count: copiedBytes)
        while true {
            try Task.checkCancellation()
            let count = read(source, &bytes, copiedBytes)
            guard count >= 0 else { throw failure(path) }
            guard count > 0 else { return }
            try write(bytes[..<count], to: target, of: other)
        }
    }

    /// Writes all bytes to an open file. One call of the system may write only a part of them, for
    /// example while the disk becomes full.
    static func write(
        _ bytes: ArraySlice<UInt8>, to file: Int32, of path: String
    ) throws(StartFailure) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure(path, count == 0 ? EIO : errno) }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads a part of a file.
    ///
    /// - Throws: also if the file ends before.
    static func bytes(of path: String, from offset: Int64, count: Int) throws -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure(path) }
        defer { close(file) }
        var (bytes, filled) = ([UInt8](repeating: 0, count: count), 0)
        while filled < count {
            let read = bytes.withUnsafeMutableBytes { buffer in
                pread(
                    file, buffer.baseAddress?.advanced(by: filled), count - filled,
                    off_t(offset) + off_t(filled))
            }
            guard read > 0 else { throw failure(path, read == 0 ? EIO : errno) }
            filled += read
        }
        return bytes
    }

    /// The text of a file. Returns nil if the file cannot be read, is larger than allowed, or is
    /// not UTF-8.
    static func text(of path: String, bytesMax: Int) -> String? {
        let file = try? FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file?.close() }
        guard let data = try? file?.read(upToCount: bytesMax + 1), data.count <= bytesMax else {
            return nil
        }
        return String(validating: data, as: UTF8.self)
    }

    /// Renames a file, replacing any file with the new name.
    static func rename(_ path: String, to other: String) throws {
        guard Foundation.rename(path, other) == 0 else { throw failure(path) }
    }

    /// Renames a file to a name that must not exist yet.
    static func renameExclusively(_ path: String, _ other: String) throws {
        if link(path, other) == 0 {
            guard unlink(path) == 0 else { throw failure(path) }
            return
        }
        // Some file systems do not support hard links.
        guard errno != EEXIST, !exists(other) else { throw failure(other, EEXIST) }
        try rename(path, to: other)
    }

    /// Resolves all symbolic links in a path. Returns nil if nothing exists there.
    static func resolved(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    /// Resolves all symbolic links in a path whose last part may not exist yet.
    static func resolvedName(_ path: String) -> String {
        if let real = resolved(path) { return real }
        let folder = folder(of: path)
        return "\(resolved(folder) ?? folder)/\(URL(fileURLWithPath: path).lastPathComponent)"
    }

    /// The bytes that this user may still write on the disk of a file or folder. Nil if unknown.
    static func freeBytes(at path: String) -> Int64? {
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: path)
        return (attributes?[.systemFreeSize] as? NSNumber)?.int64Value
    }

    /// - Parameters:
    ///   - purpose: what needs the bytes, with its verb, such as `a backup needs`.
    /// - Throws: ``StartFailure`` if the disk of a folder has fewer bytes free.
    static func requireRoom(
        for bytes: Int64, in folder: String, _ purpose: String, remedy: String
    ) throws(StartFailure) {
        guard let free = freeBytes(at: folder), free < bytes else { return }
        throw StartFailure(
            "The disk of \(folder) has \(free >> 20) MiB free, and \(purpose) \(bytes >> 20) MiB.",
            remedy: remedy)
    }

    static func exists(_ path: String) -> Bool {
        var found = stat()
        return lstat(path, &found) == 0
    }

    /// Writes a file under a temporary name, and gives the file its name only when it is complete
    /// and stored. Fails if a file has this name. After an error, no part of the file is left.
    ///
    /// - Parameter body: writes the file at the temporary path, where an empty file exists.
    static func makeWhole(
        _ path: String, _ body: (String) async throws -> Void
    ) async throws {
        let part = path + BackupCopy.partSuffix
        unlink(part)
        try make(part)
        do {
            try await body(part)
            try sync(part)
            try renameExclusively(part, path)
            try syncFolder(of: path)
        } catch {
            unlink(part)
            throw error
        }
    }

    /// Replaces a file's contents atomically: after a power failure, the file has either the old
    /// bytes or the new ones.
    static func replace(_ path: String, with bytes: Data) throws {
        let fresh = path + ".new"
        if exists(fresh) { unlink(fresh) }
        try make(fresh)
        try bytes.write(to: URL(fileURLWithPath: fresh))
        try sync(fresh)
        try rename(fresh, to: path)
        try syncFolder(of: path)
    }

    /// Makes an error from a failed system call, with the system's message.
    static func failure(_ path: String, _ code: Int32 = errno) -> StartFailure {
        StartFailure(
            "\(path): \(String(cString: strerror(code))).",
            remedy: code == EEXIST
                ? "Choose another name, or remove the file. Nothing is overwritten."
                : "Check that this user may write there and that the disk has space.")
    }
}
