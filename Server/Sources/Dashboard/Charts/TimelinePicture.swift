import PerennialContract

/// A customer's purchases over time: a lane for each group of subscriptions, each term and each
/// product that is owned permanently.
package struct TimelinePicture: Sendable {
    package var lanes: [Lane]

    package struct Lane: Sendable {
        package var name: String
        package var spans: [Span]
        /// Words above the lane at a moment: `card failed`.
        package var marks: [Mark]

        package init(name: String, spans: [Span], marks: [Mark] = []) {
            self.name = name
            self.spans = spans
            self.marks = marks
        }
    }

    package struct Span: Sendable {
        package var kind: Kind
        package var from: Timestamp
        /// The end of the span. Nil if the span never ends.
        package var until: Timestamp?
        /// The label, which is inside the span if there is room: `monthly`.
        package var label: String

        package init(_ kind: Kind, from: Timestamp, until: Timestamp?, label: String = "") {
            self.kind = kind
            self.from = from
            self.until = until
            self.label = label
        }
    }

    package struct Mark: Sendable {
        package var at: Timestamp
        package var text: String

        package init(at: Timestamp, _ text: String) {
            self.at = at
            self.text = text
        }
    }

    package enum Kind: CaseIterable, Sendable {
        case paid, trial, term, grace, retry, refunded, next

        var className: Markup {
            switch self {
            case .paid: "p-paid"
            case .trial: "p-trial"
            case .term: "p-term"
            case .grace: "p-grace"
            case .retry: "p-retry"
            case .refunded: "p-refunded"
            case .next: "p-next"
            }
        }

        var name: String {
            switch self {
            case .paid: "paid"
            case .trial: "free trial"
            case .term: "term that does not renew"
            case .grace: "grace: open, not paid"
            case .retry: "retry: closed, Apple tries again"
            case .refunded: "refunded"
            case .next: "comes next"
            }
        }
    }

    package init(lanes: [Lane]) { self.lanes = lanes }

    /// The maximum number of lanes that are drawn. The table has all lanes.
    package static let lanesMax = 12

    // MARK: - Picture

    package func markup(in frame: Frame) -> Markup {
        let drawn = lanes.filter { !$0.spans.isEmpty }.prefix(Self.lanesMax)
        guard let axis = Axis(drawn.flatMap(\.spans), now: frame.now) else {
            return "<p class=\"soft\">Nothing was bought yet.</p>"
        }
        let height = 46 + 54 * drawn.count
        let few: Markup = drawn.flatMap(\.spans).count <= 4 ? " few" : ""
        let content = drawn.enumerated().map { index, lane in
            self.lane(lane, top: Double(54 * index), axis)
        }
        return """
            <div class="scroll last" role="region" tabindex="0" \
            aria-label="Picture of the purchases over time">\
            <svg class="chart tl\(few)" height="\(height)" aria-hidden="true">\(Self.patterns)\
            \(axis.months(height: height, today: frame.now))\(axis.now(frame.now, height: height))\
            \(content.joined())</svg></div>\(key(of: drawn.flatMap(\.spans)))
            """
    }

    private static let patterns: Markup = """
        <defs><pattern id="hg" width="7" height="7" patternUnits="userSpaceOnUse" \
        patternTransform="rotate(45)"><line class="hg" x1="0" x2="0" y1="0" y2="7"/></pattern>\
        <pattern id="hr" width="6" height="6" patternUnits="userSpaceOnUse" \
        patternTransform="rotate(-45)"><line class="hr" x1="0" x2="0" y1="0" y2="6"/></pattern>\
        </defs>
        """

    private func lane(_ lane: Lane, top: Double, _ axis: Axis) -> Markup {
        let name: Markup = """
            <text class="on tag" x="100%" y="\((top + 36).svg)" text-anchor="end">\
            \(Self.short(lane.name, charactersMax: 24))</text>
            """
        let bars = lane.spans.map { span(from: $0, top: top, axis) }
        return name + bars.joined() + marks(of: lane, top: top, axis)
    }

    private func span(from span: Span, top: Double, _ axis: Axis) -> Markup {
        let left = axis.x(span.from)
        let width = max(axis.x(span.until ?? axis.last) - left - 0.2, 0.4)
        // A letter takes about one per cent of the narrowest picture.
        let fits = !span.label.isEmpty && width > Double(span.label.count) * 1.15 + 1
        let label: Markup = """
            <text class="on" x="\((left + width / 2).svg)%" y="\((top + 58).svg)" \
            text-anchor="middle">\(span.label)</text>
            """
        return """
            <rect class="\(span.kind.className)" x="\(left.svg)%" y="\((top + 43).svg)" \
            width="\(width.svg)%" height="22" rx="3"/>\(fits ? label : "")
            """
    }

    /// Marks after the end of the bars are drawn beside the bars, and other marks above the bars.
    /// A mark that would cover the previous mark is left out: the history contains it.
    private func marks(of lane: Lane, top: Double, _ axis: Axis) -> Markup {
        let end = lane.spans.map { axis.x($0.until ?? axis.last) }.max() ?? 0
        // The lane's name is on the right.
        let right = 98 - Double(min(lane.name.count, 24)) * 1.15
        var taken = 0.0
        var drawn = Markup.empty
        for mark in lane.marks.sorted(by: { $0.at < $1.at }) {
            let x = axis.x(mark.at)
            let half = Double(mark.text.count) * 0.575
            if x >= end - 0.5, end + half * 2 < 99 {
                drawn += """
                    <text class="tag" x="\((end + 1).svg)%" \
                    y="\((top + 58).svg)">\(mark.text)</text>
                    """
            } else if x - half > taken, x + half < right {
                drawn += """
                    <text class="tag" x="\(x.svg)%" y="\((top + 37).svg)" text-anchor="middle">\
                    \(mark.text)</text>
                    """
                taken = x + half + 1
            }
        }
        return drawn
    }

    private static func short(_ text: String, charactersMax: Int) -> String {
        text.count > charactersMax ? text.prefix(charactersMax - 1) + "…" : text
    }

    private func key(of spans: [Span]) -> Markup {
        let entries = Kind.allCases.filter { kind in spans.contains { $0.kind == kind } }
            .map { kind -> Markup in
                """
                <span><svg aria-hidden="true"><rect class="\(kind.className)" x=".5" y=".5" \
                width="14" height="10" rx="2"/></svg>\(kind.name)</span>
                """
            }
        return "<div class=\"key\">\(entries.joined())</div>"
    }

    // MARK: - Table

    package func table(in frame: Frame) -> Markup {
        let rows = lanes.flatMap { lane in
            lane.spans.map { span -> Markup in
                let label: Markup = span.label.isEmpty ? "" : ", \(.bdi(span.label))"
                return Table.row(
                    .init(.bdi(lane.name)),
                    [
                        .init("\(span.kind.name)\(label)"),
                        .init("\(frame.time(span.from))"),
                        .init(span.until.map { "\(frame.time($0))" } ?? "without end"),
                    ])
            }
        }
        return Table(
            name: "The purchases over time",
            columns: [.init("What"), .init("State"), .init("From"), .init("Until")], rows: rows,
            classes: "roomy"
        ).markup
    }
}

// MARK: - Axis

/// The drawn range of time: from the first span to some time after the last one and after now.
private struct Axis {
    let first: Timestamp
    let last: Timestamp

    private static let day: Int64 = 86_400_000

    init?(_ spans: [TimelinePicture.Span], now: Timestamp) {
        guard let from = spans.map(\.from).min() else { return nil }
        let until = max(spans.map { $0.until ?? $0.from }.max() ?? from, now)
        let length = max(until.milliseconds - from.milliseconds, 20 * Self.day)
        first = Timestamp(milliseconds: from.milliseconds - length / 40)
        last = Timestamp(milliseconds: from.milliseconds + length + length / 5)
    }

    /// The position of a moment, in per cent of the width.
    func x(_ at: Timestamp) -> Double {
        let share =
            Double(at.milliseconds - first.milliseconds)
            / Double(last.milliseconds - first.milliseconds)
        return min(max(share * 100, 0), 100)
    }

    /// Draws a line for the first day of each month. Leaves out some months if there would be more
    /// than fifteen lines.
    func months(height: Int, today: Timestamp) -> Markup {
        let (from, to) = (CivilTime(first), CivilTime(last))
        let count = (to.year - from.year) * 12 + to.month - from.month
        let steps = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200]
        let step = steps.first { count / $0 <= 14 } ?? 12_000
        var lines = Markup.empty
        for month in 1...max(count, 1) where (from.month - 1 + month) % step == 0 {
            let index = from.year * 12 + from.month - 1 + month
            let (year, number) = (index / 12, index % 12 + 1)
            guard let at = Timestamp("\(Self.four(year))-\(Self.two(number))-01T00:00:00Z") else {
                continue
            }
            let civil = CivilTime(at)
            let showsYear = number == 1 || step >= 12
            // January is labelled with the year, and has no more room than other months.
            let text = number == 1 ? "\(year)" : civil.shortMonth + (showsYear ? " \(year)" : "")
            lines += """
                <line class="grid" x1="\(x(at).svg)%" x2="\(x(at).svg)%" y1="22" \
                y2="\(height - 22)"/>
                """
            if x(at) < 95 {
                lines += "<text x=\"\(x(at).svg)%\" y=\"\(height - 6)\">\(text)</text>"
            }
        }
        return lines
    }

    /// The flag is in the middle of its line, but not outside of the picture.
    func now(_ now: Timestamp, height: Int) -> Markup {
        let shift = x(now) < 7 ? 18 : 0
        return """
            <line class="nowline" x1="\(x(now).svg)%" x2="\(x(now).svg)%" y1="14" \
            y2="\(height - 22)"/>\
            <svg x="\(x(now).svg)%" overflow="visible"><rect class="flag" x="\(shift - 20)" \
            width="40" height="17" rx="8.5"/><text class="flagt" x="\(shift)" y="12.5" \
            text-anchor="middle">now</text></svg>
            """
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    private static func four(_ number: Int) -> String {
        String(repeating: "0", count: max(0, 4 - String(number).count)) + String(number)
    }
}
