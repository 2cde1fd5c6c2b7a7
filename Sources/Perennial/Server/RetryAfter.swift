internal import Foundation

/// How long a server wants no requests (RFC 9110 §10.2.3): a number of seconds, or a date.
struct RetryAfter: Sendable {
    /// The longest wait that is obeyed, in seconds.
    static let secondsMax = 3600

    /// The wait in seconds, from 0 to ``secondsMax``.
    var seconds: Int

    /// Parses the header `Retry-After`. Nil if the header is missing, or is neither a number nor a
    /// date.
    ///
    /// - Parameter date: the answer's `Date` header. The wait until a date is counted from this
    ///   header, because the device's clock may be wrong. If the header is missing, the device's
    ///   clock counts.
    init?(_ header: String?, date: String?) {
        guard let text = header?.trimmingCharacters(in: .whitespaces) else { return nil }
        if let number = Int(text) {
            seconds = min(max(number, 0), Self.secondsMax)
        } else if let end = Self.date(text) {
            let wait = end.timeIntervalSince(date.flatMap(Self.date) ?? Date())
            seconds = Int(min(max(wait.rounded(.up), 0), Double(Self.secondsMax)))
        } else {
            return nil
        }
    }

    /// The three forms of dates in RFC 9110 §5.6.7. The last two are obsolete.
    private static let forms = [
        "EEE, dd MMM yyyy HH:mm:ss zzz", "EEEE, dd-MMM-yy HH:mm:ss zzz", "EEE MMM d HH:mm:ss yyyy",
    ]

    private static func date(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        for form in forms {
            formatter.dateFormat = form
            if let date = formatter.date(from: text) { return date }
        }
        return nil
    }
}
