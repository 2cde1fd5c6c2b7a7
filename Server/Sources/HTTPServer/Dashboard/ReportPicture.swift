import Dashboard
import Engine
import Ledger
import PerennialContract
import Reports

/// The part of a computed report that a page draws: the rows of one currency, period by period.
struct ReportPicture: Sendable {
    let view: ChartView
    let result: ReportResult
    /// The currency of the drawn amounts; nil if no column is money.
    let currency: String?
    /// The currencies of the rows that are not drawn, sorted.
    let otherCurrencies: [String]

    init(_ view: ChartView, _ result: ReportResult) {
        self.view = view
        self.result = result
        let currencies = Set(result.report.rows.compactMap(\.currency)).sorted()
        currency = view.currency ?? currencies.first
        otherCurrencies = currencies.filter { [currency] in $0 != currency }
    }

    /// A sentence about the currencies, if the amounts have several. It says how the amounts were
    /// converted, and which ones are left out.
    var conversion: String? {
        guard let currency else { return nil }
        let left =
            otherCurrencies.isEmpty
            ? "" : " Not included: \(otherCurrencies.joined(separator: ", "))"
        guard view.query.currency != nil else {
            return left.isEmpty ? nil : "Amounts are those in \(currency).\(left)."
        }
        let days = result.report.rateDays.map { days in
            let (first, last) = (days.lowerBound, days.upperBound)
            return first == last
                ? "of \(Self.name(first))" : "of \(Self.name(first)) to \(Self.name(last))"
        }
        return "Amounts are in \(currency), at your exchange rates\(days.map { " " + $0 } ?? "")."
            + (left.isEmpty ? "" : left + ", for which a rate is missing.")
    }

    private static func name(_ day: Int64) -> String {
        let date = CivilDate(dayNumber: day)
        return "\(date.day) \(date.monthName) \(date.year)"
    }

    var isEmpty: Bool { result.report.rows.isEmpty }

    /// The rows that are added up for a column. Counts include all currencies.
    private func rows(_ column: Int) -> [Reports.Report.Row] {
        let currency = currency(of: column)
        return result.report.rows.filter { currency == nil || $0.currency == currency }
    }

    /// The currency of a column; nil for counts and for percentages of counts.
    func currency(of column: Int) -> String? {
        let column = view.definition.columns[column]
        return switch column.unit {
        case .money: currency
        case .count: nil
        case .percent:
            column.name.hasPrefix("mrr_") || view.definition.columns.contains { $0.unit == .money }
                ? currency : nil
        }
    }

    /// Whether the stacked parts explain how an opening number became a closing number.
    var isMovement: Bool { index("opening") != nil && view.stack != nil }

    func unit(_ column: Int) -> ChartUnit {
        switch view.definition.columns[column].unit {
        case .money: .money(currency: currency ?? "")
        case .count: .count
        case .percent: .share
        }
    }

    /// The sum of a column in a period. A percentage is computed for all rows together, because
    /// percentages cannot be added.
    func value(_ column: Int, in period: ReportPeriod) -> Int64 {
        let values = rows(column).filter { $0.period == period }.map { $0.values[column] }
        if view.definition.columns[column].unit == .percent {
            return ReportValue.share(of: values)
        }
        return values.map(\.whole).reduce(0, +)
    }

    /// Whether there is a number to show. False for a percentage whose denominator is zero.
    func hasValue(_ column: Int, in period: ReportPeriod) -> Bool {
        guard view.definition.columns[column].unit == .percent else { return true }
        return rows(column).contains { $0.period == period && $0.values[column].size > 0 }
    }

    func text(_ column: Int, in period: ReportPeriod) -> String {
        hasValue(column, in: period) ? unit(column).text(value(column, in: period)) : "–"
    }

    // MARK: - Pictures

    func line(_ column: Int) -> LineChart {
        let definition = view.definition.columns[column]
        return LineChart(
            unit: unit(column), name: ChartView.title(definition.name),
            points: result.periods.map { period in
                LineChart.Point(
                    label: label(of: period), name: names(of: period).long,
                    value: value(column, in: period), hasValue: hasValue(column, in: period),
                    isOver: !result.isIncomplete(period),
                    purchases: purchases(column, period))
            })
    }

    /// The columns of a stack, with the opening and closing numbers if the report has them.
    func bars(_ columns: [Int]) -> BarChart {
        let drawn = shown(columns)
        let titles = drawn.map { ChartView.title(view.definition.columns[$0].name) }
        let opening = index("opening")
        let closing = index("closing")
        return BarChart(
            unit: unit(drawn[0]), name: view.definition.title,
            series: zip(titles, Self.colors).map { BarChart.Series($0.0, $0.1) },
            columns: result.periods.map { period in
                BarChart.Column(
                    label: label(of: period), name: names(of: period).long,
                    isOver: !result.isIncomplete(period),
                    values: drawn.map { value($0, in: period) },
                    purchases: drawn.map { purchases($0, period) },
                    opening: opening.map { value($0, in: period) },
                    closing: closing.map { value($0, in: period) })
            }, showsNet: opening != nil)
    }

    /// A chart of one column, divided into its largest parts and the rest.
    func parts(_ column: Int) -> BarChart {
        let definition = view.definition.columns[column]
        let parts = largestParts(column)
        let hasRest = allParts(column).count > parts.count
        return BarChart(
            unit: unit(column), name: ChartView.title(definition.name),
            series: zip(
                parts.map { $0 ?? "unknown" } + (hasRest ? ["other"] : []), Self.partColors
            ).map { BarChart.Series($0.0, $0.1) },
            columns: result.periods.map { period in
                let values = parts.map { value(column, in: period, of: $0) }
                let all = value(column, in: period)
                return BarChart.Column(
                    label: label(of: period), name: names(of: period).long,
                    isOver: !result.isIncomplete(period),
                    values: values + (hasRest ? [all - values.reduce(0, +)] : []),
                    purchases: parts.map { part in
                        part.flatMap { purchases(column, period, part: $0) }
                    } + (hasRest ? [nil] : []))
            }, showsNet: false)
    }

    private static let colors: [BarChart.Color] = [
        .green, .paleGreen, .blue, .amber, .brick, .grey,
    ]
    private static let partColors: [BarChart.Color] = [
        .green, .blue, .amber, .paleGreen, .brick, .grey,
    ]

    /// For each period: the number of subscribers who first paid in it, and how many of them paid
    /// again once, twice, and so on. Begins with the first period that has such subscribers.
    var cohorts: HeatTable {
        let columns = Array(view.definition.columns.indices.dropFirst())
        let last = columns.last { column in
            result.periods.contains { value(column, in: $0) != 0 }
        }
        return HeatTable(
            name: view.definition.title, cohortName: "First paid", columnName: "Renewal",
            cohorts: result.periods.enumerated().drop { value(0, in: $0.element) == 0 }.map {
                index, period in
                HeatTable.Cohort(
                    name: names(of: period).long, people: Int(value(0, in: period)),
                    cells: cells(
                        of: period, columns.prefix { $0 <= last ?? 0 },
                        passed: result.periods.count - 1 - index))
            })
    }

    /// How many renewals of a cohort could have happened by now, and how many did.
    ///
    /// - Parameter passed: how many periods have begun since the cohort's own period.
    private func cells(
        of period: ReportPeriod, _ columns: ArraySlice<Int>, passed: Int
    ) -> [HeatTable.Cell] {
        let last = columns.last { value($0, in: period) != 0 } ?? 0
        let isGrowing = result.periods.last.map { result.isIncomplete($0) } ?? false
        return columns.enumerated().prefix { $0.offset < passed || $0.element <= last }.map {
            HeatTable.Cell(
                people: Int(value($0.element, in: period)),
                isOpen: isGrowing && $0.offset + 1 >= passed)
        }
    }

    /// How the last period's number results from the parts of a movement; nil if the report is not
    /// a movement.
    func sum(_ columns: [Int]) -> SumPicture? {
        guard let opening = index("opening"), let closing = index("closing"),
            let period = result.periods.last
        else { return nil }
        let first = CivilDate(dayNumber: period.days.lowerBound)
        return SumPicture(
            unit: unit(opening), name: "\(view.definition.title) of \(name(of: period))",
            opening: value(opening, in: period),
            openingRemark: "\(first.day) \(first.monthName)",
            parts: zip(shown(columns), Self.colors).map { column, color in
                let definition = view.definition.columns[column]
                return SumPicture.Part(
                    ChartView.title(definition.name), remark: definition.sentence,
                    color, value: value(column, in: period),
                    purchases: purchases(column, period))
            }, closing: value(closing, in: period),
            closingName: result.isIncomplete(period) ? "Now" : "Closing")
    }

    /// Omits the column of changes of exchange rates if there are none.
    private func shown(_ columns: [Int]) -> [Int] {
        columns.filter { column in
            view.definition.columns[column].name != "exchange"
                || result.periods.contains { value(column, in: $0) != 0 }
        }
    }

    private func index(_ name: String) -> Int? {
        view.definition.columns.firstIndex { $0.name == name }
    }

    // MARK: - Parts

    private func allParts(_ column: Int) -> Set<String?> { Set(rows(column).map(\.part)) }

    /// The page with the purchases behind a number; nil if the number is not a sum over purchases.
    private func purchases(
        _ column: Int, _ period: ReportPeriod, part: String? = nil
    ) -> DashboardPath? {
        let number =
            part.map { value(column, in: period, of: $0) } ?? value(column, in: period)
        guard number != 0 else { return nil }
        return view.purchases(
            view.definition.columns[column], period, currency: currency(of: column), part: part)
    }

    func value(_ column: Int, in period: ReportPeriod, of part: String?) -> Int64 {
        rows(column).filter { $0.period == period && $0.part == part }.map {
            $0.values[column].whole
        }
        .reduce(0, +)
    }

    /// The parts with the largest sums over all periods.
    private func largestParts(_ column: Int) -> [String?] {
        let sizes = allParts(column).map { part in
            (
                part: part,
                size: rows(column).filter { $0.part == part }.map {
                    $0.values[column].whole.magnitude
                }
                .reduce(0, +)
            )
        }.sorted { ($1.size, $0.part ?? "") < ($0.size, $1.part ?? "") }
        let most =
            sizes.count > BarChart.seriesMax ? BarChart.seriesMax - 1 : BarChart.seriesMax
        return sizes.prefix(most).map(\.part)
    }

    /// The parts of the last period as a table; nil for percentages, which do not add up.
    func breakdown(_ column: Int) -> Breakdown? {
        let definition = view.definition.columns[column]
        guard let division = view.query.division, let period = result.periods.last,
            definition.unit != .percent
        else { return nil }
        let title = "By \(division.rawValue), \(name(of: period))"
        return Breakdown(
            title: title, rowName: division.rawValue.capitalized,
            valueName: ChartView.title(definition.name), unit: unit(column),
            rows: allParts(column).map { part in
                Breakdown.Row(
                    part ?? "unknown", value: value(column, in: period, of: part),
                    purchases: part.flatMap { purchases(column, period, part: $0) })
            }.sorted { ($1.value, $0.name) < ($0.value, $1.name) })
    }

    // MARK: - Names

    private func names(of period: ReportPeriod) -> (short: String, long: String) {
        period.names(view.query.length)
    }

    /// The label under the axis. For months and quarters, only the first label of each year
    /// contains the year. If only some of the periods have a label, because there are many, each
    /// label has its year.
    private func label(of period: ReportPeriod) -> String {
        let short = names(of: period).short
        let isFirst = period == result.periods.first || CivilDate(period).month == 1
        return switch view.query.length {
        case .month where !isFirst && result.periods.count <= 16,
            .quarter where !isFirst && result.periods.count <= 16:
            String(short.dropLast(3))
        default: short
        }
    }

    /// The name in a sentence: `May 2026 so far`.
    func name(of period: ReportPeriod) -> String {
        names(of: period).long + (result.isIncomplete(period) ? " so far" : "")
    }
}

extension CivilDate {
    fileprivate init(_ period: ReportPeriod) { self.init(dayNumber: period.days.lowerBound) }
}

extension ReportPeriod {
    /// The names of the period: under an axis, and in a sentence.
    func names(_ length: Length) -> (short: String, long: String) {
        let date = CivilDate(dayNumber: days.lowerBound)
        let month = date.monthName
        let year = String(twoDigits: date.year % 100)
        return switch length {
        case .day: ("\(date.day) \(month.prefix(3))", "\(date.day) \(month) \(date.year)")
        case .week: ("\(date.day) \(month.prefix(3))", "week of \(date.day) \(month) \(date.year)")
        case .month: ("\(month.prefix(3)) \(year)", "\(month) \(date.year)")
        case .quarter:
            ("Q\((date.month + 2) / 3) \(year)", "quarter \((date.month + 2) / 3) of \(date.year)")
        case .year: ("\(date.year)", "\(date.year)")
        }
    }
}

extension Ledger.CivilDate {
    var monthName: String { CivilTime.months[Int(month) - 1] }
}

extension String {
    fileprivate init(twoDigits number: Int64) { self = number < 10 ? "0\(number)" : "\(number)" }
}

extension ReportValue {
    /// The value as a whole number in the unit of ``ChartUnit``: money and percentages in
    /// thousandths, and counts unchanged. Money is in thousandths of the currency's unit.
    var whole: Int64 {
        switch self {
        case .money(let milliunits): milliunits
        case .count(let count): count
        case .share: Self.share(of: [self])
        }
    }

    /// The number by which values are compared. For a percentage, this is the denominator.
    var size: Int64 {
        switch self {
        case .money(let number), .count(let number), .share(_, let number):
            Int64(clamping: number.magnitude)
        }
    }

    /// The sum of the parts, divided by the sum of the wholes, in thousandths. Zero if the sum of
    /// the wholes is zero.
    static func share(of values: [ReportValue]) -> Int64 {
        var (part, whole): (Int64, Int64) = (0, 0)
        for case .share(let its, let all) in values {
            part += its
            whole += all
        }
        return whole == 0 ? 0 : Int64((Double(part) / Double(whole) * 1000).rounded())
    }
}
