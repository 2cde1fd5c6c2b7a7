import ArgumentParser
import Foundation
import Ledger
import Storage

/// Which database a command works on, where it needs nothing else of the configuration.
struct DatabaseOption: ParsableArguments {
    @Option(help: "The configuration (PERENNIAL_CONFIG; perennial.yaml), if it names the database.")
    var config: String?
    @Option(help: "A file or postgres://… (PERENNIAL_DATABASE; .perennial/perennial.sqlite).")
    var database: String?

    /// As a server with the same options would find it.
    func address() throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let path = Settings.configPath(flag: config, environment: environment)
        var file: [String: String] = [:]
        // A configuration that cannot be used keeps nobody from a backup.
        let isNamed = database != nil || environment["PERENNIAL_DATABASE"] != nil
        if !isNamed, config != nil || FileManager.default.fileExists(atPath: path) {
            file = try Outcome.configuration(at: path).settings
        }
        let flags = database.map { ["database": $0] } ?? [:]
        return try Settings(flags: flags, environment: environment, file: file).database
    }
}

/// Copies a SQLite database while it is served.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the database into a file, as it is at one moment, and look at the copy.",
        discussion: "Safe while the server runs. A PostgreSQL is backed up by its own means.")

    @Argument(help: "The file to make. One that is there is not overwritten.") var file: String
    @OptionGroup var options: DatabaseOption

    func run() async throws {
        try await Outcome.reported {
            let address = try options.address()
            try Self.requireFile(address, for: file)
            let contents = try await BackupCopy(of: address).make(at: file) { $0.tell() }
            print("\(file): \(contents.sentence)")
        }
    }

    static func requireFile(_ address: String, for file: String) throws(StartFailure) {
        let shown = DatabaseAddress.withoutPassword(address)
        guard !DatabaseAddress.isServer(address) else {
            throw StartFailure(
                "\(shown) is a PostgreSQL, which is backed up by its own means.",
                remedy: "Run pg_dump --format=custom --file=\(file) with that address, or "
                    + "pg_basebackup for all of the server. After pg_restore run `perennial "
                    + "restore --mark`.")
        }
        guard FileManager.default.fileExists(atPath: address) else {
            throw StartFailure(
                "There is no database at \(shown).",
                remedy: "Name the one that the server uses, with --database or "
                    + "PERENNIAL_DATABASE.")
        }
    }
}

/// Takes a backup for the database, or marks one that was restored by other means.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Put a backup in the place of the database, which is kept aside.",
        discussion: """
            Stop the server first. With --mark, after a PostgreSQL was restored by its own means \
            and before a server starts on it: what is told from then on has other ids than what \
            the lost log told, and no cursor of that is taken any more.
            """)

    @Argument(help: "A file that `perennial backup` made; none with --mark.") var file: String?
    @Flag(help: "The database is restored already: only begin a new epoch of its log.")
    var mark = false
    @OptionGroup var options: DatabaseOption

    func validate() throws {
        guard (file == nil) == mark else {
            throw ValidationError("Name the backup, or use --mark after a PostgreSQL was restored.")
        }
    }

    func run() async throws {
        try await Outcome.reported {
            let address = try options.address()
            if let file { try await restore(file, to: address) } else { try await mark(address) }
        }
    }

    private func restore(_ file: String, to address: String) async throws {
        guard DatabaseAddress.isFile(address) else {
            throw StartFailure(
                "\(DatabaseAddress.withoutPassword(address)) is not a file, and is restored by its "
                    + "own means.",
                remedy: "Run pg_restore, then `perennial restore --mark`, then start the servers.")
        }
        let restoring = Restoring(backup: file, path: address, now: .machine) { $0.tell() }
        let outcome = try await restoring.run()
        print("\(address): \(outcome.contents.sentence), epoch \(outcome.epoch) of the log")
        if let aside = outcome.aside { print("The one before is kept as \(aside).") }
        print("Start the server, then run `perennial rebuild --verify`.")
    }

    private func mark(_ address: String) async throws {
        let lock = try ServerLock.take(for: address)
        defer { lock?.release() }
        let store = Store(try DatabaseAddress.open(address, mayCreate: false))
        defer { store.database.close() }
        do {
            let epoch = try await store.beginEpoch(at: .machine)
            print("Epoch \(epoch) of the log has begun.")
        } catch {
            throw StartFailure(
                "The database could not be marked: \(error).",
                remedy: "See that it runs, and that it holds what was restored.")
        }
    }
}

extension BackupCopy.Progress {
    fileprivate func tell() {
        Outcome.toStandardError("\(bytes >> 20) of about \(ofAbout >> 20) MiB")
    }
}

extension StoreContents {
    fileprivate var sentence: String {
        "\(documents) documents, \(customers) customers, \(events) events, "
            + "schema version \(version)"
    }
}
