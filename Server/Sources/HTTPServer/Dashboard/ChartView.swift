import Dashboard
import Engine
import Ledger
import PerennialContract
import Reports

/// The parameters of a chart: the query of the pages `/charts/{name}`.
struct ChartView: Sendable {
    let definition: ReportDefinition
    var query: ReportQuery
    /// The currency of the drawn amounts. Either all amounts are converted to it, or only amounts
    /// in this currency are drawn. Nil if nothing was paid yet.
    var currency: String?
    /// The currency of amounts if the query names no currency.
    private let display: DisplayCurrency?
    /// The currencies that can be converted.
    private let rated: Set<String>
    /// The column that is drawn; nil if columns are stacked.
    var column: String?
    /// The value of `known` in the query, which stands for the moment ``ReportQuery/asKnownAt``.
    var known: String
    private let fields: FormFields

    /// Columns that add up and are drawn as a stack.
    private static let stacks = [
        "mrr_movement": ["new", "expansion", "reactivation", "contraction", "churn", "exchange"],
        "active_movement": ["new", "converted", "reactivation", "switched", "churn"],
        "trials": ["started", "converted", "ended"],
        "payments": ["new", "renewals", "reactivations", "one_time"],
        "billing": ["grace_started", "retry_started"],
    ]
    /// The column that is drawn by default, for reports where that is not the first column.
    private static let first = [
        "churn": "churn_rate", "refunds": "refunded", "trial_conversion": "conversion_rate",
        "ltv": "ltv", "seats": "closing",
    ]

    /// The possible values of `known`. Each stands for the moment that is the given number of days
    /// ago.
    static let knownDays: [(word: String, label: String, days: Int64)] = [
        ("day", "A day ago", 1), ("week", "A week ago", 7), ("month", "30 days ago", 30),
        ("quarter", "90 days ago", 90),
    ]

    /// - Throws: ``ProblemError`` or ``EngineFailure`` if there is no such report, or if a word of
    ///   the query is unknown.
    ///
    /// - Parameters:
    ///   - rates: the exchange rates.
    ///   - display: the currency to show if the query names none.
    init(
        _ name: String, of page: PageRequest, rates: ExchangeRates,
        display: DisplayCurrency? = nil
    ) throws {
        guard let definition = ReportCatalogue.named(name) else {
            throw EngineFailure.unknownReport(name, known: ReportCatalogue.all.map(\.name))
        }
        let fields = page.query
        self.definition = definition
        self.fields = fields
        query = try ReportRoutes.query(named: name, in: page.environment) { name in
            ["by", "segment", "from", "to"].contains(name) ? fields[name] : nil
        } days: {
            try Self.days(
                from: fields["from"], to: fields["to"], by: $0,
                today: page.frame.now.milliseconds / 86_400_000)
        }
        self.display = display
        rated = rates.currencies
        let wanted = fields["currency"]?.uppercased()
        if let wanted, wanted.hasPrefix(Self.onlyPrefix) {
            currency = String(wanted.dropFirst(Self.onlyPrefix.count))
        } else {
            currency = wanted ?? display?.currency
            let isConverted = wanted.map(rates.currencies.contains) ?? display?.isConverted ?? false
            if isConverted, definition.cohort == nil { query.currency = currency }
        }
        known = fields["known"] ?? ""
        let days =
            definition.cohort?.isOfPresent == true
            ? nil : Self.knownDays.first { $0.word == known }?.days
        query.asKnownAt = days.map {
            Instant(milliseconds: page.frame.now.milliseconds - $0 * 86_400_000)
        }
        column = fields["column"]
        guard let wanted = column else {
            column = stack == nil ? Self.first[name] ?? definition.columns.first?.name : nil
            return
        }
        guard definition.columns.contains(where: { $0.name == wanted }) else {
            let names = definition.columns.map(\.name).joined(separator: ", ")
            throw ProblemError(.reportNotValid, detail: "column must be one of \(names).")
        }
    }

    /// The days in the query. The query may have only one of the two days, because a browser sends
    /// a form as soon as one of its fields changes. The default of the last day is today; the
    /// default of the first day is chosen so that there are twelve periods.
    private static func days(
        from: String?, to: String?, by length: ReportPeriod.Length, today: Int64
    ) throws -> ClosedRange<Int64>? {
        guard let from else {
            guard let to else { return nil }
            let last = try ReportRoutes.days(from: to, to: to).upperBound
            return ReportQuery.usualDays(until: last, by: length)
        }
        let first = try ReportRoutes.days(from: from, to: from).lowerBound
        guard let to else { return first...max(first, today) }
        return try ReportRoutes.days(from: from, to: to)
    }

    /// The days for the fields of the form. Empty if the query names no days.
    var chosenDays: (from: String, to: String) { (fields["from"] ?? "", fields["to"] ?? "") }

    /// The columns that are stacked by default, if no other column is chosen and the report is not
    /// divided.
    var stack: [String]? { Self.stacks[definition.name] }

    /// The stacked columns that are drawn; nil if a single column is drawn.
    var drawnStack: [Int]? {
        guard column == nil, query.division == nil else { return nil }
        return stack?.compactMap { name in definition.columns.firstIndex { $0.name == name } }
    }

    /// The single column that is drawn.
    var drawnColumn: Int {
        let name = column ?? stack?.first
        return definition.columns.firstIndex { $0.name == name } ?? 0
    }

    /// The prefix of a currency in the query, which selects the amounts in this currency. Amounts
    /// that are converted to it are left out.
    private static let onlyPrefix = "ONLY-"

    /// Whether each amount is shown in its own currency. If amounts are converted, the amounts of
    /// the purchases do not add up to the number.
    var isUnconverted: Bool { query.currency == nil }

    // MARK: - Links

    /// The page with the purchases behind a number; nil if the number is not a sum over purchases.
    func purchases(
        _ column: ReportDefinition.Column, _ period: ReportPeriod, currency: String?,
        part: String?
    ) -> DashboardPath? {
        guard column.source != .computed, currency == nil || isUnconverted else { return nil }
        return DashboardPath.chartPurchases(definition.name).with("column", column.name)
            .with("by", query.length.rawValue).with("segment", query.division?.rawValue)
            .with("currency", currency).with("known", known)
            .with("from", CivilDate(dayNumber: period.days.lowerBound).text)
            .with("to", CivilDate(dayNumber: period.days.upperBound - 1).text)
            .with("part", part)
    }

    // MARK: - Filters

    var filters: [ChartFilter] {
        var filters = [
            Self.filter(
                "by", "Period",
                ReportPeriod.Length.allCases.map { ($0.rawValue, Self.title($0.rawValue)) },
                query.length.rawValue)
        ]
        if !showsCohorts { filters.append(columnFilter) }
        // A number about a cohort is the total of all its subscriptions.
        if definition.cohort == nil {
            filters.append(
                Self.filter(
                    "segment", "Divided by",
                    [("", "Nothing")]
                        + Division.allCases.map { ($0.rawValue, Self.title($0.rawValue)) },
                    query.division?.rawValue ?? ""))
        }
        if let display, display.currencies.count > 1 || display.currencies != [display.currency] {
            filters.append(currencyFilter(display))
        }
        guard definition.cohort?.isOfPresent != true else { return filters }
        filters.append(
            Self.filter(
                "known", "As known",
                [("", "Now")] + Self.knownDays.map { ($0.word, $0.label) }, known))
        return filters
    }

    private var columnFilter: ChartFilter {
        Self.filter(
            "column", "Number",
            (stack == nil ? [] : [("", "All together")])
                + definition.columns.map { ($0.name, Self.title($0.name)) }, column ?? "")
    }

    /// The filter for the currency. If there are rates, the filter selects the currency to which
    /// amounts are converted. Otherwise it selects the amounts in one currency.
    private func currencyFilter(_ display: DisplayCurrency) -> ChartFilter {
        let others = display.currencies.filter { $0 != display.currency }
        let canConvert = display.isConverted && definition.cohort == nil
        let all = canConvert ? "All in " : ""
        var options = [("", all + display.currency)]
        if canConvert {
            options += others.filter(rated.contains).map { ($0, all + $0) }
            options += display.currencies.map { (Self.onlyPrefix + $0, "Only \($0)") }
        } else {
            options += others.map { ($0, $0) }
        }
        let selected = fields["currency"]?.uppercased() ?? ""
        return Self.filter("currency", "Currency", options, selected)
    }

    /// Whether each column counts the subscribers of the previous column who remain. Such columns
    /// are shown as a table.
    var showsCohorts: Bool { definition.cohort == .payments }

    private static func filter(
        _ name: String, _ label: String, _ options: [(String, String)], _ selected: String
    ) -> ChartFilter {
        ChartFilter(
            name: name, label: label, options: options.map { .init($0.0, $0.1) },
            selected: selected)
    }

    /// The name of a column as a heading.
    static func title(_ name: String) -> String {
        let words = words(name)
        return words.prefix(1).uppercased() + words.dropFirst()
    }

    /// The name of a column as words.
    static func words(_ name: String) -> String {
        switch name {
        case "mrr", "arr", "ltv": name.uppercased()
        default: name.replacing("mrr_", with: "MRR ").replacing("_", with: " ")
        }
    }
}
