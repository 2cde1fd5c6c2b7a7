import Foundation
import Storage
import StoragePostgres
import StorageSQLite

/// What `--database` says: a PostgreSQL server, or the path of a SQLite file.
enum DatabaseAddress {
    /// The beginnings of a server's address. Anything else is a path.
    private static let schemes = ["postgres://", "postgresql://"]

    static func isServer(_ address: String) -> Bool { schemes.contains { address.hasPrefix($0) } }

    /// Opens a database. A file that is not there is made, and the folder it is in; a server is
    /// connected to when there is something to do.
    static func open(_ address: String) throws(StartFailure) -> any Database {
        do {
            if isServer(address) { return try PostgresDatabase(url: address) }
            let folder = URL(fileURLWithPath: address).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            return try SQLiteDatabase(path: address)
        } catch {
            throw StartFailure(
                "The database \(withoutPassword(address)) cannot be opened: \(error).",
                remedy: "Name a file that this user may write, or postgres://USER@HOST/NAME, with "
                    + "--database.")
        }
    }

    /// The address as it may be shown and logged.
    static func withoutPassword(_ address: String) -> String {
        address.replacing(/(^\w+:\/\/[^:@\/]*):[^@]*@/) { "\($0.1):***@" }
    }
}
