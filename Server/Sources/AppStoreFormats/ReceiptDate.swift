import Foundation

/// How receipts, and the answers about them, write moments: `2026-01-10T20:00:00Z` in a receipt;
/// three times over in JSON, as `2026-01-10 20:00:00 Etc/GMT`, as milliseconds in a string, and as
/// `2026-01-10 12:00:00 America/Los_Angeles`.
package enum ReceiptDate {
    /// As in a receipt: UTC, whole seconds.
    package static func text(_ moment: AppStoreDate) -> String {
        let (day, time) = civil(moment, offset: 0)
        return "\(day)T\(time)Z"
    }

    /// As people in London would read it, were there no summer time.
    package static func greenwich(_ moment: AppStoreDate) -> String {
        let (day, time) = civil(moment, offset: 0)
        return "\(day) \(time) Etc/GMT"
    }

    /// As people in Cupertino read it. The keys that hold it end in `_pst`, in summer too.
    package static func pacific(_ moment: AppStoreDate) -> String {
        let (day, time) = civil(moment, offset: offset(at: moment))
        return "\(day) \(time) America/Los_Angeles"
    }

    /// Reads all of these but bare milliseconds, and what Xcode writes: an offset with or without a
    /// colon. Nil for anything else.
    package static func moment(_ text: String) -> AppStoreDate? {
        let pattern =
            #/
            (\d{4})-(\d\d)-(\d\d)[T\ ](\d\d):(\d\d):(\d\d)
            (?:\.(\d{1,3})\d*)?
            (Z|[+-]\d\d:?\d\d|\ \S+)
            /#
        guard let match = text.wholeMatch(of: pattern)?.output,
            let year = Int(match.1), let month = Int(match.2), (1...12).contains(month),
            let day = Int(match.3), (1...CivilDate.days(inMonth: month, of: year)).contains(day),
            let hour = Int64(match.4), hour < 24, let minute = Int64(match.5), minute < 60,
            let second = Int64(match.6), second < 60
        else { return nil }
        let fraction = Int64(((match.7.map(String.init) ?? "") + "000").prefix(3)) ?? 0
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        let seconds = (hour * 60 + minute) * 60 + second
        let local = days * millisecondsPerDay + seconds * 1000 + fraction
        return moment(local, in: match.8)
    }

    private static let millisecondsPerDay: Int64 = 86_400_000
    /// The years 1 to 9999: four digits have no others. A moment before or after them, which only
    /// a forger writes, is spelled as the first or the last of them.
    private static let spelled: ClosedRange<Int64> = -62_135_510_400_000...253_402_214_400_000

    private static let zone: TimeZone = {
        guard let zone = TimeZone(identifier: "America/Los_Angeles") else {
            preconditionFailure("The time zone America/Los_Angeles is missing: install tzdata.")
        }
        return zone
    }()

    /// Milliseconds that the wall clock is ahead of UTC: below zero here.
    private static func offset(at moment: AppStoreDate) -> Int64 {
        let seconds = bounded(moment).flooredDivision(by: 1000)
        let instant = Date(timeIntervalSince1970: TimeInterval(seconds))
        return Int64(zone.secondsFromGMT(for: instant)) * 1000
    }

    private static func civil(
        _ moment: AppStoreDate, offset: Int64
    ) -> (day: String, time: String) {
        let local = bounded(moment) + offset
        let days = local.flooredDivision(by: millisecondsPerDay)
        let second = (local - days * millisecondsPerDay) / 1000
        let date = CivilDate(daysSince1970: days)
        let day = "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
        let parts = [second / 3600, second / 60 % 60, second % 60].map { padded(Int($0), 2) }
        return (day, parts.joined(separator: ":"))
    }

    private static func bounded(_ moment: AppStoreDate) -> Int64 {
        min(max(moment.milliseconds, spelled.lowerBound), spelled.upperBound)
    }

    private static func moment(_ local: Int64, in zone: Substring) -> AppStoreDate? {
        switch zone {
        case "Z", " Etc/GMT": return AppStoreDate(milliseconds: local)
        case " America/Los_Angeles":
            // The offset a day before holds, unless the clocks were changed since.
            let early = AppStoreDate(milliseconds: local + 8 * 3_600_000)
            return AppStoreDate(milliseconds: local - offset(at: early))
        default:
            let digits = zone.dropFirst().filter { $0 != ":" }
            guard digits.count == 4, let number = Int64(digits), number % 100 < 60 else {
                return nil
            }
            let minutes = (number / 100 * 60 + number % 100) * (zone.first == "-" ? -1 : 1)
            return AppStoreDate(milliseconds: local - minutes * 60_000)
        }
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
