import ArgumentParser
import AsyncHTTPClient
import Engine
import Foundation
import Ledger
import Logging
import Synchronization

/// Takes in what another backend knows: receipts, or the numbers of purchases.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Take in receipts, or numbers of purchases, out of a file.",
        discussion: """
            Killed at any moment, the same command goes on where it was. Each row that cannot be \
            used stands in the report, with its line and why. docs/import.md says what a file \
            looks like.
            """)

    @Argument(help: "receipts, original-transaction-ids, or revenuecat-export.")
    var kind: ImportKind
    @Argument(help: "CSV, or one JSON object a line.") var file: String
    @Flag(help: "Say what would come of each row; ask nobody, keep nothing.") var dryRun = false
    @Flag(help: "Begin anew, although the file was begun or done before.") var anew = false
    @Flag(help: "Take a file whose header names no customer: what it has is nobody's.")
    var withoutCustomers = false
    @Option(help: "Where the report goes (FILE.report.csv, or FILE.dry-run.csv).")
    var report: String?
    @Option(help: "The app, where there are several.") var app: String?
    @Option(help: "production or sandbox, of rows that do not say it.")
    var environment = Ledger.Environment.production
    @Option(help: "Take the time from a simulator; only where every app is simulated.")
    var clockFrom: String?
    @OptionGroup var process: ProcessOptions

    func run() async throws {
        try await Outcome.reported {
            let file = try Outcome.configuration(at: process.configPath)
            let settings = try process.settings(file)
            try ServeRules.check(file.apps, clockFrom: clockFrom)
            let logger = Log.start(settings.logLevel)
            try await HTTPClient.withHTTPClient(configuration: .appStore) { http in
                try await bring(file, settings, http, logger)
            }
        }
    }

    private func bring(
        _ file: ConfigurationFile, _ settings: Settings, _ http: HTTPClient, _ logger: Logger
    ) async throws {
        var clock: ClockFollower?
        if let clockFrom {
            clock = try await ClockFollower(clockFrom, client: http, logger: logger)
        }
        // A simulator's time stands still for an import.
        let start = clock?.now
        let now: @Sendable () -> Instant = { start ?? .machine }
        let stores = AppStores(file.apps, http: http, now: now, pacing: { .patient() })
        let assembly = try await Assembly(
            apps: file.apps, databaseAddress: settings.database,
            simulatorRoot: try await clock?.root(), receiptRoot: try await clock?.receiptRoot(),
            now: now, asking: stores.asking(), logger: logger)
        defer { assembly.database.close() }
        do { try await bring(with: assembly) } catch let failure as EngineFailure {
            throw StartFailure(
                "The import stopped: \(failure).",
                remedy: "Run the same command again: it goes on from here.")
        }
    }

    private func bring(with assembly: Assembly) async throws {
        let app = try assembly.app(named: app)
        if kind != .receipts, !assembly.engine.canAskByNumber(app) {
            throw StartFailure(
                "App \(app) has no app_store: of a number alone nothing is known.",
                remedy: "Add a key to the configuration, or import receipts.")
        }
        let suffix = dryRun ? ".dry-run.csv" : ".report.csv"
        let report = URL(fileURLWithPath: report ?? file + suffix)
        let progress = ImportProgress()
        let run = ImportRun(
            engine: assembly.engine, app: app, kind: kind, file: URL(fileURLWithPath: file),
            report: report, environment: environment, isTrial: dryRun, isAnew: anew,
            isWithoutCustomers: withoutCustomers, progress: progress.tell)
        let (position, nameless) = try await run.run()
        // Of what an earlier run has read it is not known any more.
        let nobodys = nameless == 0 ? "" : " (\(nameless) of them named no customer)"
        let verb = dryRun ? "could be used" : "used"
        print(
            "\(position.linesRead) lines, \(position.used) rows \(verb)\(nobodys), "
                + "\(position.refused) not: \(report.path)")
    }
}

extension ImportKind: ExpressibleByArgument {}

/// A line of progress on standard error, at most once a second.
private final class ImportProgress: Sendable {
    private static let pause = Duration.seconds(1)

    private struct State {
        var first: (at: ContinuousClock.Instant, position: ImportPosition)?
        var last: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    @Sendable func tell(_ position: ImportPosition, of total: Int64) {
        let now = ContinuousClock.now
        let since = state.withLock { state -> (Duration, ImportPosition)? in
            let first = state.first ?? (now, position)
            state.first = first
            if let last = state.last, now - last < Self.pause { return nil }
            state.last = now
            return (now - first.at, first.position)
        }
        guard let (elapsed, first) = since else { return }
        var line =
            "\(position.linesRead) lines, \(position.bytesRead * 100 / max(1, total)) %, "
            + "\(position.used) rows used, \(position.refused) not"
        let seconds = Int64(elapsed.components.seconds)
        let bytes = position.bytesRead - first.bytesRead
        if seconds > 0, bytes > 0 {
            let rate = (position.linesRead - first.linesRead) / seconds
            let left = (total - position.bytesRead) * seconds / bytes
            line += ", \(rate) a second, about \(left / 60) min \(left % 60) s left"
        }
        Outcome.toStandardError(line)
    }
}
