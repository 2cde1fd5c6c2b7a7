import Foundation
import Ledger
import Testing

@testable import Program

/// The days of reports, in time zones whose clocks change.
@Suite struct DayTests {
    private static let quarterHour: Int64 = 900_000

    // In Beirut and Cairo the clocks change at midnight, on Lord Howe by half an hour. Apia skipped
    // the day 2011-12-30.
    @Test(arguments: [
        "UTC", "Europe/Vienna", "America/New_York", "America/Los_Angeles", "America/Sao_Paulo",
        "America/Havana", "Asia/Beirut", "Africa/Cairo", "Australia/Lord_Howe", "Asia/Kathmandu",
        "Pacific/Apia", "Pacific/Kiritimati",
    ])
    func `the days of a time zone follow each other without gaps or overlaps`(zone: String) throws {
        let clock = WallClock(try #require(TimeZone(identifier: zone)))
        for (from, to) in [("2011-12-01", "2012-01-31"), ("2025-12-01", "2027-01-31")] {
            let first = try #require(CivilDate(from)).dayNumber
            let last = try #require(CivilDate(to)).dayNumber
            var problems: [String] = []
            var before = first - 1
            var begin = clock.midnight(ofDay: first)
            for day in first...last {
                let end = clock.midnight(ofDay: day + 1)
                var moment = begin.milliseconds
                while moment < end.milliseconds {
                    let found = clock.dayNumber(at: Instant(milliseconds: moment))
                    if found != day { problems.append("\(moment) is of day \(found), not \(day)") }
                    if found < before { problems.append("\(moment) goes back to \(found)") }
                    before = found
                    moment += Self.quarterHour
                }
                let length = end.milliseconds - begin.milliseconds
                if !(0...25 * 3_600_000).contains(length) {
                    problems.append("day \(day) lasts \(length) ms")
                }
                begin = end
            }
            #expect(problems.isEmpty, "\(problems.prefix(5))")
        }
    }
}
