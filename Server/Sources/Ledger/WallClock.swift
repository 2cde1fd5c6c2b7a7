/// What the clocks on the walls of one place show: how far they are from UTC, and from when.
///
/// A value and no name of a time zone, because nothing here reads the machine's tables.
package struct WallClock: Hashable, Sendable {
    package static let utc = WallClock(name: "UTC", secondsAtFirst: 0, changes: [])

    /// A change of the clocks.
    package struct Change: Hashable, Sendable {
        package var at: Instant
        /// East of UTC, from then on.
        package var seconds: Int

        package init(at: Instant, seconds: Int) {
            self.at = at
            self.seconds = seconds
        }
    }

    /// As the tz database calls it, such as `Europe/Vienna`.
    package let name: String
    private let secondsAtFirst: Int
    private let changes: [Change]

    /// - Parameters:
    ///   - secondsAtFirst: east of UTC, before the first change.
    ///   - changes: in the order of time.
    package init(name: String, secondsAtFirst: Int, changes: [Change]) {
        self.name = name
        self.secondsAtFirst = secondsAtFirst
        self.changes = changes
    }

    /// The moment so many calendar months, and then days, after another, at the same time by the
    /// clock on the wall. A month that has no such day ends on its last; a time that the clocks
    /// leap over is as much later; of a time that comes twice it is the first.
    package func moment(months: Int, days: Int, after start: Instant) -> Instant {
        let (day, time) = CivilDate.dayAndRest(of: shown(at: start))
        let date = CivilDate(dayNumber: day).adding(months: months)
        let later = (date.dayNumber + Int64(days)) * CivilDate.dayMilliseconds + time
        return moment(showing: later)
    }

    /// The first moment of a day; nil where the calendar has no such day.
    package func midnight(year: Int64, month: Int64, day: Int64) -> Instant? {
        let date = CivilDate(year: year, month: month, day: day)
        guard (1...12).contains(month), (1...31).contains(day),
            CivilDate(dayNumber: date.dayNumber) == date
        else { return nil }
        return moment(showing: date.dayNumber * CivilDate.dayMilliseconds)
    }

    /// Milliseconds since 1970-01-01, as if the wall's clock were UTC.
    private func shown(at instant: Instant) -> Int64 {
        instant.milliseconds + offset(at: instant)
    }

    private func moment(showing wall: Int64) -> Instant {
        let asUTC = Instant(milliseconds: wall)
        let before = offset(at: asUTC - Self.offsetMax)
        let after = offset(at: asUTC + Self.offsetMax)
        let candidates = [before, after].map { Instant(milliseconds: wall - $0) }
        return candidates.first { shown(at: $0) == wall } ?? candidates[0]
    }

    /// No place is further from UTC, and none changes twice within two of these.
    private static let offsetMax = Duration.hours(24)

    private func offset(at instant: Instant) -> Int64 {
        let seconds = changes.last { $0.at <= instant }?.seconds ?? secondsAtFirst
        return Int64(seconds) * 1000
    }
}
