import Foundation
import Storage
import StoragePostgres
import StorageSQLite

/// What `--database` says: a PostgreSQL server, or the path of a SQLite file.
enum DatabaseAddress {
    /// The beginnings of a server's address. Anything else is a path.
    private static let schemes = ["postgres://", "postgresql://"]

    static func isServer(_ address: String) -> Bool { schemes.contains { address.hasPrefix($0) } }

    /// Opens a database. A server is connected to when there is something to do.
    ///
    /// - Parameter mayCreate: a file that is not there is made, and the folder it is in. Else it is
    ///   refused: whoever wants to see what a database holds has mistyped its name.
    static func open(
        _ address: String, mayCreate: Bool = true
    ) throws(StartFailure) -> any Database {
        let isFile = !address.isEmpty && !address.contains("://")
        guard isServer(address) || isFile else {
            throw StartFailure(
                "“\(withoutPassword(address))” is no database.",
                remedy: "Name a file, or postgres://USER@HOST/NAME, with --database.")
        }
        guard isServer(address) || mayCreate || FileManager.default.fileExists(atPath: address)
        else {
            throw StartFailure(
                "There is no database at \(address).",
                remedy: "Name the one that the server uses, with --database or "
                    + "PERENNIAL_DATABASE.")
        }
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
            .replacing(/([?&](?:ssl)?password=)[^&]*/) { "\($0.1)***" }
    }
}
