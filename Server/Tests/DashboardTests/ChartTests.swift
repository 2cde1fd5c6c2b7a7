import Testing

@testable import Dashboard

@Suite struct ChartTests {
    private let samples = Samples()
    private var frame: Frame { samples.frame }

    /// The texts of all elements of one class.
    private func texts(of className: String, in html: String) -> [String] {
        html.split(separator: "class=\"\(className)\"").dropFirst().map { part in
            String(part.drop { $0 != ">" }.dropFirst().prefix { $0 != "<" })
        }
    }

    @Test func `each number of a line chart is also in its table`() {
        let chart = samples.mrrChart
        let tips = texts(of: "tip", in: chart.picture(height: 300, in: frame).html)
        let table = chart.table(period: "Month", in: frame).html
        #expect(tips.count == chart.points.count)
        for (tip, point) in zip(tips, chart.points) {
            let number = chart.unit.text(point.value)
            #expect(tip.contains("\(point.name): \(number)"))
            #expect(table.contains(">\(number)</a>"))
        }
    }

    @Test
    func `a ratio with a zero denominator is a dash in the table, and has no point on the line`() {
        func point(_ name: String, _ value: Int64, _ hasValue: Bool = true) -> LineChart.Point {
            .init(label: name, name: name, value: value, hasValue: hasValue)
        }
        let chart = LineChart(
            unit: .share, name: "Churn rate",
            points: [point("May", 0, false), point("June", 500), point("July", 250)])
        let table = chart.table(period: "Month", in: frame).html
        #expect(table.components(of: "–") == 1 && !table.contains(">0.0\u{A0}%"))
        let picture = chart.picture(height: 300, in: frame).html
        #expect(texts(of: "tip", in: picture).first == "May: –")
        #expect(picture.components(of: "<circle") == 2)
    }

    @Test func `a duration is rounded up to the next whole unit`() {
        let rows: [(milliseconds: Int64, text: String)] = [
            (0, "1 s"), (999, "1 s"), (1_200, "2 s"), (61_000, "2 min"), (7_300_000, "3 h"),
        ]
        for row in rows { #expect(Duration.longer(milliseconds: row.milliseconds) == row.text) }
    }

    @Test
    func `a bar chart's table has each number of the chart, and the net is the sum of the parts`() {
        let chart = samples.movementChart
        let tips = texts(of: "tip", in: chart.picture(height: 300, in: frame).html)
        let table = chart.table(period: "Month", in: frame).html
        for (tip, column) in zip(tips, chart.columns) {
            #expect(column.net == column.values.reduce(0, +))
            #expect(tip.contains(chart.unit.signedText(column.net)))
            #expect(table.contains("<b>\(chart.unit.signedText(column.net))</b>"))
            for value in column.values {
                #expect(table.contains(">\(chart.unit.signedText(value))</a>"))
            }
        }
    }

    @Test func `if the parts of a period do not add up, the table shows the difference`() {
        var chart = samples.movementChart
        #expect(chart.columns.allSatisfy { $0.difference == 0 })
        let closed = chart.table(period: "Month", in: frame).html
        #expect(!closed.contains("class=\"down\"") && !closed.contains(">Difference</th>"))
        #expect(closed.contains("The parts add up in every row. Difference: $0.00"))
        chart.columns[3].closing = 0
        let open = chart.table(period: "Month", in: frame).html
        #expect(open.components(of: "class=\"down\"") == 1 && open.contains(">Difference</th>"))
        #expect(!open.contains("add up in every row"))
    }

    @Test func `bars above and below zero share a scale that spans all values`() {
        let scale = ChartScale(low: -1_000, high: 3_000, top: 26, height: 200)
        #expect(scale.ticks.first == -1_000)
        #expect(scale.ticks.last == 3_000)
        #expect(scale.ticks.contains(0))
        #expect(scale.y(3_000) == 26)
        #expect(scale.y(-1_000) == 226)
        #expect(scale.y(0) == 176)
    }

    @Test func `an axis begins at zero and has at most five round steps above it`() {
        let table: [(Int64, [Int64])] = [
            (16_288_590, [0, 5_000_000, 10_000_000, 15_000_000, 20_000_000]),
            (9, [0, 2, 4, 6, 8, 10]), (1, [0, 1]), (0, [0, 1]), (143, [0, 50, 100, 150]),
        ]
        for (high, ticks) in table {
            #expect(
                ChartScale(low: 500_000_000_000 > high ? high : 0, high: high, top: 0, height: 1)
                    .ticks == ticks)
        }
        let huge = ChartScale(low: 0, high: Int64.max / 4, top: 0, height: 1)
        #expect(huge.ticks.count <= 7)
    }

    @Test func `the label of an axis tick is short`() {
        let dollars = ChartUnit.money(currency: "USD")
        let table: [(ChartUnit, Int64, Bool, String)] = [
            (dollars, 0, false, "$0"), (dollars, 5_000_000, false, "$5k"),
            (dollars, 2_500_000, false, "$2.5k"), (dollars, -1_000_000, true, "−$1k"),
            (dollars, 1_000_000, true, "+$1k"), (dollars, 1_250_000_000, false, "$1.25M"),
            (.count, 500, false, "500"), (.count, 2_000, false, "2k"),
            (.share, 400, false, "40\u{A0}%"), (dollars, 500, false, "$0.5"),
        ]
        for (unit, value, isSigned, text) in table {
            #expect(unit.tick(value, isSigned: isSigned) == text)
        }
    }

    @Test func `a chart with fewer than two points is replaced by a sentence`() {
        var chart = samples.mrrChart
        chart.points = Array(chart.points.prefix(1))
        #expect(chart.picture(height: 300, in: frame).html.contains("A line needs two points."))
        chart.points = []
        #expect(chart.picture(height: 300, in: frame).html.contains("Nothing to draw yet."))
    }

    @Test func `an unfinished period is dashed, and values that were restated are marked`() {
        let html = samples.mrrChart.picture(height: 300, in: frame).html
        #expect(html.contains("ln sofar"))
        #expect(html.components(of: "class=\"then\"") == 4)
        var over = samples.mrrChart
        over.points[12].isOver = true
        #expect(!over.picture(height: 300, in: frame).html.contains("sofar"))
    }

    @Test func `a table of parts shows the total minus the parts, even if the difference is zero`()
    {
        var sum = samples.movementSum
        #expect(sum.difference == 0)
        #expect(sum.table(in: frame).html.contains("The parts add up. Difference: $0.00"))
        sum.closing += 10
        #expect(sum.table(in: frame).html.contains("<b>$0.01</b>"))
        #expect(sum.table(in: frame).html.contains("class=\"down\""))
    }

    @Test func `cohorts of fewer than twenty people have no shade; the last row sums all cohorts`()
    {
        let html = samples.heat.markup(in: frame).html
        let rows = html.split(separator: "<tr>").filter { $0.contains("scope=\"row\"") }
        for (row, cohort) in zip(rows, samples.heat.cohorts) {
            #expect(row.contains("<td class=\"h") == (cohort.people >= HeatTable.peopleMin))
        }
        let people = samples.heat.cohorts.map(\.people).reduce(0, +)
        #expect(html.contains("<td class=\"num\">\(Figures.count(people))</td>"))
        #expect(html.contains("class=\"h9\""))
    }

    @Test func `the timeline's table lists every span that its picture shows`() {
        let html = samples.timeline.table(in: frame).html
        let spans = samples.timeline.lanes.flatMap(\.spans)
        #expect(html.components(of: "<th scope=\"row\"") == spans.count)
        let picture = samples.timeline.markup(in: frame).html
        #expect(picture.components(of: "height=\"22\"") == spans.count)
        #expect(picture.contains(">now</text>"))
    }

    @Test func `timelines of centuries and timelines without an end are drawn`() {
        let old = TimelinePicture(lanes: [
            .init(
                name: "x",
                spans: [
                    .init(.paid, from: .init(milliseconds: -5_000_000_000_000), until: nil),
                    .init(.next, from: Samples.now, until: Samples.at("2999-01-01T00:00:00Z")),
                ])
        ])
        let document = HTMLDocument(old.markup(in: frame).html)
        #expect(document.faults == [])
        #expect(document.elements.count < 80)
    }

    @Test func `the footer of a breakdown is the sum of its rows`() {
        let breakdown = samples.mrrPage.breakdowns[0]
        #expect(breakdown.sum == 16_288_590)
        #expect(breakdown.markup(in: frame).html.contains("<td class=\"num\">$16,288.59</td>"))
    }

    @Test
    func `the purchases listed for a number add up to it, or the page shows the difference`() {
        var page = samples.behind
        #expect(page.sum == page.number)
        #expect(!page.html(in: frame).contains("They do not add up."))
        page.number -= 10
        #expect(page.html(in: frame).contains("They do not add up."))
        page.olderCursor = "more"
        #expect(page.html(in: frame).contains("Sum of these 2; all 2 make"))
        page.total = nil
        #expect(page.html(in: frame).contains("More than 1,000 purchases make"))
        #expect(page.html(in: frame).contains("Sum of these 2; all together make"))
    }
}

extension String {
    /// The number of occurrences of a part.
    func components(of part: String) -> Int {
        split(separator: part, omittingEmptySubsequences: false).count - 1
    }
}
