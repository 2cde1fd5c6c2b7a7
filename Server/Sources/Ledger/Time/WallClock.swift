/// The local time of one place: the offset from UTC, and its changes.
///
/// This type replaces a time zone name, because this module does not read the machine's time zone
/// tables.
package struct WallClock: Hashable, Sendable {
    package static let utc = WallClock(name: "UTC", secondsAtFirst: 0, changes: [])

    /// A change of the offset.
    package struct Change: Hashable, Sendable {
        package var at: Instant
        /// The offset from this moment on, in seconds east of UTC.
        package var seconds: Int

        package init(at: Instant, seconds: Int) {
            self.at = at
            self.seconds = seconds
        }
    }

    /// The name in the tz database, such as `Europe/Vienna`.
    package let name: String
    private let secondsAtFirst: Int
    private let changes: [Change]

    /// - Parameters:
    ///   - secondsAtFirst: seconds east of UTC before the first change.
    ///   - changes: sorted by time.
    package init(name: String, secondsAtFirst: Int, changes: [Change]) {
        self.name = name
        self.secondsAtFirst = secondsAtFirst
        self.changes = changes
    }

    /// Adds a number of calendar months, and then a number of days, to a moment. Keeps the local
    /// time. If the resulting month has no such day, its last day is used. A local time that the
    /// clocks skip moves later by the skipped interval. If a local time occurs twice, the first one
    /// is used.
    package func moment(months: Int, days: Int, after start: Instant) -> Instant {
        let (day, time) = CivilDate.dayAndRest(of: localMilliseconds(at: start))
        let date = CivilDate(dayNumber: day).adding(months: months)
        let later = (date.dayNumber + Int64(days)) * CivilDate.dayMilliseconds + time
        return moment(showing: later)
    }

    /// The first moment of a day. Returns nil if the calendar has no such day.
    package func midnight(year: Int64, month: Int64, day: Int64) -> Instant? {
        let date = CivilDate(year: year, month: month, day: day)
        guard (1...12).contains(month), (1...31).contains(day),
            CivilDate(dayNumber: date.dayNumber) == date
        else { return nil }
        return moment(showing: date.dayNumber * CivilDate.dayMilliseconds)
    }

    /// The first moment of a day, counted from 1970-01-01.
    package func midnight(ofDay number: Int64) -> Instant {
        moment(showing: number * CivilDate.dayMilliseconds)
    }

    /// The local day of a moment, counted from 1970-01-01.
    package func dayNumber(at instant: Instant) -> Int64 {
        CivilDate.dayAndRest(of: localMilliseconds(at: instant)).day
    }

    /// Milliseconds since 1970-01-01, as if local time were UTC.
    private func localMilliseconds(at instant: Instant) -> Int64 {
        instant.milliseconds + offset(at: instant)
    }

    private func moment(showing wall: Int64) -> Instant {
        let asUTC = Instant(milliseconds: wall)
        let before = offset(at: asUTC - Self.offsetMax)
        let after = offset(at: asUTC + Self.offsetMax)
        let candidates = [before, after].map { Instant(milliseconds: wall - $0) }
        return candidates.first { localMilliseconds(at: $0) == wall } ?? candidates[0]
    }

    /// No place is further from UTC than this, and no place changes its offset twice within two
    /// days.
    private static let offsetMax = Duration.hours(24)

    private func offset(at instant: Instant) -> Int64 {
        let seconds = changes.last { $0.at <= instant }?.seconds ?? secondsAtFirst
        return Int64(seconds) * 1000
    }
}
