import Reports

/// The sums that a report needs: of months where possible, of days otherwise.
struct SumPlan: Hashable {
    /// The days whose sums are read, and the span of each of these sums. The days may be empty.
    struct Stretch: Hashable {
        var span: SumTable.Span
        var days: Range<Int64>
    }

    /// A day earlier than any movement.
    static let firstDay = Int64(Int32.min)

    /// The sums from before the report, which are combined on one day.
    private(set) var opening: [Stretch]
    private(set) var within: [Stretch]
    /// The first day of the report.
    private let first: Int64
    /// The first day that is not read from the sums: today, or the day after the report.
    private let limit: Int64
    /// The present day, on which some movements are still in the future. Nil if the report ends
    /// before it.
    private(set) var today: Int64?

    /// - Parameters:
    ///   - days: the days of the report.
    ///   - today: the present day. The sums of this day and of later days contain future movements.
    ///   - keepsDays: whether the report needs a separate sum for every day.
    init(_ days: Range<Int64>, today: Int64, keepsDays: Bool) {
        let last = min(days.upperBound, today)
        let start = min(days.lowerBound, last)
        let month = SumTable.Span.month.start(of: start)
        opening = [
            Stretch(span: .month, days: Self.firstDay..<month),
            Stretch(span: .day, days: month..<start),
        ]
        within = Self.stretches(start..<last, keepsDays: keepsDays)
        first = days.lowerBound
        limit = last
        self.today = days.upperBound > today ? today : nil
    }

    private static func stretches(_ days: Range<Int64>, keepsDays: Bool) -> [Stretch] {
        let start = SumTable.Span.month.start(of: days.lowerBound)
        let from = start == days.lowerBound ? start : SumTable.Span.month.start(of: start + 31)
        let until = SumTable.Span.month.start(of: days.upperBound)
        guard !keepsDays, from < until else { return [Stretch(span: .day, days: days)] }
        return [
            Stretch(span: .day, days: days.lowerBound..<from),
            Stretch(span: .month, days: from..<until),
            Stretch(span: .day, days: until..<days.upperBound),
        ]
    }

    /// The day before the report, on which everything earlier is combined.
    var openingDay: Int64 { first - 1 }

    /// The day on which the report's sums count the movements of the given day. Nil if the day is
    /// after the report, or is today or later. Today's movements are read individually.
    func sumDay(of day: Int64) -> Int64? {
        guard day < limit else { return nil }
        if day < first { return openingDay }
        guard let stretch = within.first(where: { $0.days.contains(day) }) else { return nil }
        return stretch.span.start(of: day)
    }
}
