import Foundation

/// The system's information about a file, after following symbolic links.
struct FileStatus {
    let owner: uid_t
    let group: gid_t
    /// The permission bits.
    let permissions: mode_t
    private let device: UInt64
    private let number: UInt64

    /// Returns nil if there is no such file.
    init?(path: String) {
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        owner = found.st_uid
        group = found.st_gid
        permissions = found.st_mode & 0o7777
        device = UInt64(truncatingIfNeeded: found.st_dev)
        number = UInt64(truncatingIfNeeded: found.st_ino)
    }

    /// Whether two paths lead to the same file.
    func isSameFile(as other: FileStatus) -> Bool {
        device == other.device && number == other.number
    }

    /// Whether two files are on the same file system.
    func isOnSameDisk(as other: FileStatus) -> Bool { device == other.device }
}

extension FileStatus {
    /// Gives another file the owner, group, and permissions of this one.
    ///
    /// - Parameter name: the path of the file whose status this is, for the error message.
    func apply(to path: String, of name: String) throws {
        guard let other = FileStatus(path: path) else { throw CocoaError(.fileNoSuchFile) }
        if other.owner != owner || other.group != group {
            guard chown(path, owner, group) == 0 else {
                throw StartFailure(
                    "\(name) belongs to another user or group, and a new file would "
                        + "not. Nothing was changed.",
                    remedy: "Run this as its owner, or as root.")
            }
        }
        // The permissions are set last, because a change of the owner removes some of them.
        guard chmod(path, permissions) == 0 else { throw CocoaError(.fileWriteNoPermission) }
    }
}
