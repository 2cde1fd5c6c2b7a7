import PerennialContract

/// The page `/`: is everything in order, how much revenue is there, and who left?
package struct OverviewPage: Sendable {
    /// How money is converted, in one sentence. Empty if there is one currency.
    package var conversion: String
    /// What needs attention, the worst first.
    package var warnings: [Notice]
    package var tiles: [Tile]
    package var chart: LineChart?
    /// A summary of the chart, in words.
    package var chartFinding: String
    package var movement: SumPicture?
    /// The events, the newest first.
    package var events: [Event]
    package var left: [Leaving]
    package var leftTotal: Int

    /// The maximum number of warnings on the page. The checks page shows all warnings.
    package static let warningsMax = 3

    /// A number, with its change and its sparkline.
    package struct Tile: Sendable {
        package var name: String
        package var value: Int64
        package var unit: ChartUnit
        package var change: Int64?
        /// The text after the change, or alone: `since 1 Nov`.
        package var remark: String
        package var isAtRisk: Bool
        package var shape: Sparkline
        package var path: DashboardPath
        /// When the number was counted, if that was a while ago.
        package var countedAt: Timestamp?

        package init(
            _ name: String, value: Int64, unit: ChartUnit, change: Int64? = nil, remark: String,
            isAtRisk: Bool = false, shape: Sparkline, path: DashboardPath,
            countedAt: Timestamp? = nil
        ) {
            self.name = name
            self.value = value
            self.unit = unit
            self.change = change
            self.remark = remark
            self.isAtRisk = isAtRisk
            self.shape = shape
            self.path = path
            self.countedAt = countedAt
        }
    }

    /// A customer whose access ended today.
    package struct Leaving: Sendable {
        package var customerID: String?
        package var productID: String
        /// `after 7 months, cancelled`
        package var remark: String

        package init(customerID: String?, productID: String, remark: String) {
            self.customerID = customerID
            self.productID = productID
            self.remark = remark
        }
    }

    package init(
        conversion: String = "", warnings: [Notice] = [], tiles: [Tile], chart: LineChart? = nil,
        chartFinding: String = "", movement: SumPicture? = nil, events: [Event],
        left: [Leaving] = [], leftTotal: Int = 0
    ) {
        self.conversion = conversion
        self.warnings = warnings
        self.tiles = tiles
        self.chart = chart
        self.chartFinding = chartFinding
        self.movement = movement
        self.events = events
        self.left = left
        self.leftTotal = leftTotal
    }

    package func html(in frame: Frame) -> String {
        let today = CivilTime(frame.now)
        return Layout(
            title: "Overview", section: .overview, heading: "Overview",
            lede: """
                \(today.weekdayName), \(today.longDate), \(today.clock) UTC. \(.bdi(conversion))
                """,
            actions: frame.viewer.seesMoney
                ? "<a class=\"btn\" href=\"\(frame.link(.chart("mrr")))\">All charts</a>" : "",
            isLive: true, isWide: false, content: body(in: frame)
        ).html(in: frame)
    }

    private func body(in frame: Frame) -> Markup {
        """
        <div class="stack">
        \(warnings.prefix(Self.warningsMax).map { $0.markup(in: frame) }.joined())
        \(tilesMarkup(in: frame))
        \(isEmpty ? empty(in: frame) : panels(in: frame))
        </div>
        """
    }

    private var isEmpty: Bool { events.isEmpty && chart == nil }

    private func empty(in frame: Frame) -> Markup {
        let phone: Markup = """
            <a class="btn go" href="\(frame.link(.phone))">Open the phone</a>
            """
        let empty = Empty(
            title: "No purchase yet",
            text: """
                Enter this server’s address, with <code>\(Paths.notifications)</code> behind it, \
                in \
                App Store Connect\(frame.isSimulated ? ", or try it first with the phone" : ""). \
                The \
                first purchase appears here within a second.
                """,
            actions: """
                \(frame.isSimulated ? phone : "")\
                <a class="btn" href="\(frame.link(.checks))">What is missing</a>
                """)
        return "<section class=\"panel\">\(empty.markup)</section>"
    }

    // MARK: - Tiles

    private func tilesMarkup(in frame: Frame) -> Markup {
        guard !tiles.isEmpty else { return "" }
        return """
            <div class="stats" id="tiles">\(tiles.map { Self.tile($0, in: frame) }.joined())</div>
            """
    }

    private static func tile(_ tile: Tile, in frame: Frame) -> Markup {
        """
        <a class="stat" href="\(frame.link(tile.path))"><div class="k">\(.bdi(tile.name))</div>\
        <div class="v">\(tile.unit.roughText(tile.value))</div>\
        <div class="d">\(remark(of: tile, in: frame))</div>\(tile.shape.markup)</a>
        """
    }

    private static func remark(of tile: Tile, in frame: Frame) -> Markup {
        let counted: Markup = tile.countedAt.map { ", of \(frame.shortTime($0))" } ?? ""
        if tile.isAtRisk { return "<span class=\"at-risk\">\(.bdi(tile.remark))</span>\(counted)" }
        guard let change = tile.change else { return "\(.bdi(tile.remark))\(counted)" }
        if change == 0 { return "unchanged since the end of last month\(counted)" }
        let direction: Markup = change < 0 ? "down" : "up"
        let sign = change < 0 ? Figures.minus + "\u{A0}" : change > 0 ? "+\u{A0}" : ""
        let size = tile.unit.roughText(change < 0 ? -change : change)
        return "<span class=\"\(direction)\">\(sign)\(size)</span> \(.bdi(tile.remark))\(counted)"
    }

    // MARK: - Panels

    private func panels(in frame: Frame) -> Markup {
        let wide = [chartPanel(in: frame), movementPanel(in: frame)].joined()
        let narrow = [feed(in: frame), leavings(in: frame)].joined()
        return """
            <div class="cols c21"><div class="stack">\(wide)</div>\
            <div class="stack">\(narrow)</div></div>
            """
    }

    private func chartPanel(in frame: Frame) -> Markup {
        guard let chart else { return "" }
        return Panel(
            title: "\(.bdi(chart.name)), month by month",
            side: "<a href=\"\(frame.link(.chart("mrr")))\">Open chart and table</a>",
            content: """
                <figure><figcaption>\(.bdi(chartFinding))</figcaption>\
                \(chart.picture(height: 230, in: frame))</figure>
                """, id: "mrr"
        ).markup
    }

    private func movementPanel(in frame: Frame) -> Markup {
        guard let movement else { return "" }
        return Panel(
            title: "What moved MRR in \(CivilTime(frame.now).monthName)",
            side: "<a href=\"\(frame.link(.chart("mrr_movement")))\">Twelve months</a>",
            content: movement.table(in: frame), id: "movement"
        ).markup
    }

    private func feed(in frame: Frame) -> Markup {
        let lines = events.map { Self.line($0, in: frame) }
        let content: Markup =
            lines.isEmpty
            ? "<p class=\"soft\">Nothing has happened yet.</p>"
            : "<ul class=\"feed\" id=\"feed\" aria-live=\"off\">\(lines.joined())</ul>"
        return Panel(
            title: "Latest events",
            side: "<a href=\"\(frame.link(.events))\">All events</a>", content: content
        ).markup
    }

    /// One line of the feed. The page's stream sends the whole list, which has the id `feed`.
    static func line(_ event: Event, in frame: Frame) -> Markup {
        let words = EventWords(event: event)
        let chip = event.after?.state.map { Chip($0).markup } ?? ""
        return """
            <li>\(frame.element(event.knownAt))<div>\(frame.customer(event.customerID)) \
            <span class="soft">\(.bdi(words.headline))</span></div>\
            <div class="num">\(words.listedMoney(in: frame))</div>\
            <div class="sub">\(chip) \(words.detail(in: frame))</div></li>
            """
    }

    private func leavings(in frame: Frame) -> Markup {
        guard !left.isEmpty else { return "" }
        let lines = left.map { leaving -> Markup in
            """
            <li><div>\(frame.customer(leaving.customerID))</div>\
            <div class="muted">\(.bdi(leaving.productID))</div>\
            <div class="sub">\(.bdi(leaving.remark))</div></li>
            """
        }
        let all = DashboardPath.customers.with("state", "expired")
        return Panel(
            title: "Ended today",
            side: "<a href=\"\(frame.link(all))\">All \(Figures.count(leftTotal))</a>",
            content: "<ul class=\"feed two\">\(lines.joined())</ul>", id: "left"
        ).markup
    }
}
