import AppStoreFormats

/// Times as our own HTTP answers write them: RFC 3339, UTC, milliseconds.
enum RFC3339 {
    static let millisecondsPerDay: Int64 = 86_400_000

    /// Such as `2026-03-08T10:00:00.000Z`.
    static func text(_ moment: AppStoreDate) -> String {
        let day = moment.milliseconds.flooredDivision(by: millisecondsPerDay)
        let rest = moment.milliseconds - day * millisecondsPerDay
        let date = CivilDate(daysSince1970: day)
        let time = [rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60].map { padded($0, 2) }
        return padded(Int64(date.year), 4) + "-" + padded(Int64(date.month), 2) + "-"
            + padded(Int64(date.day), 2) + "T" + time.joined(separator: ":") + "."
            + padded(rest % 1000, 3) + "Z"
    }

    /// Reads a time with `Z` or an offset; digits beyond milliseconds are cut off. Nil for anything
    /// else.
    static func moment(_ text: String) -> AppStoreDate? {
        let pattern =
            #/(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)/#
        guard let match = text.wholeMatch(of: pattern)?.output,
            let year = Int(match.1), let month = Int(match.2), (1...12).contains(month),
            let day = Int(match.3), (1...CivilDate.days(inMonth: month, of: year)).contains(day),
            let hour = Int64(match.4), hour < 24, let minute = Int64(match.5), minute < 60,
            let second = Int64(match.6), second < 60,
            let offset = offsetMinutes(match.8)
        else { return nil }
        let decimals = (match.7.map(String.init) ?? "0") + "00"
        let fraction = Int64(decimals.prefix(3)) ?? 0
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        let minutes = hour * 60 + minute - offset
        let rest = minutes * 60_000 + second * 1000 + fraction
        return AppStoreDate(milliseconds: days * millisecondsPerDay + rest)
    }

    private static func offsetMinutes(_ text: Substring) -> Int64? {
        guard text.count == 6 else { return 0 }
        guard let hours = Int64(text.dropFirst().prefix(2)), hours < 24,
            let minutes = Int64(text.suffix(2)), minutes < 60
        else { return nil }
        return (text.first == "-" ? -1 : 1) * (hours * 60 + minutes)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}

/// A day of the Gregorian calendar.
struct CivilDate: Hashable, Sendable {
    var year: Int
    /// 1 to 12.
    var month: Int
    /// From 1.
    var day: Int

    init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day that begins so many days after 1970-01-01. Counts in years from March, so that the
    /// leap day comes last.
    init(daysSince1970 days: Int64) {
        let shifted = days + 719_468
        let era = shifted.flooredDivision(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
        month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
    }

    var daysSince1970: Int64 {
        let year = Int64(month <= 2 ? self.year - 1 : self.year)
        let era = year.flooredDivision(by: 400)
        let yearOfEra = year - era * 400
        let dayOfYear = Int64((153 * ((month + 9) % 12) + 2) / 5 + day - 1)
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    static func days(inMonth month: Int, of year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        switch month {
        case 2: return isLeap ? 29 : 28
        case 4, 6, 9, 11: return 30
        default: return 31
        }
    }
}

extension Int64 {
    /// Division that rounds down, also below zero.
    func flooredDivision(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
