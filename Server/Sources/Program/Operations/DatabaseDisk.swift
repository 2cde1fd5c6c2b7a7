import Foundation
import HTTPServer

/// The disk with the database's file.
enum DatabaseDisk {
    /// Returns the size and the free part of the disk. Nil if the database is a PostgreSQL, or if
    /// the system does not say.
    static func space(for address: String) -> DiskSpace? {
        guard !DatabaseAddress.isServer(address) else { return nil }
        var found = statvfs()
        guard statvfs(Disk.folder(of: address), &found) == 0 else { return nil }
        let blockBytes = Int64(clamping: found.f_frsize)
        return DiskSpace(
            bytes: Int64(clamping: found.f_blocks) * blockBytes,
            freeBytes: Int64(clamping: found.f_bavail) * blockBytes)
    }
}
