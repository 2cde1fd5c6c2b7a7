import Foundation

/// What has to survive a loss of power: files and folders whose bytes and names are on the disk
/// when a call returns.
enum Disk {
    /// Only the program's own user.
    static let permissions: mode_t = 0o600

    /// Makes an empty file that only its own user may read, from its first moment on.
    ///
    /// - Throws: also where there is something of that name: nothing is ever overwritten.
    static func make(_ path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions)
        guard file >= 0 else { throw trouble(path) }
        close(file)
    }

    /// Writes the bytes of a file, or the names in a folder, to the disk.
    static func sync(_ path: String) throws {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw trouble(path) }
        defer { close(file) }
        guard fsync(file) == 0 else { throw trouble(path) }
    }

    static func syncFolder(of path: String) throws { try sync(folder(of: path)) }

    static func folder(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path
    }

    /// Gives a file another name, in the place of whatever had that.
    static func rename(_ path: String, to other: String) throws {
        guard Foundation.rename(path, other) == 0 else { throw trouble(path) }
    }

    /// Gives a file a name that nothing else has yet.
    static func name(_ path: String, _ other: String) throws {
        if link(path, other) == 0 {
            guard unlink(path) == 0 else { throw trouble(path) }
            return
        }
        // Not every file system knows a second name of one file.
        guard errno != EEXIST, !exists(other) else { throw trouble(other, EEXIST) }
        try rename(path, to: other)
    }

    /// Where a path leads by all symbolic links; nil where nothing is.
    static func resolved(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    /// The same, also where the last part of the path is not there yet.
    static func resolvedName(_ path: String) -> String {
        if let real = resolved(path) { return real }
        let folder = folder(of: path)
        return "\(resolved(folder) ?? folder)/\(URL(fileURLWithPath: path).lastPathComponent)"
    }

    static func exists(_ path: String) -> Bool {
        var found = stat()
        return lstat(path, &found) == 0
    }

    /// Puts bytes in the place of a file's: either those before or these are there, whenever the
    /// power goes.
    static func replace(_ path: String, with bytes: Data) throws {
        let fresh = path + ".new"
        if exists(fresh) { unlink(fresh) }
        try make(fresh)
        try bytes.write(to: URL(fileURLWithPath: fresh))
        try sync(fresh)
        try rename(fresh, to: path)
        try syncFolder(of: path)
    }

    /// A failed call of the system as an error with its words.
    static func trouble(_ path: String, _ code: Int32 = errno) -> StartFailure {
        StartFailure(
            "\(path): \(String(cString: strerror(code))).",
            remedy: code == EEXIST
                ? "Choose another name, or remove it: nothing is overwritten."
                : "See that this user may write there, and that the disk has room.")
    }
}
