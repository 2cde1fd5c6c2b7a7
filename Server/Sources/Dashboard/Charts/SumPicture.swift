/// Shows how an opening number becomes a closing number: opening, parts, closing, and the
/// unexplained difference, even if it is zero.
package struct SumPicture: Sendable {
    package var unit: ChartUnit
    /// The name of the table: `MRR movement of November 2026 so far`.
    package var name: String
    package var opening: Int64
    /// The remark beside “Opening”: `1 November`.
    package var openingRemark: String
    package var parts: [Part]
    /// The closing number. This number is counted independently, not computed from the parts.
    package var closing: Int64
    package var closingName: String

    package struct Part: Sendable {
        package var name: String
        package var remark: String
        package var color: BarChart.Color
        /// The value of the part. Negative for a decrease.
        package var value: Int64
        package var purchases: DashboardPath?

        package init(
            _ name: String, remark: String, _ color: BarChart.Color, value: Int64,
            purchases: DashboardPath? = nil
        ) {
            self.name = name
            self.remark = remark
            self.color = color
            self.value = value
            self.purchases = purchases
        }
    }

    package init(
        unit: ChartUnit, name: String, opening: Int64, openingRemark: String, parts: [Part],
        closing: Int64, closingName: String
    ) {
        self.unit = unit
        self.name = name
        self.opening = opening
        self.openingRemark = openingRemark
        self.parts = parts
        self.closing = closing
        self.closingName = closingName
    }

    /// The difference that the parts do not explain.
    package var difference: Int64 { closing - opening - parts.map(\.value).reduce(0, +) }

    package func table(in frame: Frame) -> Markup {
        let range = Range(self)
        var running = opening
        let rows = parts.map { part -> Markup in
            let bar = range.bar(from: running, to: running + part.value, part.color)
            running += part.value
            let text = unit.signedText(part.value)
            let value: Markup =
                part.purchases.map {
                    "<a href=\"\(frame.link($0))\">\(text)</a>"
                } ?? "\(text)"
            return Self.row(.bdi(part.name), remark: part.remark, bar, value)
        }
        let first = Self.row(
            "Opening", remark: openingRemark, range.edge(opening), "\(unit.text(opening))")
        let last = Self.row(
            .bdi(closingName), remark: "", range.edge(closing), "\(unit.text(closing))")
        return """
            <table class="sum"><caption class="vh">\(name)</caption><thead class="vh"><tr>\
            <th scope="col">Part</th><th scope="col">Picture</th><th scope="col">Amount</th></tr>\
            </thead><tbody>\(first)\(rows.joined())</tbody><tfoot>\(last)</tfoot></table>\
            <footer>\(verdict)</footer>
            """
    }

    private var verdict: Markup {
        let text = unit.text(difference)
        guard difference != 0 else {
            return "\(Icon.check.markup) The parts add up. Difference: \(text)"
        }
        return """
            <span class="down">\(Icon.warning.markup) The parts do not add up. Difference: \
            <b>\(text)</b></span>
            """
    }

    private static func row(
        _ name: Markup, remark: String, _ bar: Markup, _ value: Markup
    ) -> Markup {
        """
        <tr><th scope="row">\(name)\
        \(remark.isEmpty ? "" : " <span class=\"muted small\">\(.bdi(remark))</span>")</th>\
        <td class="bar"><svg aria-hidden="true">\(bar)</svg></td><td class="num">\(value)</td></tr>
        """
    }

    /// The drawn range of values. The bars of opening and closing begin where the range begins, and
    /// a mark shows that they are cut off there. A range that begins near zero is extended to zero.
    private struct Range {
        var low: Double
        var high: Double
        var isCut: Bool

        init(_ sum: SumPicture) {
            var running = sum.opening
            var values = [running, sum.closing]
            for part in sum.parts {
                running += part.value
                values.append(running)
            }
            let (least, most) = (Double(values.min() ?? 0), Double(values.max() ?? 0))
            let margin = max((most - least) * 0.165, 1)
            isCut = least - margin > 0
            low = isCut ? least - margin : min(least, 0)
            high = max(most, low + 1)
        }

        private func x(_ value: Int64) -> Double { (Double(value) - low) / (high - low) * 100 }

        func bar(from: Int64, to: Int64, _ color: BarChart.Color) -> Markup {
            let (left, right) = (x(min(from, to)), x(max(from, to)))
            return Self.rectangle(left, max(right - left, from == to ? 0 : 0.3), color)
        }

        func edge(_ value: Int64) -> Markup {
            let cut: Markup = isCut ? "<path class=\"cut\" d=\"m10 3-4 20M15 3l-4 20\"/>" : ""
            let (left, right) = (min(x(0), x(value)), max(x(0), x(value)))
            let from = max(left, 0)
            return Self.rectangle(from, max(right - from, 0), .grey) + cut
        }

        private static func rectangle(
            _ x: Double, _ width: Double, _ color: BarChart.Color
        ) -> Markup {
            """
            <rect class="\(color.className)" x="\(x.svg)%" width="\(width.svg)%" y="6" height="14" \
            rx="2"/>
            """
        }
    }
}
