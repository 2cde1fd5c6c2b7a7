import Foundation
import Ledger

extension WallClock {
    /// The years for which clock changes are looked up. Apple sold the first apps in the first of
    /// these years. The last of these years is far enough ahead for any term. Outside of these
    /// years, the nearest known offset applies.
    private static let years = 2008...2150

    /// The time zone of the App Store's agreement, in which the App Store counts days: Pacific
    /// time.
    package static let appStore =
        TimeZone(identifier: "America/Los_Angeles").map { WallClock($0) } ?? .utc

    /// Creates a clock from the machine's data of a time zone.
    ///
    /// Compares each day with the next day. If their offsets differ, searches for the second of the
    /// change. So it works for any kind of clock change.
    package init(_ zone: TimeZone) {
        let start = Self.start(of: Self.years.lowerBound)
        let end = Self.start(of: Self.years.upperBound)
        var changes: [Change] = []
        var day = start
        while day < end {
            let next = day + 86_400
            if zone.seconds(at: day) != zone.seconds(at: next) {
                let moment = Self.change(in: zone, after: day, upTo: next)
                changes.append(
                    Change(
                        at: Instant(milliseconds: moment * 1000), seconds: zone.seconds(at: moment))
                )
            }
            day = next
        }
        self.init(
            name: zone.identifier, secondsAtFirst: zone.seconds(at: start), changes: changes)
    }

    /// Returns the first second with the offset that applies at `late` but not at `early`.
    private static func change(in zone: TimeZone, after early: Int64, upTo late: Int64) -> Int64 {
        var (before, after) = (early, late)
        let new = zone.seconds(at: late)
        while after - before > 1 {
            let middle = (before + after) / 2
            if zone.seconds(at: middle) == new { after = middle } else { before = middle }
        }
        return after
    }

    private static func start(of year: Int) -> Int64 {
        Int64(year - 1970) * 31_556_952
    }
}

extension TimeZone {
    fileprivate func seconds(at moment: Int64) -> Int {
        secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(moment)))
    }
}
