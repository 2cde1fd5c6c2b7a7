import PerennialContract

/// A report as a table for a terminal, with a sparkline for each currency and part.
struct ReportTable {
    private static let bars = Array("▁▂▃▄▅▆▇█")

    private let report: Report
    private let isBehind: Bool

    /// - Parameter isBehind: whether the report was read from a standby that lacks changes.
    init(_ report: Report, isBehind: Bool = false) {
        self.report = report
        self.isBehind = isBehind
    }

    var text: String {
        ([heading, ""] + tableLines + [""] + sparklines + notes).joined(separator: "\n") + "\n"
    }

    private var heading: String {
        let known =
            (report.asKnownAt.map { ", as known at \($0)" } ?? "")
            + (report.isRestated == true ? ", without reversed refunds" : "")
        return "\(report.title): \(report.from) to \(report.to), \(report.environment.rawValue)"
            + known + "\n\(report.sentence)"
    }

    // MARK: - Table

    private var tableLines: [String] {
        let hasCurrency = report.rows.contains { $0.currency != nil }
        let hasPart = report.segment != nil
        var table = [
            [report.by] + (hasCurrency ? ["currency"] : [])
                + (hasPart ? [report.segment ?? ""] : [])
                + report.columns.map(\.name)
        ]
        for row in report.rows {
            table.append(
                [row.from + (row.isIncomplete ? " …" : "")]
                    + (hasCurrency ? [row.currency ?? "–"] : [])
                    + (hasPart ? [row.part ?? "–"] : []) + row.values.map { $0.isEmpty ? "–" : $0 })
        }
        let names = 1 + (hasCurrency ? 1 : 0) + (hasPart ? 1 : 0)
        return Self.aligned(table, leftColumns: names)
    }

    private static func aligned(_ table: [[String]], leftColumns: Int) -> [String] {
        let widths = (table.first ?? []).indices.map { column in
            table.map { $0[column].count }.max() ?? 0
        }
        return table.map { line in
            let cells = line.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - line[column].count)
                return column < leftColumns ? line[column] + space : space + line[column]
            }
            return cells.joined(separator: "  ").trimmedEnd
        }
    }

    // MARK: - Sparklines

    /// The last column of each currency and part, over time.
    private var sparklines: [String] {
        guard let column = report.columns.indices.last else { return [] }
        var series: [(name: String, values: [Double])] = []
        for row in report.rows {
            let name = [row.part, row.currency].compactMap(\.self).joined(separator: " ")
            let value = Double(row.values[column]) ?? 0
            if let index = series.firstIndex(where: { $0.name == name }) {
                series[index].values.append(value)
            } else {
                series.append((name, [value]))
            }
        }
        return series.filter { $0.values.count > 1 }.map { line in
            "\(report.columns[column].name)  \(Self.sparkline(line.values))  \(line.name)"
                .trimmedEnd
        }
    }

    private static func sparkline(_ values: [Double]) -> String {
        let low = min(values.min() ?? 0, 0)
        let span = max((values.max() ?? 0) - low, .leastNonzeroMagnitude)
        return String(
            values.map { value in
                bars[min(Int((value - low) / span * Double(bars.count)), bars.count - 1)]
            })
    }

    private var notes: [String] {
        var notes: [String] = []
        if report.rows.contains(where: \.isIncomplete) {
            notes.append("… incomplete: later changes can belong to the period")
        }
        if report.isFilling {
            notes.append("Rows of earlier purchases are still being derived: numbers will grow.")
        }
        if isBehind { notes.append(ReportCommand.behind(report.completeUntil)) }
        if !report.unconverted.isEmpty {
            notes.append(
                "Not converted, because a rate is missing: "
                    + report.unconverted.joined(separator: ", "))
        }
        if let from = report.ratesFrom, let to = report.ratesTo {
            notes.append("Exchange rates of \(from) to \(to)")
        }
        return notes
    }
}

extension String {
    fileprivate var trimmedEnd: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
