import Engine
import Ledger
import PerennialContract
import Reports

/// The output of `reconcile money`. For each report, it lists money that may be missing, then the
/// explained differences, then the sums.
struct SalesComparisonText {
    /// How many differences of a report are listed without `--all`.
    static let linesUsual = 200

    var linesMax = Self.linesUsual

    func lines(of sales: SalesComparison, _ others: [ReportComparison]) -> [String] {
        guard sales.files > 0 || !others.isEmpty else {
            return [
                "\(Self.days(sales.days)): no file, nothing was compared",
                "Import the App Store's files with `perennial apple-reports import`, or let the "
                    + "server fetch them: docs/apple-reports.md.",
            ]
        }
        return lines(of: sales) + others.flatMap(lines)
    }

    // MARK: - Daily sales

    func lines(of comparison: SalesComparison) -> [String] {
        let reconciliation = comparison.reconciliation
        guard comparison.files > 0 else {
            return ["\(Self.days(comparison.days)): no sales file, sales were not compared"]
        }
        let differences = reconciliation.differences
        return [
            "\(Self.days(comparison.days)): \(comparison.files.counted("file")), "
                + "\(reconciliation.comparedCount.counted("number")) compared, "
                + differences.count.counted("difference")
        ] + list(differences) + Self.residual(of: reconciliation)
    }

    /// The lines of a report other than the daily sales.
    func lines(of comparison: ReportComparison) -> [String] {
        let differences = comparison.differences
        let residual = comparison.residual.count
        return [
            "\(comparison.kind.rawValue): \(comparison.files.counted("file")), "
                + "\(comparison.comparedCount.counted("number")) compared, "
                + differences.count.counted("difference")
        ] + list(differences)
            + ["residual: \(residual == 0 ? "none" : residual.counted("number"))"]
    }

    // MARK: - Differences

    /// Lists the differences. Money that may be missing comes first. If a missing file or another
    /// app explains differences, they are combined into one line for each day or product.
    private func list(_ differences: [SalesDifference]) -> [String] {
        let isGrouped = linesMax < Int.max
        let missing = differences.filter { isGrouped && $0.cause == .fileMissing }
        let foreign = differences.filter { isGrouped && $0.cause == .otherApp }
        let others = differences.filter {
            !isGrouped || $0.cause != .fileMissing && $0.cause != .otherApp
        }
        let sorted = others.filter(\.cause.isResidual) + others.filter { !$0.cause.isResidual }
        let days = Dictionary(grouping: missing, by: \.key.day).sorted { $0.key < $1.key }
        let products = Dictionary(grouping: foreign, by: \.key.product).sorted { $0.key < $1.key }
        return cut(sorted.map(Self.line), "difference")
            + cut(
                days.map { day, own in
                    Self.group(CivilDate(dayNumber: day).text, own, .fileMissing)
                }, "day")
            + cut(products.map { Self.group("\($0)", $1, .otherApp) }, "product")
    }

    private func cut(_ lines: [String], _ one: String) -> [String] {
        guard lines.count > linesMax else { return lines }
        let rest = lines.count - linesMax
        return lines.prefix(linesMax) + ["  … and \(rest) more \(one)s: --all lists them"]
    }

    private static func group(
        _ name: String, _ differences: [SalesDifference], _ cause: SalesDifference.Cause
    ) -> String {
        "  \(name): \(differences.count.counted("number"))  \(cause.rawValue): \(cause.sentence)"
    }

    private static func line(_ one: SalesDifference) -> String {
        let day = CivilDate(dayNumber: one.key.day).text
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
                    ? PerennialContract.Money(milliunits: sum, currency: currency).amount
                    : "\(sum)"
                return "residual: \(quantity.rawValue) \(number) \(currency)"
            }
        }
    }

    private static func days(_ days: ClosedRange<Int64>) -> String {
        let first = CivilDate(dayNumber: days.lowerBound).text
        return "\(first) to \(CivilDate(dayNumber: days.upperBound).text)"
    }
}
