import Foundation

/// What the system says of a file, behind any symbolic links.
struct FileStatus {
    let owner: uid_t
    let group: gid_t
    /// Who may read and write it.
    let permissions: mode_t
    private let device: UInt64
    private let number: UInt64

    /// Nil where there is no such file.
    init?(path: String) {
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        owner = found.st_uid
        group = found.st_gid
        permissions = found.st_mode & 0o7777
        device = UInt64(truncatingIfNeeded: found.st_dev)
        number = UInt64(truncatingIfNeeded: found.st_ino)
    }

    /// Whether two names lead to one file.
    func isSameFile(as other: FileStatus) -> Bool {
        device == other.device && number == other.number
    }
}

extension FileStatus {
    /// Gives another file the owner, the group and the permissions of this one.
    ///
    /// - Parameter name: of the file that this is the status of.
    func pass(to path: String, of name: String) throws {
        guard let other = FileStatus(path: path) else { throw CocoaError(.fileNoSuchFile) }
        if other.owner != owner || other.group != group {
            guard chown(path, owner, group) == 0 else {
                throw StartFailure(
                    "\(name) belongs to another user or group, and a new file in its place would "
                        + "not: nothing was changed.",
                    remedy: "Run this as its owner, or as root.")
            }
        }
        // Last, as a change of owner takes some of them away.
        guard chmod(path, permissions) == 0 else { throw CocoaError(.fileWriteNoPermission) }
    }
}
