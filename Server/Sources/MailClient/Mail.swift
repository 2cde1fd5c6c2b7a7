import Foundation

/// A mail in plain text that a program sends.
package struct Mail: Hashable, Sendable {
    /// The maximum length of a subject, in Unicode scalars.
    static let subjectScalarsMax = 200
    /// The maximum length of a body, in Unicode scalars.
    static let bodyScalarsMax = 50_000

    /// The same for each attempt, so that mail systems can recognise a repetition.
    package var id: String
    package var from: MailAddress
    package var to: [MailAddress]
    package var subject: String
    package var body: String
    /// The time of the mail, in seconds since 1970.
    package var seconds: Int64

    package init(
        id: String, from: MailAddress, to: [MailAddress], subject: String, body: String,
        seconds: Int64
    ) {
        (self.id, self.from, self.to) = (id, from, to)
        (self.subject, self.body, self.seconds) = (subject, body, seconds)
    }

    /// The mail as RFC 5322 writes it: ASCII in short lines that end with CRLF. No value can begin
    /// another header.
    var text: String {
        [
            "Date: \(Self.date(seconds))", "From: \(from)",
            "To: \(to.map(\.text).joined(separator: ",\r\n "))",
            "Message-ID: <\(Self.plain(id))@\(from.domain)>",
            "Subject: \(MailText.header(Self.limited(subject, Self.subjectScalarsMax)))",
            "Auto-Submitted: auto-generated", "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: quoted-printable", "",
            MailText.quotedPrintable(Self.limited(body, Self.bodyScalarsMax)), "",
        ].joined(separator: "\r\n")
    }

    private static func limited(_ text: String, _ max: Int) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(max)))
    }

    private static func plain(_ id: String) -> String {
        id.filter { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// A time in UTC, such as `Mon, 30 Nov 2026 21:29:21 +0000` (RFC 5322 §3.3).
    private static func date(_ seconds: Int64) -> String {
        var (time, parts) = (time_t(seconds), tm())
        gmtime_r(&time, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday))"
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(two).joined(separator: ":")
        return "\(day) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1_900) \(clock) +0000"
    }
}
