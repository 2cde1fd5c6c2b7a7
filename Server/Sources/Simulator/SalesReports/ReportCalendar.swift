import AppStoreFormats
import Foundation

/// The days of reports: from midnight to midnight in the time zone of the developer's agreement.
struct ReportCalendar: Sendable {
    private static let hourMilliseconds: Int64 = 3_600_000

    let zone: TimeZone

    func day(of moment: AppStoreDate) -> CivilDate {
        let local = moment.milliseconds + offset(at: moment.milliseconds)
        return CivilDate(
            daysSince1970: local.flooredDivision(by: RFC3339.millisecondsPerDay))
    }

    /// The time from the beginning of the first day to the end of the last.
    func span(from first: CivilDate, to last: CivilDate) -> Range<AppStoreDate> {
        moment(first)..<moment(CivilDate(daysSince1970: last.daysSince1970 + 1))
    }

    /// The moment of an hour of a day. An hour that the clocks skip counts as the next hour.
    func moment(_ day: CivilDate, hour: Int64 = 0) -> AppStoreDate {
        let local = day.daysSince1970 * RFC3339.millisecondsPerDay + hour * Self.hourMilliseconds
        // The offset may change on this day. An offset is right if it still applies at the moment
        // that is computed with it.
        let offsets = [-1, 1].map { offset(at: local + $0 * RFC3339.millisecondsPerDay) }
        let right = offsets.first { offset(at: local - $0) == $0 } ?? offsets[0]
        return AppStoreDate(milliseconds: local - right)
    }

    private func offset(at milliseconds: Int64) -> Int64 {
        let seconds = milliseconds.flooredDivision(by: 1000)
        let instant = Date(timeIntervalSince1970: TimeInterval(seconds))
        return Int64(zone.secondsFromGMT(for: instant)) * 1000
    }
}
