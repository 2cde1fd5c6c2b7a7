/// A date of the Gregorian calendar, without a time zone.
///
/// The server's Ledger contains the same algorithm: Ledger imports nothing, and modules that apps
/// import must not contain server code. Foundation would be a heavy dependency for a few lines. The
/// calculation uses years that begin in March, so that the leap day is the last day, and eras of
/// 400 years, which repeat exactly.
package struct CivilDate: Hashable {
    package var year: Int64
    /// The month, from 1 to 12.
    package var month: Int64
    /// The day of the month, from 1.
    package var day: Int64

    package static let dayMilliseconds: Int64 = 86_400_000

    package init(year: Int64, month: Int64, day: Int64) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// The date that is a number of days after 1970-01-01.
    package init(dayNumber: Int64) {
        let (era, dayOfEra) = Self.floorDivide(dayNumber + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    }

    /// The number of days from 1970-01-01 to the date.
    package var dayNumber: Int64 {
        let (era, yearOfEra) = Self.floorDivide(month <= 2 ? year - 1 : year, by: 400)
        let marchMonth = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The same day of a later month, or the last day of that month if it has no such day.
    package func adding(months: Int) -> CivilDate {
        let (years, monthIndex) = Self.floorDivide(year * 12 + month - 1 + Int64(months), by: 12)
        let first = CivilDate(year: years, month: monthIndex + 1, day: 1)
        let next = CivilDate(
            year: monthIndex == 11 ? years + 1 : years, month: (monthIndex + 1) % 12 + 1, day: 1)
        let length = next.dayNumber - first.dayNumber
        return CivilDate(year: first.year, month: first.month, day: min(day, length))
    }

    /// Converts milliseconds since 1970-01-01 to the number of whole days and the rest in
    /// milliseconds.
    package static func dayAndRest(of milliseconds: Int64) -> (day: Int64, rest: Int64) {
        floorDivide(milliseconds, by: dayMilliseconds)
    }

    private static func floorDivide(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
        let (quotient, rest) = value.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
    }
}
