package import PerennialContract

/// The local time of one place. A function returns the offsets from UTC, because this module does
/// not read the device's table of time zones.
package struct WallClock: Sendable {
    package static let utc = WallClock { _ in 0 }

    private let seconds: @Sendable (Timestamp) -> Int

    /// - Parameter seconds: returns how many seconds the place is east of UTC at a moment.
    package init(seconds: @escaping @Sendable (Timestamp) -> Int) { self.seconds = seconds }

    /// Adds a number of calendar months, and then a number of days, to a start, and keeps the local
    /// time of day. If the month has no such day, its last day is used. A local time that the
    /// clocks skip moves later by the skipped interval. If a local time occurs twice, the first
    /// occurrence counts.
    package func moment(months: Int, days: Int, after start: Timestamp) -> Timestamp {
        let (day, time) = CivilDate.dayAndRest(of: localMilliseconds(at: start))
        let date = CivilDate(dayNumber: day).adding(months: months)
        return moment(showing: (date.dayNumber + Int64(days)) * CivilDate.dayMilliseconds + time)
    }

    /// The local time of a moment in milliseconds since 1970-01-01, as if local time were UTC.
    private func localMilliseconds(at moment: Timestamp) -> Int64 {
        moment.milliseconds + offset(at: moment)
    }

    private func moment(showing wall: Int64) -> Timestamp {
        let candidates = [-Self.offsetMax, Self.offsetMax].map { distance in
            Timestamp(milliseconds: wall - offset(at: Timestamp(milliseconds: wall + distance)))
        }
        return candidates.first { localMilliseconds(at: $0) == wall } ?? candidates[0]
    }

    /// The largest offset from UTC, in milliseconds. No place changes its offset twice within two
    /// days.
    private static let offsetMax: Int64 = 24 * 3_600_000

    private func offset(at moment: Timestamp) -> Int64 { Int64(seconds(moment)) * 1000 }
}
