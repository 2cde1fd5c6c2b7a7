/// A number over time, drawn as a line with a filled area. Also shows the number as it was
/// displayed at the time, and the number of a year before.
package struct LineChart: Sendable {
    package var unit: ChartUnit
    /// The name of the number: `MRR`.
    package var name: String
    /// The points of the line, the oldest first.
    package var points: [Point]
    /// The name of the compared line: `a year before`.
    package var comparison: String

    package struct Point: Sendable {
        /// The short name of the period, under the axis: `Nov 25`.
        package var label: String
        /// The name of the period in the table: `November 2025`.
        package var name: String
        package var value: Int64
        /// False if there is no number, such as a percentage of zero.
        package var hasValue: Bool
        /// The number that was shown when the period had just ended. Nil if the number was not
        /// recorded.
        package var then: Int64?
        /// The reason for the difference from `then`: `1 refund, reported 12 Nov`.
        package var learned: String?
        /// The number in the earlier period with which this period is compared.
        package var before: Int64?
        /// Whether the period has ended. The line of a period that runs is dashed.
        package var isOver: Bool
        /// The page with the purchases behind the number.
        package var purchases: DashboardPath?

        package init(
            label: String, name: String, value: Int64, hasValue: Bool = true,
            then: Int64? = nil, learned: String? = nil, before: Int64? = nil,
            isOver: Bool = true, purchases: DashboardPath? = nil
        ) {
            self.label = label
            self.name = name
            self.value = value
            self.hasValue = hasValue
            self.then = then
            self.learned = learned
            self.before = before
            self.isOver = isOver
            self.purchases = purchases
        }

        var isRestated: Bool { then.map { $0 != value } ?? false }
    }

    package init(
        unit: ChartUnit, name: String, points: [Point], comparison: String = "a year before"
    ) {
        self.unit = unit
        self.name = name
        self.points = points
        self.comparison = comparison
    }

    private static let top = 28.0

    // MARK: - Picture

    /// The picture. If there are fewer than two points, a sentence instead.
    package func picture(height: Double, in frame: Frame) -> Markup {
        guard points.count > 1 else { return tooFew }
        let plot = height - 52
        let values = points.map(\.value) + points.compactMap(\.before) + points.compactMap(\.then)
        let scale = ChartScale(
            low: values.min() ?? 0, high: values.max() ?? 0, top: Self.top, height: plot)
        let columns = ChartColumns(count: points.count)
        let labels = points.indices.map { columns.label($0, points[$0].label, y: height - 4) }
        return """
            <div class="plot">\(scale.axis(unit: unit, chartHeight: height))\
            <svg class="chart" height="\(height.svg)" aria-hidden="true">\(scale.lines)\
            \(shapes(scale, columns, plot: plot))\(labels.joined())\(marks(scale, columns))\
            \(hits(scale, columns, height: height, in: frame))</svg></div>
            """
    }

    private var tooFew: Markup {
        guard let only = points.first else { return "<p class=\"soft\">Nothing to draw yet.</p>" }
        return """
            <p class="soft">\(.bdi(only.name)): <b>\(unit.text(only.value))</b>. A line needs two \
            points.</p>
            """
    }

    private func shapes(_ scale: ChartScale, _ columns: ChartColumns, plot: Double) -> Markup {
        func corner(_ index: Int, _ value: Int64) -> Markup {
            "\((columns.middle(index) * 10).svg),\((scale.y(value) - Self.top).svg)"
        }
        let drawn = points.indices.filter { points[$0].hasValue }
        let corners = drawn.map { corner($0, points[$0].value) }
        let zero = (scale.y(0) - Self.top).svg
        let ends = [drawn.first, drawn.last].map { columns.middle($0 ?? 0) * 10 }
        let over = drawn.prefix { points[$0].isOver }.count
        let before = points.indices.compactMap { index in
            points[index].before.map { corner(index, $0) }
        }
        return """
            <svg viewBox="0 0 1000 \(plot.svg)" preserveAspectRatio="none" x="0" y="28" \
            width="100%" height="\(plot.svg)" overflow="visible">\
            <polygon class="area" points="\(ends[0].svg),\(zero) \(corners.joined(by: " ")) \
            \(ends[1].svg),\(zero)"/>\
            \(Self.line(before, " cmp"))\(Self.line(corners.prefix(over), ""))\
            \(over < drawn.count ? Self.line(corners.dropFirst(max(over - 1, 0)), " sofar") : "")\
            </svg>
            """
    }

    private static func line(_ corners: some Collection<Markup>, _ classes: Markup) -> Markup {
        guard corners.count > 1 else { return "" }
        return "<polyline class=\"ln\(classes)\" points=\"\(corners.joined(by: " "))\"/>"
    }

    /// Marks the points whose past values have changed.
    private func marks(_ scale: ChartScale, _ columns: ChartColumns) -> Markup {
        points.indices.filter { points[$0].isRestated }.map { index -> Markup in
            """
            <svg x="\(columns.middle(index).svg)%" y="\((scale.y(points[index].value) - 13).svg)" \
            overflow="visible"><path class="then" d="M-4.5 -5h9l-4.5 7z"/></svg>
            """
        }.joined()
    }

    private func hits(
        _ scale: ChartScale, _ columns: ChartColumns, height: Double, in frame: Frame
    ) -> Markup {
        points.indices.map { index -> Markup in
            let point = points[index]
            let text = "\(point.name): \(text(of: point))" + (point.isOver ? "" : " so far")
            let circle: Markup =
                !point.hasValue
                ? ""
                : """
                <circle class="mark" cx="\(columns.middle(index).svg)%" \
                cy="\(scale.y(point.value).svg)" r="4"/>
                """
            return columns.column(
                index, link: point.purchases.map { frame.link($0) }, height: height,
                content: circle + columns.tip(index, text, y: 12))
        }.joined()
    }

    package var key: Markup {
        var entries: [Markup] = [
            """
            <span><svg aria-hidden="true"><line class="ln" x1="0" x2="18" y1="6" y2="6"/></svg>\
            \(.bdi(name)) as known now</span>
            """
        ]
        if points.contains(where: \.isRestated) {
            entries.append(
                """
                <span><svg aria-hidden="true"><path class="then" d="M3 1h9l-4.5 7z"/></svg>\
                different from what was shown then</span>
                """)
        }
        if points.contains(where: { $0.before != nil }) {
            entries.append(
                """
                <span><svg aria-hidden="true"><line class="ln cmp" x1="0" x2="18" y1="6" y2="6"/>\
                </svg>\(.bdi(comparison))</span>
                """)
        }
        return "<div class=\"key\">\(entries.joined())</div>"
    }
}

// MARK: - Table

extension LineChart {
    /// A table of the chart's numbers, the newest first. Columns without any number are left out.
    package func table(period: String, in frame: Frame) -> Markup {
        let hasThen = points.contains { $0.then != nil }
        let hasBefore = points.contains { $0.before != nil }
        var columns = [
            Table.Column(.init(text: period)), .number(hasThen ? "As known now" : "\(name)"),
        ]
        if hasThen { columns += [.number("As known then"), .number("Learned since")] }
        if hasBefore {
            columns += [
                .number(.init(text: comparison.prefix(1).uppercased() + comparison.dropFirst())),
                .number("Change"),
            ]
        }
        let rows = points.reversed().map { point -> Markup in
            var cells = [Table.Cell(number(of: point, in: frame), "num")]
            if hasThen { cells += thenCells(of: point) }
            if hasBefore { cells += beforeCells(of: point) }
            let soFar: Markup = point.isOver ? "" : " <span class=\"muted small\">so far</span>"
            return Table.row(
                .init("<span class=\"nowrap\">\(.bdi(point.name))\(soFar)</span>"), cells)
        }
        return Table(
            name: "\(name) by \(period.lowercased())", columns: columns, rows: rows,
            classes: Table.classes(columns: columns.count)
        ).markup
    }

    private func text(of point: Point) -> String {
        point.hasValue ? unit.text(point.value) : "–"
    }

    private func number(of point: Point, in frame: Frame) -> Markup {
        let text = text(of: point)
        guard let path = point.purchases else { return "\(text)" }
        return "<a href=\"\(frame.link(path))\">\(text)</a>"
    }

    private func thenCells(of point: Point) -> [Table.Cell] {
        guard let then = point.then else {
            let why: Markup = point.isOver ? "not recorded" : "not over"
            return [.init("<span class=\"muted\">\(why)</span>", "num"), .init("", "num")]
        }
        let difference = unit.signedText(point.value - then)
        let learned: Markup =
            point.value == then
            ? "<span class=\"muted\">0</span>"
            : "\(difference)\(point.learned.map { " <span class=\"small\">\(.bdi($0))</span>" })"
        return [.init("\(unit.text(then))", "num"), .init(learned, "num")]
    }

    private func beforeCells(of point: Point) -> [Table.Cell] {
        guard let before = point.before else { return [.init("", "num"), .init("", "num")] }
        return [
            .init("\(unit.text(before))", "num"),
            .init("\(Self.growth(from: before, to: point.value))", "num"),
        ]
    }

    /// The growth in whole percent. Empty if the earlier number was zero.
    static func growth(from before: Int64, to now: Int64) -> String {
        guard before > 0 else { return "" }
        let share = (Double(now) / Double(before) - 1) * 100
        guard abs(share) < 100_000 else { return "" }
        let whole = Int(share.rounded())
        return Figures.change(whole) + "\u{A0}%"
    }
}
