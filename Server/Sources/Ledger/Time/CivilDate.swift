/// A date of the Gregorian calendar, without a time zone.
///
/// AppStoreFormats and PerennialContract contain the same algorithm, because none
/// of these modules may import another. This module does not use Foundation's calendar.
package struct CivilDate: Hashable, Sendable {
    package var year: Int64
    /// The number of the month, from 1.
    package var month: Int64
    /// The day of the month, from 1.
    package var day: Int64

    static let dayMilliseconds: Int64 = 86_400_000

    package init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// The date of a day counted from 1970-01-01. The calculation uses years that begin in March,
    /// so that the leap day comes last, and eras of 400 years, which repeat exactly.
    package init(dayNumber: Int64) {
        let (era, dayOfEra) = Self.floorDivide(dayNumber + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    }

    /// Days since 1970-01-01: the inverse of ``init(dayNumber:)``.
    package var dayNumber: Int64 {
        let (era, yearOfEra) = Self.floorDivide(month <= 2 ? year - 1 : year, by: 400)
        let marchMonth = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The date with the same day of the month, a number of months later. If that month has no such
    /// day, its last day.
    package func adding(months: Int) -> CivilDate {
        let (years, monthIndex) = Self.floorDivide(year * 12 + month - 1 + Int64(months), by: 12)
        let first = CivilDate(year: years, month: monthIndex + 1, day: 1)
        let next = CivilDate(
            year: monthIndex == 11 ? years + 1 : years, month: (monthIndex + 1) % 12 + 1, day: 1)
        let length = next.dayNumber - first.dayNumber
        return CivilDate(year: first.year, month: first.month, day: min(day, length))
    }

    /// Parses a date such as `2026-11-21`. Returns nil for any other text, and for a day that does
    /// not exist.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count == 10, parts.map(\.utf8.count) == [4, 2, 2],
            let year = Int64(parts[0]), let month = Int64(parts[1]), let day = Int64(parts[2]),
            year > 0, (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        self.init(year: year, month: month, day: day)
        guard CivilDate(dayNumber: dayNumber) == self else { return nil }
    }

    /// The date as `2026-11-21`.
    package var text: String {
        func padded(_ number: Int64, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    }

    /// The day of a moment counted in milliseconds since 1970-01-01, and the milliseconds into that
    /// day.
    static func dayAndRest(of milliseconds: Int64) -> (day: Int64, rest: Int64) {
        floorDivide(milliseconds, by: dayMilliseconds)
    }

    private static func floorDivide(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
        let (quotient, rest) = value.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
    }
}
