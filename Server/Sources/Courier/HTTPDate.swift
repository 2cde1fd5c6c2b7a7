import Foundation

/// Parses the HTTP dates of RFC 9110 §5.6.7.
enum HTTPDate {
    /// The current format of a date, `Sun, 06 Nov 1994 08:49:37 GMT`, and the two obsolete formats.
    private static let forms = [
        "EEE, dd MMM yyyy HH:mm:ss zzz", "EEEE, dd-MMM-yy HH:mm:ss zzz", "EEE MMM d HH:mm:ss yyyy",
    ]

    /// Parses a date as seconds since 1970. Returns nil if the text has none of the three formats.
    static func seconds(_ text: String) -> Int64? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        for form in forms {
            formatter.dateFormat = form
            if let date = formatter.date(from: text) { return Int64(date.timeIntervalSince1970) }
        }
        return nil
    }
}
