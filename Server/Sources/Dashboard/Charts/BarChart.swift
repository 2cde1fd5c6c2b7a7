/// The parts of a number over time, stacked: increases above zero, decreases below. A movement of
/// MRR also has a line for the net change.
package struct BarChart: Sendable {
    package var unit: ChartUnit
    package var name: String
    package var series: [Series]
    /// The columns of the chart, the oldest first.
    package var columns: [Column]
    package var showsNet: Bool

    /// The maximum number of series. If a report has more parts, the code that makes the chart adds
    /// up the smaller parts as “other”.
    package static let seriesMax = 6

    package struct Series: Sendable {
        package var name: String
        package var color: Color

        package init(_ name: String, _ color: Color) {
            self.name = name
            self.color = color
        }
    }

    package enum Color: Sendable {
        case green, paleGreen, blue, amber, brick, grey

        var className: Markup {
            switch self {
            case .green: "f1"
            case .paleGreen: "f1b"
            case .blue: "f2"
            case .amber: "f4b"
            case .brick: "f4"
            case .grey: "f6"
            }
        }
    }

    package struct Column: Sendable {
        package var label: String
        package var name: String
        package var isOver: Bool
        /// The values of the series, one for each. Negative values are drawn below zero.
        package var values: [Int64]
        /// The purchases behind each value.
        package var purchases: [DashboardPath?]
        /// The numbers before and after the period. Each is counted independently of `values`. The
        /// table shows both numbers, and also a ``difference`` if `opening` plus the values is not
        /// `closing`.
        package var opening: Int64?
        package var closing: Int64?

        package init(
            label: String, name: String, isOver: Bool = true, values: [Int64],
            purchases: [DashboardPath?] = [], opening: Int64? = nil, closing: Int64? = nil
        ) {
            self.label = label
            self.name = name
            self.isOver = isOver
            self.values = values
            self.purchases = purchases
            self.opening = opening
            self.closing = closing
        }

        /// The amount by which `closing` differs from `opening` plus the values. Nil if `opening`
        /// or `closing` is not known.
        package var difference: Int64? {
            guard let opening, let closing else { return nil }
            return closing - opening - net
        }

        package var net: Int64 { values.reduce(0, +) }
        var above: Int64 { values.filter { $0 > 0 }.reduce(0, +) }
        var below: Int64 { values.filter { $0 < 0 }.reduce(0, +) }
        func path(_ index: Int) -> DashboardPath? {
            purchases.indices.contains(index) ? purchases[index] : nil
        }
    }

    package init(
        unit: ChartUnit, name: String, series: [Series], columns: [Column], showsNet: Bool = false
    ) {
        self.unit = unit
        self.name = name
        self.series = series
        self.columns = columns
        self.showsNet = showsNet
    }

    // MARK: - Picture

    package func picture(height: Double, in frame: Frame) -> Markup {
        guard columns.count > 1 else {
            return "<p class=\"soft\">One period has no chart: see the table.</p>"
        }
        let scale = ChartScale(
            low: columns.map(\.below).min() ?? 0, high: columns.map(\.above).max() ?? 0, top: 26,
            height: height - 50)
        let places = ChartColumns(count: columns.count)
        let drawn = columns.indices.map { index -> Markup in
            let column = columns[index]
            let content =
                bars(column, index, places, scale) + net(column, index, places, scale)
                + places.tip(index, tip(column), y: 11)
            return places.column(
                index, link: column.path(0).map { frame.link($0) }, height: height,
                content: content) + places.label(index, column.label, y: height - 4)
        }
        return """
            <div class="plot">\
            \(scale.axis(unit: unit, chartHeight: height, isSigned: showsNet))\
            <svg class="chart" height="\(height.svg)" aria-hidden="true">\(Self.hatch)\
            \(scale.lines)\(drawn.joined())</svg></div>
            """
    }

    private static let hatch: Markup = """
        <defs><pattern id="sofar" width="6" height="6" patternUnits="userSpaceOnUse" \
        patternTransform="rotate(45)"><line class="hatch" x1="0" x2="0" y1="0" y2="6"/></pattern>\
        </defs>
        """

    private func bars(
        _ column: Column, _ index: Int, _ places: ChartColumns, _ scale: ChartScale
    ) -> Markup {
        var (above, below): (Int64, Int64) = (0, 0)
        var drawn = Markup.empty
        for (value, series) in zip(column.values, series) where value != 0 {
            let (from, to) = value > 0 ? (above, above + value) : (below, below + value)
            if value > 0 { above = to } else { below = to }
            let (top, bottom) = (scale.y(max(from, to)), scale.y(min(from, to)))
            let size = Size(
                x: places.left(index) + places.width * 0.27, width: places.width * 0.46,
                y: top + (value < 0 ? 1 : 0), height: max(bottom - top - 1, 0.5))
            drawn += size.rectangle(" class=\"\(series.color.className)\"")
            if !column.isOver { drawn += size.rectangle(" fill=\"url(#sofar)\"") }
        }
        return drawn
    }

    private struct Size {
        var x, width, y, height: Double

        func rectangle(_ attributes: Markup) -> Markup {
            """
            <rect\(attributes) x="\(x.svg)%" width="\(width.svg)%" y="\(y.svg)" \
            height="\(height.svg)"/>
            """
        }
    }

    private func net(
        _ column: Column, _ index: Int, _ places: ChartColumns, _ scale: ChartScale
    ) -> Markup {
        guard showsNet else { return "" }
        let (left, width) = (places.left(index), places.width)
        let y = scale.y(column.net).svg
        return """
            <line class="nowline" x1="\((left + width * 0.2).svg)%" \
            x2="\((left + width * 0.8).svg)%" \
            y1="\(y)" y2="\(y)"/>
            """
    }

    private func tip(_ column: Column) -> String {
        let soFar = column.isOver ? "" : " so far"
        return showsNet
            ? "\(column.name): net \(unit.signedText(column.net))\(soFar)"
            : "\(column.name): \(unit.text(column.net))\(soFar)"
    }

    package var key: Markup {
        var entries = series.map { series -> Markup in
            """
            <span><svg aria-hidden="true"><rect class="\(series.color.className)" width="12" \
            height="11" rx="2"/></svg>\(.bdi(series.name))</span>
            """
        }
        if showsNet {
            entries.append(
                """
                <span><svg aria-hidden="true"><line class="nowline" x1="0" x2="16" y1="6" y2="6"/>\
                </svg>Net</span>
                """)
        }
        return "<div class=\"key\">\(entries.joined())</div>"
    }

    // MARK: - Table

    /// A table of the chart's numbers, the newest first, with their sum, and with opening, closing
    /// and difference if those are known. The difference has a column only if it is not zero in
    /// some row; otherwise one line says that there is no difference.
    package func table(period: String, in frame: Frame) -> Markup {
        let closes = columns.contains { $0.difference != nil }
        let differs = closes && columns.contains { $0.difference != 0 }
        let heads =
            [Table.Column(.init(text: period))] + (closes ? [.number("Opening")] : [])
            + series.map { .number(.bdi($0.name)) } + [.number(showsNet ? "Net" : "Sum")]
            + (closes ? [.number("Closing")] : []) + (differs ? [.number("Difference")] : [])
        let rows = columns.reversed().map { column -> Markup in
            let cells = column.values.indices.map { index -> Table.Cell in
                .init(cell(column, index, in: frame), "num")
            }
            let soFar: Markup = column.isOver ? "" : " <span class=\"muted small\">so far</span>"
            let sum = [Table.Cell("<b>\(text(column.net))</b>", "num")]
            return Table.row(
                .init(.bdi(column.name) + soFar),
                (closes ? [amount(column.opening)] : []) + cells + sum
                    + (closes ? [amount(column.closing)] : [])
                    + (differs ? [difference(column)] : []))
        }
        return Table(
            name: "\(name) by \(period.lowercased())", columns: heads, rows: rows,
            foot: closes && !differs ? noDifference(width: heads.count) : "",
            classes: Table.classes(columns: heads.count)
        ).markup
    }

    private func noDifference(width: Int) -> Markup {
        """
        <tr><td colspan="\(width)">\(Icon.check.markup) The parts add up in every row. Difference: \
        \(unit.text(0))</td></tr>
        """
    }

    private func amount(_ value: Int64?) -> Table.Cell {
        .init(value.map { "\(unit.text($0))" } ?? "–", "num")
    }

    private func difference(_ column: Column) -> Table.Cell {
        guard let difference = column.difference else { return .init("–", "num") }
        let look: Markup = difference == 0 ? "muted" : "down"
        return .init("<span class=\"\(look)\">\(unit.text(difference))</span>", "num")
    }

    private func cell(_ column: Column, _ index: Int, in frame: Frame) -> Markup {
        let shown = text(column.values[index])
        guard let path = column.path(index), column.values[index] != 0 else { return "\(shown)" }
        return "<a href=\"\(frame.link(path))\">\(shown)</a>"
    }

    private func text(_ value: Int64) -> String {
        showsNet ? unit.signedText(value) : unit.text(value)
    }
}
