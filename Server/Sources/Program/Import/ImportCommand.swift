import ArgumentParser
import AsyncHTTPClient
import Engine
import Foundation
import Ledger
import Logging
import OutgoingHTTP
import Storage
import Synchronization

/// Imports the data of another backend, or of a vendor: receipts, transaction ids, or exports.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import receipts, original transaction ids, or a vendor's export from a file.",
        discussion: """
            After an interruption, the same command continues. The report lists each \
            unusable row with its line and the reason. docs/import.md describes the file \
            formats.
            """)

    @Argument(
        help: "receipts, original-transaction-ids, revenuecat-export, adapty, or apphud.")
    var kind: ImportKind
    @Argument(help: "CSV, or one JSON object per line, plain or compressed with gzip.")
    var file: String
    @Flag(help: "Report the result of each row without requests or changes.") var dryRun = false
    @Flag(help: "Start again, even if the file was imported before.") var anew = false
    @Flag(help: "Accept a file without a customer column. Its purchases get no customer.")
    var withoutCustomers = false
    @Option(help: "The file for the report (FILE.report.csv, or FILE.dry-run.csv).")
    var report: String?
    @Option(help: "The app, if there are several.") var app: String?
    @Option(help: "production or sandbox, for rows that name none.")
    var environment = Ledger.Environment.production
    @Option(help: "Use a simulator's time. Only if every app is simulated.")
    var clockFrom: String?
    @OptionGroup var process: ProcessOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let file = try Outcome.configuration(at: process.configPath)
            let settings = try process.settings(file)
            try ServeRules.check(file.apps, clockFrom: clockFrom)
            let logger = Log.start(settings.logLevel)
            try await HTTPClient.withHTTPClient(configuration: .withoutRedirects) { http in
                try await runImport(file, settings, http, logger)
            }
        }
    }

    private func runImport(
        _ file: ConfigurationFile, _ settings: ProcessSettings, _ http: HTTPClient, _ logger: Logger
    ) async throws {
        var clock: ClockFollower?
        if let clockFrom {
            clock = try await ClockFollower(clockFrom, client: http, logger: logger)
        }
        // The simulator's time stays the same during an import.
        let start = clock?.now
        let now: @Sendable () -> Instant = { start ?? .machine }
        let stores = AppStores(file.apps, http: http, now: now, pacing: { .waiting() })
        let assembly = try await Assembly(
            apps: file.apps, databaseAddress: settings.database,
            simulatorRoot: try await clock?.root(), receiptRoot: try await clock?.receiptRoot(),
            now: now, reconciliation: stores.reconciliation(), logger: logger)
        defer { assembly.database.close() }
        do { try await runImport(with: assembly) } catch let failure as EngineFailure {
            throw StartFailure(
                "The import stopped: \(failure).",
                remedy: "Run the same command again. It continues from here.")
        }
    }

    private func runImport(with assembly: Assembly) async throws {
        let app = try assembly.app(named: app)
        if kind != .receipts, !assembly.engine.imports.canQueryTransactions(app) {
            throw StartFailure(
                "App \(app) has no app_store, which is needed to look up transaction ids.",
                remedy: "Add `app_store:` with an In-App Purchase key to the configuration, or "
                    + "import receipts.")
        }
        let suffix = dryRun ? ".dry-run.csv" : ".report.csv"
        let report = URL(fileURLWithPath: report ?? file + suffix)
        let progress = ImportProgress()
        let run = ImportRun(
            engine: assembly.engine, app: app, kind: kind, file: URL(fileURLWithPath: file),
            report: report, environment: environment, isTrial: dryRun, isAnew: anew,
            isWithoutCustomers: withoutCustomers, progress: progress.report)
        let (position, nameless) = try await run.run()
        guard let nameless else {
            print(
                "\(file) was imported before: \(position.used.counted("row")) used, "
                    + "\(position.refused) not. Nothing was done. --anew imports it again.")
            return
        }
        // If an import is resumed, only the rows of this run are counted here.
        let unnamed = nameless == 0 ? "" : " (\(nameless) of them named no customer)"
        let verb = dryRun ? "could be used" : "used"
        print(
            "\(position.linesRead.counted("line")), \(position.used.counted("row")) \(verb)"
                + "\(unnamed), \(position.refused) not: \(report.path)")
    }
}

extension ImportKind: ExpressibleByArgument {}

/// Prints progress to standard error, at most once a second.
private final class ImportProgress: Sendable {
    private static let pause = Duration.seconds(1)

    private struct State {
        var first: (at: ContinuousClock.Instant, share: ImportShare)?
        var last: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    @Sendable func report(_ share: ImportShare) {
        let now = ContinuousClock.now
        let since = state.withLock { state -> (Duration, ImportShare)? in
            let first = state.first ?? (now, share)
            state.first = first
            if let last = state.last, now - last < Self.pause { return nil }
            state.last = now
            return (now - first.at, first.share)
        }
        guard let (elapsed, first) = since else { return }
        let position = share.position
        var line =
            "\(position.linesRead.counted("line")), "
            + "\(share.bytesDone * 100 / max(1, share.bytesTotal)) %, "
            + "\(position.used.counted("row")) used, \(position.refused) not"
        let seconds = Int64(elapsed.components.seconds)
        let bytes = share.bytesDone - first.bytesDone
        if seconds > 0, bytes > 0 {
            let rate = (position.linesRead - first.position.linesRead) / seconds
            let left = (share.bytesTotal - share.bytesDone) * seconds / bytes
            line += ", \(rate) per second, about \(left / 60) min \(left % 60) s left"
        }
        Outcome.printError(line)
    }
}
