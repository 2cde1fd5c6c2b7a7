import Foundation
import Storage
import StoragePostgres
import StorageSQLite

/// The value of `--database`: a PostgreSQL server, or the path of a SQLite file.
enum DatabaseAddress {
    /// The prefixes of a server's URL. A server's address may also consist of key words, like
    /// `host=db dbname=perennial`. Any other address is a path.
    private static let schemes = ["postgres://", "postgresql://"]
    /// Messages show this text instead of an address of key words, because any of the words may be
    /// part of a password.
    private static let wordsShown = "host=…"

    static func isServer(_ address: String) -> Bool {
        schemes.contains { address.hasPrefix($0) } || isKeyValueForm(address)
    }

    /// Whether the address consists of libpq's key words. Such an address may contain a password,
    /// so it must never become a file name. A path with an equals sign usually contains a slash;
    /// the user can add `./`.
    static func isKeyValueForm(_ address: String) -> Bool {
        guard address.contains("="), !address.contains("://") else { return false }
        if !address.contains("/") { return true }
        return address.contains(/^\s*(host|hostaddr|port|dbname|user|password|service)\s*=/)
    }

    static func isFile(_ address: String) -> Bool {
        !address.isEmpty && !address.contains("://") && !isKeyValueForm(address)
    }

    /// Opens a database. A connection to a server is opened when it is first needed. A database
    /// file is marked as in use until it is closed: see ``DatabaseUse``.
    ///
    /// - Parameters:
    ///   - mayCreate: whether to create a missing file and its folder. If false, a missing file is
    ///     an error, because the user probably mistyped its name.
    ///   - onlyReads: whether a PostgreSQL standby is sufficient.
    static func open(
        _ address: String, mayCreate: Bool = true, onlyReads: Bool = false
    ) throws(StartFailure) -> any DatabaseDriver {
        guard isServer(address) || isFile(address) else {
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
            if isServer(address) { return try PostgresDriver(url: address, onlyReads: onlyReads) }
            try makeFolder(of: address)
            let use = try DatabaseUse.shared(of: address)
            return try SQLiteDriver(path: address, keeping: use)
        } catch let failure as StartFailure {
            throw failure
        } catch {
            guard !isKeyValueForm(address) else {
                throw StartFailure(
                    "The database's address has an equals sign, and cannot be read as words like "
                        + "host=… dbname=….",
                    remedy: "Write postgres://USER@HOST/NAME, or ./ before the name of a file.")
            }
            throw StartFailure(
                "The database \(withoutPassword(address)) cannot be opened: \(error).",
                remedy: otherFile)
        }
    }

    private static let otherFile =
        "Name another file, which this user may write, or postgres://USER@HOST/NAME, with "
        + "--database."

    private static func makeFolder(of path: String) throws(StartFailure) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw StartFailure(
                "The database \(path) cannot be created: this user cannot make the folder "
                    + "\(folder.path).",
                remedy: otherFile)
        }
    }

    /// Opens a database whose tables must have this program's schema version, or a newer version
    /// that this program can use, and does not change them.
    static func openForInspection(_ address: String) async throws(StartFailure)
        -> any DatabaseDriver
    {
        let database = try open(address, mayCreate: false, onlyReads: true)
        do throws(StartFailure) {
            let version = try await version(of: database, at: address)
            guard version >= Schema.version else {
                throw StartFailure(
                    "The database \(withoutPassword(address)) has schema version \(version), this "
                        + "program \(Schema.version).",
                    remedy: "Start the server once with this program, which brings it up to date; "
                        + "or use the program that serves it.")
            }
            return database
        } catch {
            database.close()
            throw error
        }
    }

    /// Says what the next start of this program will do with the tables of a database, and does not
    /// change them.
    static func upgradePlan(of address: String) async throws(StartFailure) -> UpgradePlan {
        if isFile(address), !FileManager.default.fileExists(atPath: address) {
            try requireFolder(of: address)
            return .ofNewDatabase
        }
        let database = try open(address)
        defer { database.close() }
        do { return try await Database(database).upgradePlan() } catch {
            throw unreadable(address, error)
        }
    }

    /// Returns the schema version of a database without changing it. Returns 0 if it has no tables
    /// yet.
    static func version(of address: String) async throws(StartFailure) -> Int {
        if isFile(address), !FileManager.default.fileExists(atPath: address) {
            try requireFolder(of: address)
            return 0
        }
        let database = try open(address)
        defer { database.close() }
        return try await version(of: database, at: address)
    }

    static func version(
        of database: any DatabaseDriver, at address: String
    ) async throws(StartFailure) -> Int {
        do { return try await Database(database).schemaVersion() } catch {
            throw unreadable(address, error)
        }
    }

    private static func unreadable(_ address: String, _ error: any Error) -> StartFailure {
        unusable(address, error)
            ?? StartFailure(
                "The database \(withoutPassword(address)) cannot be read: \(error).",
                remedy: "Check that it runs, restore a backup, or name another with --database.")
    }

    /// Returns the failure of a command whose PostgreSQL server does not respond, or is reachable
    /// only through an unsuitable connection pooler. Nil for any other error.
    static func unusable(_ address: String, _ error: any Error) -> StartFailure? {
        guard isServer(address), let failure = error as? StorageFailure else { return nil }
        if failure.isByPooler {
            return StartFailure(
                "The database \(withoutPassword(address)) cannot be used: \(failure).",
                remedy: "Set the pooler to session mode (PgBouncer: pool_mode = session), or name "
                    + "the PostgreSQL server itself.")
        }
        if failure.isByStandby {
            return StartFailure(
                "The database \(withoutPassword(address)) accepts no writes: \(failure).",
                remedy: "Name the primary server, or all of them (postgres://A,B/NAME): the one "
                    + "that accepts writes is used. Commands that only read, such as report and "
                    + "export, work on a standby.")
        }
        guard failure.kind == .unavailable else { return nil }
        return StartFailure(
            "The database \(withoutPassword(address)) cannot be reached: \(failure).",
            remedy: "Start the PostgreSQL server, or correct the host, port, user or password in "
                + "its address.")
    }

    /// Throws if other programs of Perennial are connected to a PostgreSQL database. Call it before
    /// the driver has opened more than one connection. Does nothing for a file: see ``ServerLock``.
    static func requireAlone(
        on database: any DatabaseDriver, at address: String
    ) async throws(StartFailure) {
        guard isServer(address) else { return }
        var others = try await otherConnections(on: database, at: address)
        // Connections of a program that has just ended may still be counted for a moment.
        for _ in 0..<endingChecksMax where others > 0 {
            do { try await Task.sleep(for: endingPause) } catch { break }
            others = try await otherConnections(on: database, at: address)
        }
        guard others > 0 else { return }
        throw StartFailure(
            "The database \(withoutPassword(address)) is in use: other programs of Perennial have "
                + "\(others.counted("connection")) to it.",
            remedy: "Stop all servers and commands that use it, then run this again.")
    }

    private static let endingChecksMax = 6
    private static let endingPause = Duration.milliseconds(500)

    private static func otherConnections(
        on database: any DatabaseDriver, at address: String
    ) async throws(StartFailure) -> Int64 {
        do {
            return try await database.read { connection in
                try connection.firstNumber(selectOthers, [.text(PostgresDriver.applicationName)])
                    ?? 0
            }
        } catch {
            throw unusable(address, error)
                ?? StartFailure(
                    "The connections to \(withoutPassword(address)) cannot be counted: \(error).",
                    remedy: "Let this user read pg_stat_activity.")
        }
    }

    private static let selectOthers =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        + "AND application_name LIKE 'perennial%' AND application_name <> $1 "
        + "AND pid <> pg_backend_pid()"

    /// Throws if the nearest existing folder is not writable, so that the file could not be
    /// created.
    private static func requireFolder(of path: String) throws(StartFailure) {
        var folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        while folder.path != "/", !FileManager.default.fileExists(atPath: folder.path) {
            folder.deleteLastPathComponent()
        }
        guard FileManager.default.isWritableFile(atPath: folder.path) else {
            throw StartFailure(
                "The database \(path) cannot be made: \(folder.path) may not be written.",
                remedy: "Let this user write there, or name another place with --database.")
        }
    }

    /// Returns the hosts to which data may be sent over a network without encryption. Empty for a
    /// file.
    static func unencryptedHosts(of address: String) -> [String] {
        isServer(address) ? PostgresDriver.unencryptedHosts(of: address) : []
    }

    /// The address without its password, for messages and logs.
    static func withoutPassword(_ address: String) -> String {
        if isKeyValueForm(address) { return wordsShown }
        return address.replacing(/(^\w+:\/\/[^:@\/]*):[^@]*@/) { "\($0.1):***@" }
            .replacing(/([?&](?:ssl)?password=)[^&]*/) { "\($0.1)***" }
    }
}
