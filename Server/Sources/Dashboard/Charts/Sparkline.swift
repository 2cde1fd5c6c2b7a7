/// The shape of a number over time, without an axis. The linked page has the numbers.
package struct Sparkline: Sendable {
    package var values: [Int64]

    package init(_ values: [Int64]) { self.values = values }

    package var markup: Markup {
        guard values.count > 1, let least = values.min(), let most = values.max() else { return "" }
        let corners = values.indices.map { index -> Markup in
            let x = 1000 * Double(index) / Double(values.count - 1)
            let share =
                most > least
                ? Double(values[index] - least) / Double(most - least) : most == 0 ? 0 : 0.5
            return "\(x.rounded().svg),\((26 - 24 * share).svg)"
        }
        return """
            <svg viewBox="0 0 1000 28" preserveAspectRatio="none" aria-hidden="true">\
            <polygon class="area" points="0,28 \(corners.joined(by: " ")) 1000,28"/>\
            <polyline class="ln" points="\(corners.joined(by: " "))"/></svg>
            """
    }
}

/// Counts by the hour, as bars: successes in green, waiting items in amber above them, and failures
/// in red.
package struct Strip: Sendable {
    /// The hours, the oldest first.
    package var hours: [Hour]

    package struct Hour: Hashable, Sendable {
        package var good: Int
        /// The number of counted items that wait. These may still succeed.
        package var waiting: Int
        package var bad: Int

        package init(good: Int, waiting: Int = 0, bad: Int = 0) {
            self.good = good
            self.waiting = waiting
            self.bad = bad
        }

        var total: Int { good + waiting + bad }
    }

    package init(_ hours: [Hour]) { self.hours = hours }

    package var markup: Markup {
        let most = Double(max(hours.map(\.total).max() ?? 0, 1))
        let slot = 100 / Double(max(hours.count, 1))
        let bars = hours.indices.map { index -> Markup in
            let hour = hours[index]
            let parts: [(Markup, Int)] = [
                ("f1b", hour.good), ("f4b", hour.waiting), ("f4", hour.bad),
            ]
            var top = 28.0
            return parts.map { look, count in
                let height = 26 * Double(count) / most
                top -= height
                return Self.bar(look, Double(index) * slot, slot * 0.72, top, height)
            }.joined()
        }
        return "<svg class=\"strip\" aria-hidden=\"true\">\(bars.joined())</svg>"
    }

    private static func bar(
        _ className: Markup, _ x: Double, _ width: Double, _ y: Double, _ height: Double
    ) -> Markup {
        guard height > 0 else { return "" }
        return """
            <rect class="\(className)" x="\(x.svg)%" width="\(width.svg)%" y="\(y.svg)" \
            height="\(height.svg)" rx="1"/>
            """
    }

    /// The counts in words. They are needed, because the bars are only a picture.
    package var sentence: String {
        func sum(_ part: (Hour) -> Int) -> Int { hours.map(part).reduce(0, +) }
        let waiting = sum(\.waiting)
        let most = hours.map(\.total).max() ?? 0
        return "By the hour, last \(Figures.count(hours.count, "hour")): "
            + "\(Figures.count(sum(\.good))) went well, "
            + (waiting > 0 ? "\(Figures.count(waiting)) wait, " : "")
            + "\(Figures.count(sum(\.bad))) did not; at most \(Figures.count(most)) in an hour."
    }
}
