import PerennialContract

/// A moment in the UTC calendar, and the ways in which pages write it.
package struct CivilTime: Hashable, Sendable {
    let year: Int
    let month: Int
    let day: Int
    let hour: Int
    let minute: Int
    let second: Int
    /// The day of the week. 0 is Sunday.
    let weekday: Int

    init(_ timestamp: Timestamp) {
        // 2026-11-24T09:00:00.000Z; the year may have a sign and more digits.
        let text = timestamp.description
        let parts = text.split(separator: "T")
        let date = parts[0].split(separator: "-").compactMap { Int($0) }
        let time = parts[1].prefix(8).split(separator: ":").compactMap { Int($0) }
        (year, month, day) = (
            text.hasPrefix("-") ? -date[0] : date[0], date[date.count - 2], date[date.count - 1]
        )
        (hour, minute, second) = (time[0], time[1], time[2])
        let days = Int((Double(timestamp.milliseconds) / 86_400_000).rounded(.down))
        weekday = ((days + 4) % 7 + 7) % 7
    }

    /// The English names of the months.
    package static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ]
    private static let weekdays = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]

    var monthName: String { Self.months[month - 1] }
    var shortMonth: String { String(monthName.prefix(3)) }
    var weekdayName: String { Self.weekdays[weekday] }
    /// `09:00`
    var clock: String { "\(twoDigits(hour)):\(twoDigits(minute))" }
    /// `09:00:12`
    var clockWithSeconds: String { "\(clock):\(twoDigits(second))" }
    /// `24 Nov 2026`
    var date: String { "\(day) \(shortMonth) \(year)" }
    /// `24 November 2026`
    var longDate: String { "\(day) \(monthName) \(year)" }
    /// `2026-11-24`, as fields of forms need it.
    var isoDate: String { "\(year)-\(twoDigits(month))-\(twoDigits(day))" }
    /// `2026-11-24T09:00`, as fields of forms need it.
    var isoMinute: String { "\(isoDate)T\(clock)" }

    private func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    func isSameDay(as other: CivilTime) -> Bool {
        (year, month, day) == (other.year, other.month, other.day)
    }
}

extension Frame {
    /// `24 Nov 2026, 09:00 UTC`, and today only `09:00 UTC`.
    func time(_ timestamp: Timestamp) -> String {
        let (civil, today) = (CivilTime(timestamp), CivilTime(now))
        return civil.isSameDay(as: today)
            ? "\(civil.clock) UTC" : "\(civil.date), \(civil.clock) UTC"
    }

    /// `24 November 2026, 09:00 UTC`, where a sentence must stand alone.
    func longTime(_ timestamp: Timestamp) -> String {
        let civil = CivilTime(timestamp)
        return "\(civil.longDate), \(civil.clock) UTC"
    }

    /// `09:00` today, `23 Nov 22:14` this year, and otherwise `23 Nov 2025`.
    func shortTime(_ timestamp: Timestamp) -> String {
        let (civil, today) = (CivilTime(timestamp), CivilTime(now))
        if civil.isSameDay(as: today) { return civil.clock }
        return civil.year == today.year
            ? "\(civil.day) \(civil.shortMonth) \(civil.clock)" : civil.date
    }

    /// `4 Dec`, with the year if it is not the present year.
    func day(_ timestamp: Timestamp) -> String {
        let (civil, today) = (CivilTime(timestamp), CivilTime(now))
        return civil.year == today.year ? "\(civil.day) \(civil.shortMonth)" : civil.date
    }

    /// The time since a moment, in one unit: `12 s`, `12 min`, `5 h`, `3 days`.
    func span(since timestamp: Timestamp) -> String {
        Duration.short(milliseconds: max(0, now.milliseconds - timestamp.milliseconds))
    }

    /// A `time` element with the machine-readable time. The element's text is ``shortTime(_:)``.
    func element(_ timestamp: Timestamp) -> Markup {
        "<time datetime=\"\(timestamp.description)\">\(shortTime(timestamp))</time>"
    }
}

extension Duration {
    /// The span in one unit, truncated: `12 s`, `12 min`, `5 h`, `3 days`.
    static func short(milliseconds: Int64) -> String {
        let seconds = milliseconds / 1000
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3600) h"
        default: return "\(seconds / 86_400) days"
        }
    }

    /// The next longer span in the same unit, at least one second, for sentences with “under”.
    static func longer(milliseconds: Int64) -> String {
        let unit: Int64 =
            switch milliseconds {
            case ..<60_000: 1000
            case ..<3_600_000: 60_000
            case ..<172_800_000: 3_600_000
            default: 86_400_000
            }
        return short(milliseconds: milliseconds + unit)
    }
}
