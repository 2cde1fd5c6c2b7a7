/// The shape of a number over time, without an axis. The page that it leads to has the numbers.
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

/// Counts by the hour, as bars: what went well in green, and what failed in red above it.
package struct Strip: Sendable {
    /// Oldest first.
    package var hours: [Hour]

    package struct Hour: Hashable, Sendable {
        package var good: Int
        package var bad: Int

        package init(good: Int, bad: Int = 0) {
            self.good = good
            self.bad = bad
        }
    }

    package init(_ hours: [Hour]) { self.hours = hours }

    package var markup: Markup {
        let most = Double(max(hours.map { $0.good + $0.bad }.max() ?? 0, 1))
        let slot = 100 / Double(max(hours.count, 1))
        let bars = hours.indices.map { index -> Markup in
            let (good, bad) = (Double(hours[index].good), Double(hours[index].bad))
            let (tall, red) = (26 * good / most, 26 * bad / most)
            let x = Double(index) * slot
            return Self.bar("f1b", x, slot * 0.72, 28 - tall, tall)
                + Self.bar("f4", x, slot * 0.72, 28 - tall - red, red)
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

    /// The same in words, as the bars are only drawn.
    package var sentence: String {
        let (good, bad) = (hours.map(\.good).reduce(0, +), hours.map(\.bad).reduce(0, +))
        let most = hours.map { $0.good + $0.bad }.max() ?? 0
        return "By the hour, last \(hours.count) hours: \(Figures.count(good)) went well, "
            + "\(Figures.count(bad)) did not; at most \(Figures.count(most)) in an hour."
    }
}
