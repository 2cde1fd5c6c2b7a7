/// The pages `/charts/{name}`: a picture, its summary, its definition, and its numbers as a table.
package struct ChartPage: Sendable {
    package var menu: ChartMenu
    /// The name in the path.
    package var name: String
    package var title: String
    package var lede: String
    package var filters: [ChartFilter]
    /// The first and the last day that were chosen, such as `2026-01-31`; empty for the days of the
    /// last twelve periods.
    package var days: (from: String, to: String)
    /// The main number, and its meaning: `$16,288.59`, `now, November so far`.
    package var headline: String
    package var headlineRemark: String
    /// The remark to the right of the headline: `twice the $8,214.16 of a year ago`.
    package var aside: String
    /// A summary of the picture in words.
    package var finding: String
    /// The heading of the table's first column: `Month`.
    package var period: String
    package var content: Content
    package var definition: ChartDefinition?
    package var breakdowns: [Breakdown]
    /// What the numbers do not include, such as a currency without a rate.
    package var gaps: [Notice]

    package enum Content: Sendable {
        case line(LineChart)
        /// Bars. For a movement, `sum` shows how its parts lead from the opening to the closing
        /// number.
        case bars(BarChart, sum: SumPicture?)
        case cohorts(HeatTable)
        /// The range contains no numbers. The link leads to the first day with numbers.
        case empty(String, String, first: DashboardPath?)
        /// Counting takes longer than a second: what is being counted, and how long it takes.
        case counting(String)
    }

    package init(
        menu: ChartMenu = .known, name: String, title: String, lede: String,
        filters: [ChartFilter] = [], days: (from: String, to: String) = ("", ""),
        headline: String = "", headlineRemark: String = "",
        aside: String = "", finding: String = "", period: String = "Month", content: Content,
        definition: ChartDefinition? = nil, breakdowns: [Breakdown] = [], gaps: [Notice] = []
    ) {
        self.menu = menu
        self.name = name
        self.title = title
        self.lede = lede
        self.filters = filters
        self.days = days
        self.headline = headline
        self.headlineRemark = headlineRemark
        self.aside = aside
        self.finding = finding
        self.period = period
        self.content = content
        self.definition = definition
        self.breakdowns = breakdowns
        self.gaps = gaps
    }

    package static let pictureHeight = 300.0

    package func html(in frame: Frame) -> String {
        Layout(
            title: title, section: .charts, heading: .bdi(title), lede: .bdi(lede),
            actions: downloads(in: frame), content: body(in: frame)
        ).html(in: frame)
    }

    private func body(in frame: Frame) -> Markup {
        let breakdowns = breakdowns.map { $0.markup(in: frame) }.joined()
        return """
            <div class="cols list">\(menu.markup(current: name, in: frame))<div class="stack">
            \(filterFields.inside { ChartFilter.form($0, to: .chart(name), in: frame) })
            \(gaps.map { $0.markup(in: frame) }.joined())
            \(panels(in: frame))
            \(definition?.markup)
            \(table(in: frame))
            \(breakdowns.inside { "<div class=\"cols c2\">\($0)</div>" })
            </div></div>
            """
    }

    private var filterFields: Markup {
        guard !filters.isEmpty else { return "" }
        let dates = [("from", "From", days.from), ("to", "To", days.to)].map {
            name, label, value -> Markup in
            """
            <div><label for="d-\(.value(name))">\(.bdi(label))</label>\
            <input id="d-\(.value(name))" name="\(.value(name))" type="date" \
            value="\(.value(value))"></div>
            """
        }
        return filters.enumerated().map { $1.markup(number: $0) }.joined() + dates.joined()
    }

    private func downloads(in frame: Frame) -> Markup {
        guard hasNumbers else { return "" }
        return ["csv", "json"].map { format -> Markup in
            let path = filters.reduce(DashboardPath.chart(name)) { path, filter in
                path.with(filter.name, filter.selected)
            }.with("from", days.from).with("to", days.to).with("format", format)
            return """
                <a class="btn" href="\(frame.link(path))">\(Icon.download.markup)\
                \(format.uppercased())</a>
                """
        }.joined()
    }

    private var hasNumbers: Bool {
        switch content {
        case .line, .bars, .cohorts: true
        case .empty, .counting: false
        }
    }

    // MARK: - Panels

    private func panels(in frame: Frame) -> Markup {
        switch content {
        case .line(let chart):
            figure(chart.picture(height: Self.pictureHeight, in: frame), key: chart.key)
        case .bars(let chart, let sum):
            figure(chart.picture(height: Self.pictureHeight + 20, in: frame), key: chart.key)
                + (sum.map { self.sum($0, in: frame) } ?? "")
        case .cohorts(let table):
            cohorts(table, in: frame)
        case .empty(let title, let text, let first):
            empty(title, text, first, in: frame)
        case .counting(let remark):
            """
            <section class="panel">\(
                Bones.markup("The chart is being counted", remark: .bdi(remark)))</section>
            """
        }
    }

    private func figure(_ picture: Markup, key: Markup) -> Markup {
        """
        <section class="panel" id="chart"><header><h2 class="big">\(.bdi(headline)) \
        <span>\(.bdi(headlineRemark))</span></h2><p>\(.bdi(aside))</p></header><figure>\
        <figcaption>\(.bdi(finding))</figcaption>\(picture)\(key)</figure></section>
        """
    }

    private func sum(_ sum: SumPicture, in frame: Frame) -> Markup {
        let signs = sum.parts.map { part -> Markup in
            "\(part.value < 0 ? " −" : " +") \(.bdi(part.name.lowercased()))"
        }
        return Panel(
            title: "As a sum",
            side: "Opening\(signs.joined()) = \(.bdi(sum.closingName.lowercased()))",
            content: sum.table(in: frame)
        ).markup
    }

    private func cohorts(_ table: HeatTable, in frame: Frame) -> Markup {
        let shades = [1, 3, 5, 7, 9].map { Markup("<span class=\"h\($0)\">&emsp;</span>") }
        let opens = table.cohorts.contains { $0.cells.contains { $0.purchases != nil } }
        return """
            <section class="panel" id="chart"><header><h2>\(.bdi(headline))</h2><p>\
            <span class="row"><span>fewer</span>\(shades.joined())<span>more</span></span></p>\
            </header><figure><figcaption>\(.bdi(finding)) Dashed cells are still open: they can \
            grow.</figcaption>\(table.markup(in: frame))</figure><footer>Point at a cell for the \
            number of people\(opens ? "; open it for the purchases" : ""). Fewer than \
            \(HeatTable.peopleMin) people: no shade, so that chance does not look like a \
            pattern.</footer></section>
            """
    }

    private func empty(
        _ title: String, _ text: String, _ first: DashboardPath?, in frame: Frame
    ) -> Markup {
        let phone: Markup =
            frame.isSimulated
            ? "<a class=\"btn go\" href=\"\(frame.link(.phone))\">Open the phone</a>" : ""
        let link: Markup =
            first.map {
                "<a class=\"btn\" href=\"\(frame.link($0))\">Show from there</a>"
            } ?? phone
        let empty = Empty(title: .bdi(title), text: .bdi(text), actions: link)
        return "<section class=\"panel\">\(empty.markup)</section>"
    }

    private func table(in frame: Frame) -> Markup {
        let (table, opens): (Markup, Bool) =
            switch content {
            case .line(let chart):
                (
                    chart.table(period: period, in: frame),
                    chart.points.contains { $0.purchases != nil }
                )
            case .bars(let chart, _):
                (
                    chart.table(period: period, in: frame),
                    chart.columns.contains { !$0.purchases.isEmpty }
                )
            case .cohorts, .empty, .counting: ("", false)
            }
        guard !table.isEmpty else { return "" }
        return Panel(
            title: "Show as a table",
            side: opens ? "Each number opens the purchases behind it" : "", content: table,
            classes: "flush"
        ).markup
    }
}
