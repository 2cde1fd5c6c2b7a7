import ArgumentParser
import Foundation
import Ledger
import Storage

/// The option with the database, for commands that need no other setting of the configuration.
struct DatabaseLocation: ParsableArguments {
    @Option(
        help: """
            The configuration that names the database. Variable: PERENNIAL_CONFIG. Default: \
            perennial.yaml.
            """)
    var config: String?
    @Option(
        help: """
            A file or postgres://… Variable: PERENNIAL_DATABASE. Default: \
            .perennial/perennial.sqlite.
            """)
    var database: String?

    /// The address that a server with the same options would use.
    func address() throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let path = ProcessSettings.configPath(flag: config, environment: environment)
        var file: [String: String] = [:]
        // If the address of the database is given, an invalid configuration must not prevent a
        // backup.
        let isNamed = database != nil || environment["PERENNIAL_DATABASE"] != nil
        if !isNamed, config != nil || FileManager.default.fileExists(atPath: path) {
            file = try Outcome.configuration(at: path).settings
        }
        let flags = database.map { ["database": $0] } ?? [:]
        return try ProcessSettings(flags: flags, environment: environment, file: file).database
    }
}

/// Copies a SQLite database while a server uses it.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy a consistent snapshot of the database to a file, and verify the copy.",
        discussion: "Safe while the server runs. Back up PostgreSQL with its own tools.")

    @Argument(help: "The file to create. Existing files are never overwritten.") var file: String
    @OptionGroup var options: DatabaseLocation

    func run() async throws {
        try await Outcome.reportingFailures {
            let address = try options.address()
            try Self.requireFile(address, for: file)
            try await Interruption.cancelling {
                let contents = try await BackupCopy(of: address).make(at: file) {
                    $0.printProgress()
                }
                print("\(file): \(contents.sentence)")
            }
        }
    }

    static func requireFile(_ address: String, for file: String) throws(StartFailure) {
        let shown = DatabaseAddress.withoutPassword(address)
        guard !DatabaseAddress.isServer(address) else {
            throw StartFailure(
                "\(shown) is a PostgreSQL database, which has its own backup tools.",
                remedy: "Run (umask 077; pg_dump --format=custom --file=\(file) ADDRESS), or "
                    + "pg_basebackup for the whole server. After pg_restore, run `perennial "
                    + "restore --mark`.")
        }
        guard FileManager.default.fileExists(atPath: address) else {
            throw StartFailure(
                "There is no database at \(shown).",
                remedy: "Name the server's database with --database or "
                    + "PERENNIAL_DATABASE.")
        }
    }
}

/// Restores a backup in place of the database, or marks a database that was restored by other
/// means.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Replace the database with a backup. The replaced database is kept.",
        discussion: """
            Stop the server first. Use --mark after you restored a database with other tools and \
            before a server starts on it: later events then have other ids than the events of the \
            lost log, and cursors of the lost log are rejected.

            Use --at to restore any second since a backup, if the server ships changes. Name the \
            folder of the backups, or use the one of the server's configuration.

            Use --drill to try a restore in a temporary folder, whether a server runs or not. It \
            needs the server's configuration. Add --at latest to try the changes, too.

            Instead of a file or folder, name a bucket (s3://…): its newest backup, the one that \
            the address names, or a moment with --at. The server's configuration says how it is \
            reached, or else AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the flags.
            """)

    @Argument(
        help: "A file made by `perennial backup`; a folder with --at; s3://…; none with --mark.")
    var file: String?
    @Option(help: "The moment to restore, such as 2026-11-30T08:37:51Z, or latest.")
    var at: String?
    @Flag(help: "The database is already restored: only begin a new epoch of its log.")
    var mark = false
    @Flag(help: "Restore into a temporary folder, verify, and change nothing else.")
    var drill = false
    @Flag(help: "Let this database's server upload to the bucket from now on; restore nothing.")
    var takeOver = false
    @Option(
        help: "The backup of the drill: a file, or the newest in the configured folder (newest).")
    var backup: String?
    @Option(help: "The file with the private key of an encrypted backup, as age-keygen made it.")
    var identity: String?
    @Option(help: "The address of the bucket's server, if it is not Amazon's (AWS_ENDPOINT_URL).")
    var endpoint: String?
    @Option(help: "The region of the bucket (AWS_REGION).")
    var region: String?
    @OptionGroup var options: DatabaseLocation

    func validate() throws {
        let isRestore = drill ? file != nil && !isFromBucket : file != nil || at != nil
        guard [isRestore, mark, drill].count(where: { $0 }) == 1 else {
            throw ValidationError(
                "Name the backup, or use --mark after a restore by other tools, or --drill to try.")
        }
        guard backup == nil || drill else {
            throw ValidationError("--backup is for --drill. Name the backup without a flag.")
        }
        guard backup == nil || !isFromBucket else {
            throw ValidationError("The bucket has the backup. Leave out --backup.")
        }
        guard isFromBucket || (endpoint == nil && region == nil) else {
            throw ValidationError("--endpoint and --region are for a bucket, s3://….")
        }
        guard !takeOver || (isFromBucket && !drill && at == nil) else {
            throw ValidationError("--take-over is for a bucket, s3://…, and for no other flag.")
        }
        guard backup == nil || at == nil else {
            throw ValidationError("--at chooses the backup. Leave out --backup.")
        }
    }

    func run() async throws {
        try await Outcome.reportingFailures {
            try await Interruption.cancelling {
                if drill { return try await runDrill() }
                if takeOver { return try await replaceBucketOwner() }
                if isFromBucket { return try await restoreFromBucket() }
                let address = try options.address()
                if let at {
                    let changes = try changes(
                        at: at, in: self.file.map { BackupFolder(path: $0) } ?? configuredFolder())
                    print(changes.sentence)
                    try await restore(changes.backup.path, to: address, changes)
                } else if let file {
                    try await restore(file, to: address)
                } else {
                    try await mark(address)
                }
            }
        }
    }

    var configPath: String {
        ProcessSettings.configPath(
            flag: options.config, environment: ProcessInfo.processInfo.environment)
    }

    private func configuredFolder() throws -> BackupFolder? {
        Self.folder(of: try Outcome.configuration(at: configPath), at: configPath)
    }

    private func changes(
        at moment: String, in folder: BackupFolder?
    ) throws(StartFailure) -> PointInTime {
        guard let folder else {
            throw StartFailure(
                "The configuration has no `backup:`, so it names no folder of backups.",
                remedy: "Name the folder before --at.")
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder),
            isFolder.boolValue
        else {
            throw StartFailure(
                "\(folder.path) is not a folder.",
                remedy: "With --at, name the folder that has the backups and their changes.")
        }
        return try PointInTime(
            at: PointInTime.moment(moment), in: folder, now: .machine)
    }

    private static func folder(of file: ConfigurationFile, at path: String) -> BackupFolder? {
        file.backup.map { BackupFolder(path: ConfigurationFolder(of: path).path($0.folder)) }
    }

    private func runDrill() async throws {
        let configuration = try Outcome.configuration(at: configPath)
        if isFromBucket { return try await drillFromBucket(configuration) }
        let folder = Self.folder(of: configuration, at: configPath)
        let changes = try at.map { try self.changes(at: $0, in: folder) }
        if let changes { print(changes.sentence) }
        try await run(
            RestoreDrill(
                backup: try changes?.backup
                    ?? RestoreDrill.backup(
                        named: backup ?? RestoreDrill.newest, in: folder, at: .machine),
                changes: changes, apps: configuration.apps, now: .machine, identity: identity))
    }

    func run(_ drill: RestoreDrill) async throws {
        let outcome = try await drill.run { done, total in
            Outcome.printError("\(done) of \(total.counted("document"))")
        }
        for line in drill.lines(of: outcome) { print(line) }
        guard outcome.rebuild.isClean else {
            throw StartFailure(
                "The backup can be restored, but its rows differ from what its documents give.",
                remedy: "Run `perennial rebuild --verify` on the server's database, too. If it "
                    + "reports the same, check the configuration, then run `perennial rebuild`.")
        }
        print(
            "The backup can be restored. The drill took "
                + "\(outcome.duration.components.seconds.counted("second")).")
    }

    static func requireFile(_ address: String) throws(StartFailure) {
        guard !DatabaseAddress.isFile(address) else { return }
        throw StartFailure(
            "\(DatabaseAddress.withoutPassword(address)) is not a file. Restore it with its "
                + "own tools.",
            remedy: "Run pg_restore, then `perennial restore --mark`, then start the servers.")
    }

    func restore(
        _ file: String, to address: String, _ changes: PointInTime? = nil
    ) async throws {
        try Self.requireFile(address)
        let erasures = RestoredErasures(of: address, config: options.config)
        let outcome = try await DatabaseRestore(
            backup: file, path: address, now: .machine, identity: identity, changes: changes,
            prepare: { fresh in
                if let line = try await erasures?.repeatAll(in: fresh) { print(line) }
            }, progress: { $0.printProgress() }
        ).run()
        print("\(address): \(outcome.contents.sentence), epoch \(outcome.epoch) of the log")
        if let aside = outcome.aside { print("The previous database is kept as \(aside).") }
        print("Start the server, then run `perennial rebuild --verify`.")
    }

    private func mark(_ address: String) async throws {
        let lock = try ServerLock.acquire(for: address)
        defer { lock?.release() }
        let store = Database(try DatabaseAddress.open(address, mayCreate: false))
        defer { store.driver.close() }
        try await DatabaseAddress.requireAlone(on: store.driver, at: address)
        do {
            let epoch = try await store.beginEpoch(at: .machine)
            LogPlaceFile(for: address)?.remove()
            print("Epoch \(epoch) of the log has begun.")
        } catch {
            throw StartFailure(
                "The database could not be marked: \(error).",
                remedy: "Check that it runs and that the restore is complete.")
        }
    }
}

extension BackupCopy.Progress {
    fileprivate func printProgress() {
        Outcome.printError("\(bytes >> 20) of about \(ofAbout >> 20) MiB")
    }
}

extension DatabaseContents {
    var sentence: String {
        "\(documents.counted("document")), \(customers.counted("customer")), "
            + "\(events.counted("event")), schema version \(version)"
    }
}
