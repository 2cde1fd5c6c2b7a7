import AppStoreFormats

/// Parses the HTTP `Date` format (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let millisecondsPerDay: Int64 = 86_400_000

    /// Parses a date. Returns nil for anything else, including the two obsolete formats. The
    /// weekday is not checked.
    static func moment(_ text: String) -> AppStoreDate? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].utf8.count == 4, parts[0].hasSuffix(","),
            parts[5] == "GMT", let day = number(parts[1], digits: 2),
            let month = months.firstIndex(where: { $0 == parts[2] }).map({ $0 + 1 }),
            let year = number(parts[3], digits: 4),
            (1...CivilDate.days(inMonth: month, of: year)).contains(day),
            let seconds = secondOfDay(parts[4])
        else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        return AppStoreDate(milliseconds: days * millisecondsPerDay + Int64(seconds) * 1000)
    }

    /// The seconds since midnight. A leap second counts as the first second of the next minute.
    private static func secondOfDay(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = number(parts[0], digits: 2), hour < 24,
            let minute = number(parts[1], digits: 2), minute < 60,
            let second = number(parts[2], digits: 2), second <= 60
        else { return nil }
        return (hour * 60 + minute) * 60 + second
    }

    private static func number(_ text: Substring, digits: Int) -> Int? {
        let isNumber = text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        return isNumber && text.utf8.count == digits ? Int(text) : nil
    }
}
