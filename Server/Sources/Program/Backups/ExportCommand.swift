import ArgumentParser
import Foundation
import Ledger

/// The commands that export the data of a server.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a table for spreadsheets and SQL, the audit, or everything.",
        subcommands: [
            ExportTableCommand.self, ExportAuditCommand.self, ExportPackageCommand.self,
        ],
        defaultSubcommand: ExportTableCommand.self)
}

/// Writes a folder with everything that a server stores, for another server or for an archive.
struct ExportPackageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "package",
        abstract: "Write a folder with the database, the configuration, and checksums.",
        discussion: """
            Safe while the server runs, if its database is a SQLite file. `perennial migrate \
            --from FOLDER` reads the folder into a new database.
            """)

    @Argument(help: "The folder to create. Existing files are never overwritten.")
    var folder: String
    @OptionGroup var process: ProcessOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let path = process.configPath
            let file = try Outcome.configuration(at: path)
            let settings = try process.settings(file)
            let place = ConfigurationFolder(of: path)
            let list = ErasureFile(
                for: settings.database, in: settings.erasures,
                backups: file.backup.map { place.path($0.folder) })
            let source = DataPackage.Source(
                database: settings.database, configuration: path, erasures: list)
            let package = DataPackage(folder: folder)
            try await Interruption.cancelling {
                let contents = try await package.write(source) { $0.printProgress() }
                print("\(package.folder): \(contents.database.sentence)")
                print(
                    contents.erasureLines.map { "the list of erasures has \($0.counted("line"))" }
                        ?? "there is no list of erasures")
            }
        }
    }
}
