import Ledger

/// Which backups are kept: all backups of the last 24 hours, and the last backup of a number of
/// days, of weeks, and of months. Days are in UTC; a week begins on Monday.
///
/// Days, weeks and months without a backup do not count. So a server that was off for a month, or
/// whose clock is wrong, does not delete all earlier backups.
package struct BackupRetention: Hashable, Sendable {
    package var days = 7
    package var weeks = 5
    package var months = 12

    private static let dayMilliseconds: Int64 = 86_400_000
    /// The time in which all backups are kept. If the newest backup contains a mistake, an earlier
    /// one of the same day may not contain it.
    private static let all = Duration.hours(24)

    /// The backups to delete. The last backup before `now` is always kept. A backup whose time is
    /// later than `now` was made while the clock was ahead. It is kept, too, but does not count as
    /// the last backup of its day, week or month.
    ///
    /// - Parameter backups: the moments of all backups, in any order.
    func expired(among backups: [Instant], at now: Instant) -> [Instant] {
        let past = backups.filter { $0 <= now }.sorted(by: >)
        var kept = Set(past.prefix(1))
        kept.formUnion(past.filter { now - $0 < Self.all })
        kept.formUnion(Self.last(of: past, units: days, by: Self.day))
        kept.formUnion(Self.last(of: past, units: weeks, by: Self.week))
        kept.formUnion(Self.last(of: past, units: months, by: Self.month))
        return past.filter { !kept.contains($0) }
    }

    /// The last moment in each of the latest days, weeks or months that contain a moment.
    ///
    /// - Parameter past: latest first.
    private static func last(
        of past: [Instant], units: Int, by unit: (Instant) -> Int64
    ) -> [Instant] {
        var last: [Instant] = []
        var seen: Int64?
        for moment in past where unit(moment) != seen {
            guard last.count < units else { break }
            last.append(moment)
            seen = unit(moment)
        }
        return last
    }

    private static func day(_ moment: Instant) -> Int64 {
        moment.milliseconds / dayMilliseconds
    }

    /// 1970-01-01 was a Thursday.
    private static func week(_ moment: Instant) -> Int64 { (day(moment) + 3) / 7 }

    private static func month(_ moment: Instant) -> Int64 {
        let date = CivilDate(dayNumber: day(moment))
        return date.year * 12 + date.month
    }
}
