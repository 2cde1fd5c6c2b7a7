import AppStoreFormats

/// Moments at which calendar code often fails, and moments close to a boundary.
enum EdgeMoments {
    static let day = RFC3339.millisecondsPerDay

    /// Offsets in milliseconds, from a day before a boundary to a millisecond after it.
    static let beforeEnd: [Int64] = [-day - 1, -day, -day + 1, -1, 0, 1]

    /// Dates whose day of the month, 28 to 31, is the last day of some months. ``clockChanges`` has
    /// the nights on which Los Angeles changes its clocks, in the years that are likely to be
    /// simulated.
    private static let dates: [(month: Int, day: Int)] = [
        (1, 29), (1, 30), (1, 31), (2, 28), (2, 29), (3, 31), (5, 31), (8, 31), (10, 31), (12, 31),
    ]
    private static let clockChanges = [
        CivilDate(year: 2026, month: 3, day: 8), CivilDate(year: 2026, month: 11, day: 1),
        CivilDate(year: 2027, month: 3, day: 14), CivilDate(year: 2027, month: 11, day: 7),
        CivilDate(year: 2028, month: 3, day: 12), CivilDate(year: 2028, month: 11, day: 5),
    ]
    /// Wall-clock times around the hour that is skipped in March and occurs twice in November, in
    /// milliseconds since midnight.
    private static let nightTimes: [Int64] = [5_399_999, 5_400_000, 7_200_000, 9_000_000]

    /// The moments within a span of time, in order.
    static func within(
        _ span: Range<AppStoreDate>, _ calendar: StoreCalendar
    ) -> [AppStoreDate] {
        let first = CivilDate(daysSince1970: span.lowerBound.milliseconds / day).year
        let last = CivilDate(daysSince1970: span.upperBound.milliseconds / day).year
        var moments: [AppStoreDate] = []
        for year in first...last {
            for date in dates where date.day <= CivilDate.days(inMonth: date.month, of: year) {
                let day = CivilDate(year: year, month: date.month, day: date.day)
                // Noon, and the last millisecond of the day.
                moments.append(calendar.moment(day, millisecondOfDay: 43_200_000))
                moments.append(calendar.moment(day, millisecondOfDay: 86_399_999))
            }
        }
        for night in clockChanges {
            moments += nightTimes.map { calendar.moment(night, millisecondOfDay: $0) }
        }
        return moments.filter { span.contains($0) }.sorted()
    }
}
