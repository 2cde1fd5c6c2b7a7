import AppStoreFormats
import Foundation

/// The calendar of the App Store: Gregorian, in the time zone of Los Angeles.
///
/// A period ends at the same wall-clock time at which it began, on the same day of the month. If a
/// month does not have that day, it ends on the month's last day. The day is taken from the anchor,
/// not from the previous period: 31 January, 28 February, 31 March.
struct StoreCalendar: Hashable, Sendable {
    /// The day and time that the periods of a chain are aligned to.
    struct Anchor: Hashable, Sendable {
        /// The day of the month, from 1 to 31.
        var dayOfMonth: Int
        /// The time of day in milliseconds since midnight on the wall clock.
        var millisecondOfDay: Int64
    }

    private let zone: TimeZone

    init() {
        guard let zone = TimeZone(identifier: "America/Los_Angeles") else {
            preconditionFailure("The time zone America/Los_Angeles is missing: install tzdata.")
        }
        self.zone = zone
    }

    /// The anchor of a chain that begins at a moment.
    func anchor(at moment: AppStoreDate) -> Anchor {
        let (date, millisecond) = wallClock(moment)
        return Anchor(dayOfMonth: date.day, millisecondOfDay: millisecond)
    }

    /// The moment at which a number of consecutive periods end, if the first one begins at a given
    /// moment. Periods of days and weeks move the anchor's day, because after a trial of a week the
    /// months are counted from the trial's end.
    func periodEnd(
        of period: BillingPeriod, times count: Int, from start: AppStoreDate, anchor: inout Anchor
    ) -> AppStoreDate {
        let (date, _) = wallClock(start)
        if period.months > 0 {
            let day = day(date, plusMonths: period.months * count, wished: anchor.dayOfMonth)
            return moment(day, millisecondOfDay: anchor.millisecondOfDay)
        }
        let day = CivilDate(daysSince1970: date.daysSince1970 + Int64(period.days * count))
        anchor.dayOfMonth = day.day
        return moment(day, millisecondOfDay: anchor.millisecondOfDay)
    }

    /// Adds a duration to a moment: first calendar units on the wall clock, then exact units.
    func moment(_ start: AppStoreDate, plus duration: ISODuration) -> AppStoreDate {
        guard duration.months > 0 || duration.days > 0 else {
            return AppStoreDate(milliseconds: start.milliseconds + duration.milliseconds)
        }
        let (date, millisecond) = wallClock(start)
        let inMonth = day(date, plusMonths: duration.months, wished: date.day)
        let day = CivilDate(daysSince1970: inMonth.daysSince1970 + Int64(duration.days))
        let moment = moment(day, millisecondOfDay: millisecond)
        return AppStoreDate(milliseconds: moment.milliseconds + duration.milliseconds)
    }

    private func day(_ date: CivilDate, plusMonths months: Int, wished: Int) -> CivilDate {
        let total = date.year * 12 + date.month - 1 + months
        let (year, month) = (total / 12, total % 12 + 1)
        let day = min(wished, CivilDate.days(inMonth: month, of: year))
        return CivilDate(year: year, month: month, day: day)
    }

    private func wallClock(_ moment: AppStoreDate) -> (CivilDate, millisecondOfDay: Int64) {
        let local = moment.milliseconds + offset(atUTC: moment.milliseconds)
        let day = local.flooredDivision(by: RFC3339.millisecondsPerDay)
        return (CivilDate(daysSince1970: day), local - day * RFC3339.millisecondsPerDay)
    }

    /// Converts a wall-clock time to a moment. A time that is skipped in March counts as an hour
    /// later; a time that occurs twice in November counts as the first.
    func moment(_ day: CivilDate, millisecondOfDay: Int64) -> AppStoreDate {
        let local = day.daysSince1970 * RFC3339.millisecondsPerDay + millisecondOfDay
        let before = offset(atUTC: local - RFC3339.millisecondsPerDay)
        let after = offset(atUTC: local + RFC3339.millisecondsPerDay)
        let early = local - before
        // If the offset before the change still applies at `early`, that moment is correct. If the
        // local time occurs twice, this check selects the first of the two moments.
        if offset(atUTC: early) == before { return AppStoreDate(milliseconds: early) }
        let late = local - after
        if offset(atUTC: late) == after { return AppStoreDate(milliseconds: late) }
        return AppStoreDate(milliseconds: early)
    }

    /// The milliseconds by which the wall clock is ahead of UTC; negative for Los Angeles.
    private func offset(atUTC milliseconds: Int64) -> Int64 {
        let seconds = milliseconds.flooredDivision(by: 1000)
        let instant = Date(timeIntervalSince1970: TimeInterval(seconds))
        return Int64(zone.secondsFromGMT(for: instant)) * 1000
    }
}
