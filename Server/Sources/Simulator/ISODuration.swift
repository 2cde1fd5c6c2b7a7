/// A length of time as ISO 8601 writes it: `P31D`, `P1M`, `PT1H30M`, `P1Y2M3W4DT5H6M7S`.
///
/// Years, months, weeks and days are of the store's calendar (see ``StoreCalendar``), so that `P1M`
/// after a purchase is exactly when it renews; hours, minutes and seconds are exact.
package struct ISODuration: Hashable, Sendable {
    package var months: Int
    package var days: Int
    package var milliseconds: Int64

    /// The largest number before one unit.
    package static let countMax = 1_000_000

    package init(months: Int = 0, days: Int = 0, milliseconds: Int64 = 0) {
        self.months = months
        self.days = days
        self.milliseconds = milliseconds
    }

    package static func days(_ days: Int) -> Self { Self(days: days) }
    package static func hours(_ hours: Int) -> Self { Self(milliseconds: Int64(hours) * 3_600_000) }
    package static func months(_ months: Int) -> Self { Self(months: months) }

    /// Nil for text that is no duration, for a negative one, and for one without any unit.
    package init?(_ text: String) {
        let pattern =
            #/
            P (?:(\d+)Y)? (?:(\d+)M)? (?:(\d+)W)? (?:(\d+)D)?
            (?: T (?:(\d+)H)? (?:(\d+)M)? (?:(\d+) (?:\.(\d{1,3}))? S)? )?
            /#
        guard let match = text.wholeMatch(of: pattern)?.output, text.last?.isNumber == false,
            text.last != "P", text.last != "T"
        else { return nil }
        let parts = [match.1, match.2, match.3, match.4, match.5, match.6, match.7]
        let counts = parts.map { part in part.map { Int($0) ?? .max } ?? 0 }
        guard counts.allSatisfy({ $0 <= Self.countMax }) else { return nil }
        let decimals = (match.8.map(String.init) ?? "0") + "00"
        months = counts[0] * 12 + counts[1]
        days = counts[2] * 7 + counts[3]
        milliseconds = Int64(counts[4]) * 3_600_000 + Int64(counts[5]) * 60_000
        milliseconds += Int64(counts[6]) * 1000 + (Int64(decimals.prefix(3)) ?? 0)
    }
}
