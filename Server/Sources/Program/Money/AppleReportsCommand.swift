import AppStoreFormats
import ArgumentParser
import AsyncHTTPClient
import Engine
import Foundation
import Ledger
import OutgoingHTTP

/// Works with the report files of App Store Connect.
struct AppleReportsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple-reports", abstract: "Import the App Store's own report files.",
        subcommands: [AppleReportsImportCommand.self, AppleReportsFetchCommand.self])
}

/// Fetches the report files that are due and missing, as a server does automatically.
struct AppleReportsFetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Fetch the report files that are due and missing.",
        discussion: "Needs app_store.reports in the configuration. docs/apple-reports.md.")

    @Option(help: "The app, if there are several.") var app: String?
    @OptionGroup var process: ProcessOptions
    @OptionGroup var simulator: SimulatorOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let file = try Outcome.configuration(at: process.configPath)
            let settings = try process.settings(file)
            let logger = Log.start(settings.logLevel)
            let time = try await simulator.time(for: file.apps, logger)
            try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) { http in
                let stores = AppStores(file.apps, http: http, now: time.now)
                let assembly = try await Assembly(
                    apps: file.apps, databaseAddress: settings.database, for: .modifying,
                    now: time.now, reconciliation: stores.reconciliation(), logger: logger)
                defer { assembly.database.close() }
                try await fetch(try assembly.app(named: app), by: assembly.engine)
            }
        }
    }

    /// Fetches until no file is left that can be fetched.
    private func fetch(_ app: AppID, by engine: Engine) async throws {
        var leftOut: Set<String> = []
        var troubles: [String] = []
        while true {
            let found = try await engine.appleReports.fetch(
                of: app, isPatient: false, besides: leftOut)
            guard let outcome = found else {
                throw StartFailure(
                    "\(app) has no app_store.reports in the configuration.",
                    remedy: "Add a team key of App Store Connect. docs/apple-reports.md says how.")
            }
            for name in outcome.stored { print("\(name): stored") }
            for name in outcome.empty { print("\(name): no sales") }
            leftOut = outcome.leftOut
            troubles += outcome.troubles.filter { !troubles.contains($0) }
            if outcome.isBrokenOff {
                throw StartFailure(
                    troubles.joined(separator: "\n"), remedy: "Nothing else was fetched.")
            }
            guard outcome.count == 0 else { continue }
            guard !troubles.isEmpty else { return }
            throw StartFailure(
                troubles.joined(separator: "\n"),
                remedy: "Everything else that is due was fetched.")
        }
    }
}

/// Reads report files, and stores the decompressed text of each one unchanged.
struct AppleReportsImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Read report files and store them.",
        discussion: "A file that cannot be read as a whole is refused. docs/apple-reports.md.")

    /// The maximum size of a downloaded file, in bytes.
    static let fileBytesMax = 67_108_864
    /// The maximum size of a file's decompressed content, in bytes.
    static let contentBytesMax = 268_435_456

    @Argument(help: "Files as Apple sends them, .gz or decompressed.") var files: [String]
    @Option(help: "The app, if there are several.") var app: String?
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let assembly = try await options.assembly(for: .modifying)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            var refused = 0
            for file in files {
                do throws(StartFailure) {
                    print(try await Self.importFile(file, of: app, by: assembly.engine))
                } catch {
                    refused += 1
                    Outcome.printError("error: \(error)")
                }
            }
            if refused > 0 { throw ExitCode(1) }
        }
    }

    private static func importFile(
        _ path: String, of app: AppID, by engine: Engine
    ) async throws(StartFailure) -> String {
        let content = try content(of: path)
        let name = URL(fileURLWithPath: path).lastPathComponent
        do {
            let done = try await engine.appleReports.importFile(content, name: name, of: app)
            let first = Ledger.CivilDate(dayNumber: done.days.lowerBound).text
            let last = Ledger.CivilDate(dayNumber: done.days.upperBound).text
            let days = first == last ? first : "\(first) to \(last)"
            if let number = done.otherVendorNumber {
                Outcome.printError(
                    "warning: \(name) is a file of the vendor \(number), and vendor_number in the "
                        + "configuration is another one.")
            }
            return "\(name): \(done.kind), \(days), \(done.rowsCount) rows"
                + standing(of: done)
        } catch let failure as SalesReportFailure {
            throw StartFailure(
                "\(name) was not imported: \(failure)", remedy: "Nothing of it was stored.")
        } catch {
            throw StartFailure(
                "\(name) was not imported: \(error)", remedy: "Nothing of it was stored.")
        }
    }

    /// A sentence that says whether the imported file replaces a file that counted before.
    static func standing(of done: AppleReportImport) -> String {
        guard done.isCompared else { return ", stored: only daily sales files are compared" }
        if let other = done.displacedBy { return ", stored: \(other) counts for all regions" }
        guard let replaced = done.replacedName else { return done.isKnown ? ", known already" : "" }
        return ", counts \(done.isKnown ? "again, " : "")in place of \(replaced)"
    }

    private static func content(of path: String) throws(StartFailure) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw StartFailure("\(path) cannot be read.", remedy: "Check its name and permissions.")
        }
        guard data.count <= fileBytesMax else {
            throw StartFailure(
                "\(path) is larger than \(fileBytesMax) bytes.",
                remedy: "Import a report of App Store Connect.")
        }
        let bytes = [UInt8](data)
        guard Gzip.isCompressed(bytes) else { return bytes }
        do { return try Gzip.decompressed(bytes, bytesMax: contentBytesMax) } catch {
            throw StartFailure(
                "\(path) cannot be decompressed: \(error).",
                remedy: "Download it again. Nothing of it was stored.")
        }
    }
}
