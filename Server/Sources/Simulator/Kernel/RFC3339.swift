import AppStoreFormats

/// Times as the simulator's HTTP responses write them: RFC 3339, UTC, with milliseconds.
enum RFC3339 {
    static let millisecondsPerDay: Int64 = 86_400_000

    /// Formats a moment, such as `2026-03-08T10:00:00.000Z`.
    static func text(_ moment: AppStoreDate) -> String {
        let day = moment.milliseconds.flooredDivision(by: millisecondsPerDay)
        let rest = moment.milliseconds - day * millisecondsPerDay
        let date = CivilDate(daysSince1970: day)
        let time = [rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60].map { padded($0, 2) }
        return padded(Int64(date.year), 4) + "-" + padded(Int64(date.month), 2) + "-"
            + padded(Int64(date.day), 2) + "T" + time.joined(separator: ":") + "."
            + padded(rest % 1000, 3) + "Z"
    }

    /// Parses a time with `Z` or an offset. Digits beyond milliseconds are truncated. Returns nil
    /// for any other text.
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
