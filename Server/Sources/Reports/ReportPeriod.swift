import Ledger

/// A stretch of days that a report shows as one row.
package struct ReportPeriod: Hashable, Sendable {
    /// The days of the period, counted from 1970-01-01, in the configured time zone.
    package var days: Range<Int64>

    package init(days: Range<Int64>) { self.days = days }

    /// Whether the period ends after a day, so that its numbers may still grow.
    package func isIncomplete(on today: Int64) -> Bool { days.upperBound > today }

    /// How days are grouped.
    package enum Length: String, Hashable, Sendable, CaseIterable {
        case day
        /// Weeks begin on Monday.
        case week
        case month
        case quarter
        case year

        /// The first day of the period that contains a day.
        package func start(of day: Int64) -> Int64 {
            let date = CivilDate(dayNumber: day)
            switch self {
            case .day: return day
            // 1970-01-01 was a Thursday.
            case .week: return day - ((day + 3) % 7 + 7) % 7
            case .month: return CivilDate(year: date.year, month: date.month, day: 1).dayNumber
            case .quarter:
                let month = (date.month - 1) / 3 * 3 + 1
                return CivilDate(year: date.year, month: month, day: 1).dayNumber
            case .year: return CivilDate(year: date.year, month: 1, day: 1).dayNumber
            }
        }

        /// The first day of the next period, given the first day of a period.
        func next(after start: Int64) -> Int64 {
            switch self {
            case .day: start + 1
            case .week: start + 7
            case .month: CivilDate(dayNumber: start).adding(months: 1).dayNumber
            case .quarter: CivilDate(dayNumber: start).adding(months: 3).dayNumber
            case .year: CivilDate(dayNumber: start).adding(months: 12).dayNumber
            }
        }
    }

    /// The periods that contain the given days. The first and the last period are cut to these
    /// days.
    package static func periods(_ length: Length, in days: Range<Int64>) -> [ReportPeriod] {
        var periods: [ReportPeriod] = []
        var start = days.isEmpty ? days.upperBound : length.start(of: days.lowerBound)
        while start < days.upperBound {
            let next = length.next(after: start)
            periods.append(
                ReportPeriod(
                    days: max(start, days.lowerBound)..<min(next, days.upperBound)))
            start = next
        }
        return periods
    }
}
