import AppStoreFormats
import ArgumentParser
import Engine
import Foundation
import Ledger
import Reports

/// Compares our sales with the App Store's reports.
struct ReconcileMoneyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "money", abstract: "Compare sales with the App Store's imported reports.",
        discussion: """
            Each difference has a cause. Money that may be missing is listed first and summed up. \
            docs/apple-reports.md describes the causes. Ends with 1 if money may be missing, or if \
            there is no file of these days at all.
            """)

    /// The maximum number of days in one comparison. The number is limited, because the files of
    /// all days are in memory.
    private static let daysMax = 366

    @Option(help: "The first day, such as 2026-11-01.") var from: String
    @Option(help: "The last day.") var to: String
    @Option(help: "The time zone of the App Store's days, according to your agreement.")
    var timeZone = "America/Los_Angeles"
    @Option(help: "The app, if there are several.") var app: String?
    @Flag(help: "List every difference, however many there are.") var all = false
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await Outcome.reportingFailures {
            let days = try DayRange.days(from: from, to: to)
            guard days.count <= Self.daysMax else {
                throw StartFailure(
                    "More than \(Self.daysMax) days cannot be compared at once.",
                    remedy: "Compare one year after the other.")
            }
            guard let zone = TimeZone(identifier: timeZone) else {
                throw StartFailure(
                    "The time zone “\(timeZone)” is unknown.",
                    remedy: "Use a name such as America/Los_Angeles.")
            }
            let assembly = try await options.assembly(for: .inspecting)
            defer { assembly.database.close() }
            let app = try assembly.app(named: app)
            let sales = try await assembly.engine.appleReports.reconcileSales(
                of: app, in: days, WallClock(zone))
            let others = try await assembly.engine.appleReports.compare(
                of: app, in: days, WallClock(zone))
            let text = SalesComparisonText(linesMax: all ? .max : SalesComparisonText.linesUsual)
            for line in text.lines(of: sales, others) { print(line) }
            if sales.files == 0, others.isEmpty { throw ExitCode(1) }
            if !sales.reconciliation.residual.isEmpty
                || others.contains(where: { !$0.residual.isEmpty })
            {
                throw ExitCode(1)
            }
        }
    }
}
