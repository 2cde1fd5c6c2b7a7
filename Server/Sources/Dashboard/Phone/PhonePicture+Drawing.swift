import PerennialContract

// The picture as SVG. Only shapes stretch: positions on the time axis are percentages.

extension PhonePicture {
    private static let laneHeight = 52
    private static let flagsMax = 5

    var markup: Markup {
        guard !lanes.isEmpty else {
            return """
                <figure id="picture"><p class="muted">Nothing yet. What she buys is drawn here, \
                and grows as time goes by.</p></figure>
                """
        }
        let axis = Axis(self)
        let height = 34 + lanes.count * Self.laneHeight
        return """
            <figure id="picture"><svg class="chart" height="\(height)" aria-hidden="true">\
            \(Self.patterns)\(months(axis, height))\
            \(lanes.enumerated().map { lane($1, $0, axis) }.joined())\
            \(flag(axis, height))\(words(axis))</svg></figure>
            """
    }

    private static let patterns: Markup = """
        <defs><pattern id="hg" width="7" height="7" patternUnits="userSpaceOnUse" \
        patternTransform="rotate(45)"><line class="hg" y2="7"/></pattern><pattern id="hr" \
        width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">\
        <line class="hr" y2="6"/></pattern></defs>
        """

    /// The drawn range of time: from a little before the first span until a little after the last
    /// one.
    private struct Axis {
        let first: Timestamp
        let start: Int64
        let end: Int64

        init(_ picture: PhonePicture) {
            let spans = picture.lanes.flatMap(\.spans)
            first = spans.map(\.from).min() ?? picture.now
            let ends = spans.map(\.until).filter { $0 != PhonePicture.openEnd }
            let last = max(picture.now, ends.max() ?? picture.now)
            let length = last.milliseconds - first.milliseconds
            let day: Int64 = 86_400_000
            start = first.milliseconds - length / 10 - day
            end = last.milliseconds + length / 10 + 14 * day
        }

        /// The position of a moment, in hundredths of a percent of the width.
        func place(_ timestamp: Timestamp) -> Int {
            let within = min(max(timestamp.milliseconds, start), end) - start
            return Int(within * 10_000 / max(1, end - start))
        }

        func percent(_ timestamp: Timestamp) -> Markup { Self.percent(place(timestamp)) }

        static func percent(_ hundredths: Int) -> Markup {
            let rest = hundredths % 100
            return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)%"
        }
    }

    private func lane(_ lane: Lane, _ index: Int, _ axis: Axis) -> Markup {
        let top = index * Self.laneHeight
        let shapes = lane.spans.map { span -> Markup in
            let from = axis.place(span.from)
            let width = min(9950, axis.place(span.until)) - from - 30
            return """
                <rect class="p-\(span.look.rawValue)" x="\(Axis.percent(from))" y="\(top + 40)" \
                width="\(Axis.percent(max(40, width)))" height="22" rx="3"/>
                """
        }
        return "<text class=\"on\" x=\"0\" y=\"\(top + 32)\">\(lane.name)</text>\(shapes.joined())"
    }

    private func months(_ axis: Axis, _ height: Int) -> Markup {
        let count = (axis.end - axis.start) / (30 * 86_400_000)
        let every = max(1, Int(count + 5) / 6)
        // The first of a month is labelled if it is at most a day before the purchase.
        let day: Int64 = 86_400_000
        var month = Timestamp(milliseconds: axis.first.milliseconds - day).nextMonth
        var (lines, index) = (Markup.empty, 0)
        while month.milliseconds < axis.end {
            if index.isMultiple(of: every) {
                lines += monthLine(month, axis, height, showsYear: CivilTime(month).month <= every)
            }
            (month, index) = (month.nextMonth, index + 1)
        }
        return lines
    }

    private func monthLine(
        _ month: Timestamp, _ axis: Axis, _ height: Int, showsYear: Bool
    ) -> Markup {
        let (place, civil) = (axis.percent(month), CivilTime(month))
        let year = showsYear ? " \(civil.year)" : ""
        // January is labelled with the year, and has no more room than other months.
        let name = civil.month == 1 ? "\(civil.year)" : civil.shortMonth + year
        let label: Markup = "<text x=\"\(place)\" y=\"\(height - 4)\">\(name)</text>"
        return """
            <line class="grid" x1="\(place)" x2="\(place)" y1="20" y2="\(height - 18)"/>\
            \(axis.place(month) > 8_400 ? "" : label)
            """
    }

    private func flag(_ axis: Axis, _ height: Int) -> Markup {
        let place = axis.percent(now)
        return """
            <line class="nowline" x1="\(place)" x2="\(place)" y1="14" y2="\(height - 18)"/>\
            <svg x="\(place)" overflow="visible"><rect class="flag" x="-20" width="40" height="17" \
            rx="8.5"/><text class="flagt" y="12.5" text-anchor="middle">now</text></svg>
            """
    }

    /// The newest labels, without labels that would cover another label.
    private func words(_ axis: Axis) -> Markup {
        var (shown, near) = (Markup.empty, 19_900)
        for flag in flags.suffix(Self.flagsMax).reversed() {
            // The name of the lane is on the left.
            let place = max(1_200, axis.place(flag.at))
            guard near - place > 1_300 else { continue }
            near = place
            let anchor: Markup = place > 8_500 ? "end" : place < 2_000 ? "start" : "middle"
            shown += """
                <text class="tag" x="\(Axis.percent(place))" y="34" \
                text-anchor="\(anchor)">\(flag.word)</text>
                """
        }
        return shown
    }
}

extension Timestamp {
    /// The first of the following month, at midnight in UTC.
    var nextMonth: Timestamp {
        let civil = CivilTime(self)
        let (year, month) = civil.month == 12 ? (civil.year + 1, 1) : (civil.year, civil.month + 1)
        let text = "\(year)-\(month < 10 ? "0" : "")\(month)-01T00:00:00Z"
        return Timestamp(text) ?? Timestamp(milliseconds: milliseconds + 31 * 86_400_000)
    }
}
