import Foundation
import Ledger

extension WallClock {
    /// The years for which changes of the clocks are looked up: the first in which Apple sold an
    /// app, and far enough ahead for any term. Outside these the nearest known offset holds.
    private static let years = 2008...2150

    /// The machine's table of a time zone, as a value.
    ///
    /// Each day is looked at, and where two differ the second between them is searched: so it does
    /// not matter why the clocks were changed.
    init(_ zone: TimeZone) {
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

    /// The first second at which the clocks show what they show at `late`, and not at `early`.
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
