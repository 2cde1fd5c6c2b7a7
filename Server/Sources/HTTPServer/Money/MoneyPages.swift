import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract
import Reports
import Storage

/// The pages with charts, the purchases behind a number, and Apple's reports.
struct MoneyPages: PageGroup {
    let routes: DashboardRoutes

    func addCharts(to router: Router<ServerContext>) {
        routes.get("/charts", for: .money, of: router) { page in
            routes.redirect(to: .chart("mrr"), nil, page)
        }
        routes.get("/charts/{name}", for: .money, of: router, chart)
        routes.get("/charts/{name}/purchases", for: .money, of: router, chartPurchases)
    }

    private static let menu: ChartMenu = {
        let groups: [(title: String, names: Set<String>)] = [
            (
                "Money",
                [
                    "mrr", "arr", "mrr_movement", "revenue", "refunds", "payments", "one_time",
                    "wallets",
                ]
            ),
            (
                "Subscriptions",
                ["active", "active_movement", "seats", "trials", "churn", "churn_reasons"]
            ),
        ]
        let named = groups.map { group in
            ChartMenu.Group(
                group.title,
                ReportCatalogue.all.filter { group.names.contains($0.name) }.map(entry))
        }
        let known = groups.reduce(into: Set<String>()) { $0.formUnion($1.names) }
        let others = ReportCatalogue.all.filter { !known.contains($0.name) }
        let cohorts = others.filter { $0.cohort != nil }.map(entry)
        let rest = others.filter { $0.cohort == nil }.map(entry)
        return ChartMenu(
            named
                + [("Over time", cohorts), ("Trouble", rest)].filter { !$0.1.isEmpty }
                .map { ChartMenu.Group($0.0, $0.1) })
    }()

    private static func entry(_ definition: ReportDefinition) -> ChartMenu.Entry {
        ChartMenu.Entry(definition.name, definition.title)
    }

    // MARK: - Charts

    @Sendable private func chart(_ page: PageRequest) async throws -> Response {
        let rates = try engine.context.settings(of: app).money.rates
        let display = try await engine.reporting.displayCurrency(of: app, in: page.environment)
        let view = try ChartView(
            try page.parameter("name"), of: page, rates: rates, display: display)
        let result = try await engine.reporting.report(view.query, of: app)
        switch page.query["format"] {
        case "csv": return ReportRoutes.csv(PerennialContract.Report(result))
        case "json": return try JSONResponse.ok(PerennialContract.Report(result))
        default: break
        }
        return routes.response(
            chart(ReportPicture(view, result)).html(in: page.frame), to: page.request)
    }

    func chart(_ picture: ReportPicture) -> ChartPage {
        let (view, definition) = (picture.view, picture.view.definition)
        let column = picture.view.drawnStack?.first ?? view.drawnColumn
        return ChartPage(
            menu: Self.menu, name: definition.name, title: definition.title,
            lede: definition.sentence, filters: view.filters, days: view.chosenDays,
            headline: Self.headline(picture),
            headlineRemark: picture.result.periods.last.map { picture.name(of: $0) } ?? "",
            aside: "", finding: Self.finding(picture),
            period: view.query.length.rawValue.capitalized, content: content(picture),
            definition: ChartDefinition(
                version: definition.version, sentence: definition.sentence,
                facts: definition.columns.map {
                    (name: ChartView.title($0.name), text: $0.sentence)
                }),
            breakdowns: [picture.breakdown(column)].compactMap(\.self),
            gaps: Self.gaps(picture))
    }

    private func content(_ picture: ReportPicture) -> ChartPage.Content {
        guard !picture.isEmpty else {
            return .empty(
                "Nothing in these periods", "No purchase counts for this report yet.", first: nil)
        }
        if picture.view.showsCohorts { return .cohorts(picture.cohorts) }
        if let stack = picture.view.drawnStack {
            return .bars(picture.bars(stack), sum: picture.sum(stack))
        }
        let column = picture.view.drawnColumn
        let isDivided =
            picture.view.query.division != nil || picture.view.definition.cohort == .wallets
        guard isDivided, picture.view.definition.columns[column].unit != .percent else {
            return .line(picture.line(column))
        }
        return .bars(picture.parts(column), sum: nil)
    }

    /// The number of the last period: the closing number of a movement report, or the column's
    /// value.
    private static func headline(_ picture: ReportPicture) -> String {
        let length = picture.view.query.length.rawValue
        if picture.view.showsCohorts { return "By \(length) of the first payment" }
        guard let period = picture.result.periods.last, !picture.isEmpty else { return "" }
        let columns = picture.view.definition.columns
        guard let stack = picture.view.drawnStack else {
            let column = picture.view.drawnColumn
            return picture.text(column, in: period)
        }
        if let closing = columns.firstIndex(where: { $0.name == "closing" }) {
            return picture.unit(closing).text(picture.value(closing, in: period))
        }
        let sum = stack.map { picture.value($0, in: period) }.reduce(0, +)
        return picture.unit(stack[0]).text(sum)
    }

    /// A sentence about the first and the last number.
    static func finding(_ picture: ReportPicture) -> String {
        let length = picture.view.query.length.rawValue
        if picture.view.showsCohorts {
            return "Each row has the people who first paid in one \(length). Columns are renewals."
        }
        let column = picture.view.drawnColumn
        let periods = picture.result.periods
        guard picture.view.drawnStack == nil, let last = periods.last,
            let first = periods.first(where: { picture.hasValue(column, in: $0) }) ?? periods.first
        else {
            return picture.isMovement
                ? "Additions are above zero, losses below."
                : "A column is one \(length), and what it consists of."
        }
        let name = ChartView.title(picture.view.definition.columns[column].name)
        return "\(name): \(picture.text(column, in: first)) in \(picture.name(of: first)), "
            + "\(picture.text(column, in: last)) in \(picture.name(of: last))."
    }

    private static func gaps(_ picture: ReportPicture) -> [Notice] {
        var gaps = [picture.incompleteness].compactMap(\.self)
        let drawn = picture.view.drawnStack?.first ?? picture.view.drawnColumn
        if picture.currency(of: drawn) != nil, let conversion = picture.conversion {
            let isWhole = picture.otherCurrencies.isEmpty
            gaps.append(
                Notice(
                    .about, conversion,
                    isWhole
                        ? "Converted numbers have no list of purchases: choose a single currency."
                        : "Amounts of different currencies are never added. Choose the currency "
                            + "above."))
        }
        let column = picture.view.drawnColumn
        if picture.view.query.division != nil,
            picture.view.definition.columns[column].unit == .percent
        {
            gaps.append(
                Notice(
                    .about, "The chart shows a rate only in total.",
                    "CSV and JSON have it for each part."))
        }
        return gaps
    }

    // MARK: - What is behind a number

    @Sendable private func chartPurchases(_ page: PageRequest) async throws -> Response {
        let name = try page.parameter("name")
        var view = try ChartView(name, of: page, rates: .none)
        view.query = try ReportRoutes.query(named: name, in: page.environment) {
            ["by", "segment", "part", "from", "to"].contains($0) ? page.query[$0] : nil
        }
        .asKnown(view.query.asKnownAt)
        let result = try await engine.reporting.report(view.query, of: app)
        // The report is computed for all currencies, but the number is about one currency.
        let picture = ReportPicture(view, result)
        view.query.currency = view.currency
        let cursor = try ReportRoutes.sourceCursor(page.cursor)
        let sources = try await engine.reporting.sources(
            view.query, column: view.column, of: app, after: cursor,
            limit: ReportRoutes.sourcesDefault)
        let list = ReportTransactionList(sources)
        if page.query["format"] == "csv" { return ReportRoutes.csv(list.csvLines) }
        let total =
            cursor == nil && sources.next == nil
            ? sources.movements.count : try await count(of: view)
        return routes.response(
            purchases(picture, sources, total: total, page).html(in: page.frame),
            to: page.request)
    }

    /// Counts the items behind a number. Returns nil if there are more than the maximum count.
    private func count(of view: ChartView) async throws -> Int? {
        var count = 0
        var cursor: SourceCursor?
        while count <= ChartPurchasesPage.countedMax {
            let page = try await engine.reporting.sources(
                view.query, column: view.column, of: app, after: cursor,
                limit: ReportingService.reportSourcesMax)
            count += page.movements.count
            guard let next = page.next else { return count }
            cursor = next
        }
        return nil
    }

    private func purchases(
        _ picture: ReportPicture, _ sources: ReportSources, total: Int?, _ page: PageRequest
    ) -> ChartPurchasesPage {
        let view = picture.view
        let column = view.definition.columns.firstIndex { $0.name == sources.column.name } ?? 0
        let part = view.query.part
        let number = picture.result.periods.map { period in
            part.map { picture.value(column, in: period, of: $0) }
                ?? picture.value(column, in: period)
        }
        // The number of a flow is the total of all periods. The number of any other column is its
        // value in the last period.
        let isFlow = if case .flow = sources.column.source { true } else { false }
        return ChartPurchasesPage(
            chart: Self.entry(view.definition),
            period: picture.result.periods.last.map { picture.name(of: $0) } ?? "",
            part: [ChartView.title(sources.column.name), part].compactMap(\.self)
                .joined(separator: ", "),
            sentence: sources.column.sentence, unit: picture.unit(column),
            number: isFlow ? number.reduce(0, +) : number.last ?? 0, isFlow: isFlow,
            rows: sources.movements.map { Self.row($0, sources.column) }, total: total,
            olderCursor: sources.next?.text, path: view.path(page.query))
    }

    private static func row(
        _ source: ReportSource, _ column: ReportDefinition.Column
    ) -> ChartPurchasesPage.Row {
        let value = column.value(of: source.totals, kind: source.kind).whole
        return ChartPurchasesPage.Row(
            customerID: source.customer?.rawValue,
            productID: source.product?.rawValue ?? source.purchase.original.rawValue,
            at: Timestamp(source.at),
            amount: column.unit == .money
                ? source.currency.map {
                    PerennialContract.Money(milliunits: value, currency: $0)
                } : nil, value: value, transaction: source.purchase.original.rawValue)
    }
}

extension ReportQuery {
    fileprivate func asKnown(_ moment: Instant?) -> Self {
        var query = self
        query.asKnownAt = moment
        return query
    }
}

extension ChartView {
    /// The page with the purchases behind a number, according to its query.
    fileprivate func path(_ fields: FormFields) -> DashboardPath {
        ["column", "by", "segment", "currency", "known", "from", "to", "part"].reduce(
            .chartPurchases(definition.name)
        ) { $0.with($1, fields[$1]) }
    }
}
