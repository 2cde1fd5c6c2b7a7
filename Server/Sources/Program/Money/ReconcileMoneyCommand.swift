import AppStoreFormats
import ArgumentParser
import Engine
import Foundation
import Ledger
import PerennialContract
import Reports

/// Compares our sales with the App Store's reports.
struct ReconcileMoneyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "money", abstract: "Compare sales with the App Store's imported reports.",
        discussion: """
            Each difference has a cause, and what may be missing is summed up. \
            docs/apple-reports.md describes the causes.
            """)

    /// Differences that are printed; the rest is counted.
    private static let linesMax = 200
    /// The days that are compared at once: the files of a year are kept in memory.
    private static let daysMax = 366

    @Option(help: "The first day, such as 2026-11-01.") var from: String
    @Option(help: "The last day.") var to: String
    @Option(help: "The time zone of the App Store's days: that of your agreement.")
    var timeZone = "America/Los_Angeles"
    @Option(help: "The app, if there are several.") var app: String?
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
            let comparison = try await assembly.engine.reconcileSales(
                of: try assembly.app(named: app), in: days,
                WallClock(zone))
            for line in Self.lines(of: comparison) { print(line) }
            let others = try await assembly.engine.compareReports(
                of: try assembly.app(named: app), in: days,
                WallClock(zone))
            for line in others.flatMap(Self.lines) { print(line) }
            if !comparison.reconciliation.residual.isEmpty
                || others.contains(where: { !$0.residual.isEmpty })
            {
                throw ExitCode(1)
            }
        }
    }

    static func lines(of comparison: SalesComparison) -> [String] {
        let reconciliation = comparison.reconciliation
        let first = Ledger.CivilDate(dayNumber: comparison.days.lowerBound).text
        let last = Ledger.CivilDate(dayNumber: comparison.days.upperBound).text
        var lines = [
            "\(first) to \(last): \(comparison.files) files, "
                + "\(reconciliation.comparedCount) numbers compared, "
                + "\(reconciliation.differences.count) differences"
        ]
        lines += reconciliation.differences.prefix(linesMax).map(line)
        let rest = reconciliation.differences.count - linesMax
        if rest > 0 { lines.append("  … and \(rest) more") }
        return lines + residual(of: reconciliation)
    }

    /// The lines of another report than the daily sales.
    static func lines(of comparison: ReportComparison) -> [String] {
        var lines = [
            "\(comparison.kind.rawValue): \(comparison.files) files, "
                + "\(comparison.comparedCount) numbers compared, "
                + "\(comparison.differences.count) differences"
        ]
        let own = comparison.differences.filter { $0.cause != .otherApp }
        lines += own.prefix(linesMax).map(line)
        if own.count > linesMax { lines.append("  … and \(own.count - linesMax) more") }
        lines += otherApps(comparison.differences.filter { $0.cause == .otherApp })
        let residual = comparison.residual.count
        return lines + ["residual: \(residual == 0 ? "none" : "\(residual) numbers")"]
    }

    /// One line for each product of another app.
    private static func otherApps(_ differences: [SalesDifference]) -> [String] {
        let products = Dictionary(grouping: differences, by: \.key.product)
            .sorted { $0.key < $1.key }
        let lines = products.prefix(linesMax).map { product, own in
            let cause = SalesDifference.Cause.otherApp
            return "  \(product): \(own.count) numbers  \(cause.rawValue): \(cause.sentence)"
        }
        let rest = products.count - linesMax
        return lines + (rest > 0 ? ["  … and \(rest) more products"] : [])
    }

    private static func line(_ one: SalesDifference) -> String {
        let day = Ledger.CivilDate(dayNumber: one.key.day).text
        return "  \(day)  \(one.key.product)  \(one.key.country ?? "–")  "
            + "\(one.quantity.rawValue): ours \(text(one.ours, one)), "
            + "Apple's \(text(one.apples, one))  \(one.cause.rawValue): \(one.cause.sentence)"
    }

    private static func text(_ number: Int64, _ one: SalesDifference) -> String {
        guard one.quantity.isMoney else { return "\(number)" }
        let currency = one.key.currency ?? ""
        return PerennialContract.Money(milliunits: number, currency: currency).amount
            + " \(currency)"
    }

    private static func residual(of reconciliation: SalesReconciliation) -> [String] {
        let residual = reconciliation.residual
        guard !residual.isEmpty else { return ["residual: none"] }
        return SalesDifference.Quantity.allCases.flatMap { quantity in
            (residual[quantity] ?? [:]).sorted { $0.key < $1.key }.map { currency, sum in
                let number =
                    quantity.isMoney
                    ? PerennialContract.Money(milliunits: sum, currency: "").amount : "\(sum)"
                return "residual: \(quantity.rawValue) \(number) \(currency)"
            }
        }
    }
}
