import Foundation
import Storage
import StoragePostgres
import StorageSQLite

/// What `--database` says: a PostgreSQL server, or the path of a SQLite file.
enum DatabaseAddress {
    /// The beginnings of a server's address, unless it is words like `host=db dbname=perennial`.
    /// Anything else is a path.
    private static let schemes = ["postgres://", "postgresql://"]
    /// Of an address in words nothing else is shown: any of them may be a part of a password.
    private static let wordsShown = "host=…"

    static func isServer(_ address: String) -> Bool {
        schemes.contains { address.hasPrefix($0) } || isWords(address)
    }

    /// Whether it is an address in libpq's words, which may hold a password: it must never become
    /// the name of a file. A path with an equals sign has a slash, too, or can be given one.
    static func isWords(_ address: String) -> Bool {
        guard address.contains("="), !address.contains("://") else { return false }
        if !address.contains("/") { return true }
        return address.contains(/^\s*(host|hostaddr|port|dbname|user|password|service)\s*=/)
    }

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
            guard !isWords(address) else {
                throw StartFailure(
                    "The database's address has an equals sign, and cannot be read as words like "
                        + "host=… dbname=….",
                    remedy: "Write postgres://USER@HOST/NAME, or ./ before the name of a file.")
            }
            throw StartFailure(
                "The database \(withoutPassword(address)) cannot be opened: \(error).",
                remedy: "Name a file that this user may write, or postgres://USER@HOST/NAME, with "
                    + "--database.")
        }
    }

    /// A file that another program has filled stays as it is, whatever its name is here.
    static func requireOurs(
        _ database: any Database, at address: String
    ) async throws(StartFailure) {
        let isAnothers: Bool
        do { isAnothers = try await Store(database).isAnotherProgramsFile() } catch {
            throw StartFailure(
                "The database \(withoutPassword(address)) cannot be read: \(error).",
                remedy: "See that this user may read it, or name another with --database.")
        }
        guard !isAnothers else {
            throw StartFailure(
                "The database \(address) is another program's: it holds tables, and none of ours.",
                remedy: "Name another file; one that is not there yet is made.")
        }
    }

    /// The address as it may be shown and logged.
    static func withoutPassword(_ address: String) -> String {
        if isWords(address) { return wordsShown }
        return address.replacing(/(^\w+:\/\/[^:@\/]*):[^@]*@/) { "\($0.1):***@" }
            .replacing(/([?&](?:ssl)?password=)[^&]*/) { "\($0.1)***" }
    }
}
