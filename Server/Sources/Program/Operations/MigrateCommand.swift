import ArgumentParser
import Ledger
import Storage

/// Copies all data from one database to another, for example from a file to a PostgreSQL server.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Copy a database into an empty one and compare the two row by row.",
        discussion: """
            Stop all servers of both databases first. A folder that `perennial export package` has \
            written can be read while its server runs.
            """)

    @Option(help: "What to copy: a file, postgres://…, or the folder of a package.")
    var from: String
    @Option(help: "The empty database to copy into: a file or postgres://….") var to: String

    func run() async throws {
        try await Outcome.reportingFailures {
            let place = DatabaseAddress.withoutPassword(to)
            try DataPackage.requireFolder(from)
            guard DataPackage.isFolder(from) else {
                let count = try await Migration(from: from, to: to).run { $0.printProgress() }
                return print(
                    "\(count.counted("row")) copied and compared; serve with --database \(place)")
            }
            let package = DataPackage(folder: from)
            let to = to
            try await Interruption.cancelling {
                let count = try await package.copy(to: to, at: .machine) { $0.printProgress() }
                print("\(count.counted("row")) copied and compared into \(place)")
                print(
                    "Webhooks are paused there. Before you serve it, read docs/package.md: which "
                        + "settings of \(package.configuration) must change.")
            }
        }
    }
}

extension CopyProgress {
    func printProgress() {
        let verb = isComparing ? "compared" : "copied"
        Outcome.printError("\(table): \(rows.counted("row")) \(verb)")
    }
}

/// Copies a database, and compares the copy with it.
struct Migration {
    var from: String
    var to: String

    /// - Returns: the total number of rows.
    /// - Throws: ``StartFailure`` if a server runs on the source, because the copy would lack rows
    ///   that the server writes meanwhile.
    func run(
        progress: @Sendable (CopyProgress) -> Void = { _ in }
    ) async throws(StartFailure) -> Int {
        let lock = try ServerLock.shared(of: from)
        defer { lock?.release() }
        let source = Database(try await DatabaseAddress.openForInspection(from))
        defer { source.driver.close() }
        try await DatabaseAddress.requireAlone(on: source.driver, at: from)
        let target = Database(try DatabaseAddress.open(to))
        defer { target.driver.close() }
        do {
            try await target.migrate(at: Instant.machine.milliseconds)
            return try await target.copy(from: source, progress: progress)
        } catch {
            if let failure = DatabaseAddress.unusable(to, error) { throw failure }
            throw StartFailure(
                "The copy failed: \(error).",
                remedy: "Name an empty database with --to. The source was not changed.")
        }
    }
}
