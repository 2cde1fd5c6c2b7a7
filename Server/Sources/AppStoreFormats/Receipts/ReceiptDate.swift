import Foundation

/// The date formats of receipts and of responses about them. A receipt contains
/// `2026-01-10T20:00:00Z`. JSON has three fields for a date: `2026-01-10 20:00:00 Etc/GMT`,
/// milliseconds in a string, and `2026-01-10 12:00:00 America/Los_Angeles`.
package enum ReceiptDate {
    /// The format of a receipt: UTC, in whole seconds.
    package static func text(_ moment: AppStoreDate) -> String {
        let (day, time) = civil(moment, offset: 0)
        return "\(day)T\(time)Z"
    }

    /// The format in Greenwich time, without daylight saving.
    package static func greenwich(_ moment: AppStoreDate) -> String {
        let (day, time) = civil(moment, offset: 0)
        return "\(day) \(time) Etc/GMT"
    }

    /// The format in Cupertino's local time. The keys of such dates end in `_pst`, even in summer.
    package static func pacific(_ moment: AppStoreDate) -> String {
        let (day, time) = civil(moment, offset: offset(at: moment))
        return "\(day) \(time) America/Los_Angeles"
    }

    /// Parses all of these formats except plain milliseconds. Also parses Xcode's format, whose
    /// offset has a colon or none. Returns nil for any other text.
    package static func moment(_ text: String) -> AppStoreDate? {
        var text = text
        return text.withUTF8 { moment($0) }
    }

    /// Parses a date byte by byte. A receipt has several dates for each purchase, and a format
    /// pattern takes a hundred times as long.
    private static func moment(_ text: UnsafeBufferPointer<UInt8>) -> AppStoreDate? {
        let (dash, colon) = (UInt8(ascii: "-"), UInt8(ascii: ":"))
        guard text.count > 19, text[4] == dash, text[7] == dash, text[13] == colon,
            text[16] == colon, text[10] == UInt8(ascii: "T") || text[10] == UInt8(ascii: " "),
            let year = number(text[0..<4]), let month = number(text[5..<7]),
            (1...12).contains(month), let day = number(text[8..<10]),
            (1...CivilDate.days(inMonth: month, of: year)).contains(day),
            let hour = number(text[11..<13]), hour < 24,
            let minute = number(text[14..<16]), minute < 60,
            let second = number(text[17..<19]), second < 60
        else { return nil }
        var rest = text[19...]
        guard let fraction = fraction(removingFrom: &rest) else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        let seconds = Int64((hour * 60 + minute) * 60 + second)
        let local = days * millisecondsPerDay + seconds * 1000 + Int64(fraction)
        return moment(local, in: rest)
    }

    private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        var number = 0
        for byte in digits {
            guard isDigit(byte) else { return nil }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return number
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// The milliseconds of a fraction. Returns 0 if there is none, and nil if no digit follows the
    /// decimal point.
    private static func fraction(
        removingFrom text: inout Slice<UnsafeBufferPointer<UInt8>>
    ) -> Int? {
        guard text.first == UInt8(ascii: ".") else { return 0 }
        text = text.dropFirst()
        let digits = text.prefix(while: isDigit)
        text = text.dropFirst(digits.count)
        guard !digits.isEmpty else { return nil }
        let scale = [100, 10, 1][min(digits.count, 3) - 1]
        return number(digits.prefix(3)).map { $0 * scale }
    }

    private static let millisecondsPerDay: Int64 = 86_400_000
    /// The moments of the years 1 to 9999, the only years with four digits. Moments outside this
    /// range, which only forgeries contain, are replaced by the nearest moment in it.
    private static let representable: ClosedRange<Int64> = -62_135_510_400_000...253_402_214_400_000

    private static let zone: TimeZone = {
        guard let zone = TimeZone(identifier: "America/Los_Angeles") else {
            preconditionFailure("the time zone America/Los_Angeles is missing: install tzdata")
        }
        return zone
    }()

    /// The milliseconds by which local time is ahead of UTC. Negative in Cupertino.
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
        min(max(moment.milliseconds, representable.lowerBound), representable.upperBound)
    }

    private static func moment(
        _ local: Int64, in zone: Slice<UnsafeBufferPointer<UInt8>>
    ) -> AppStoreDate? {
        if zone.elementsEqual("Z".utf8) || zone.elementsEqual(" Etc/GMT".utf8) {
            return AppStoreDate(milliseconds: local)
        }
        if zone.elementsEqual(" America/Los_Angeles".utf8) {
            // Interprets the time as PST first. This is correct before and after a change between
            // PST and PDT. For the hour that occurs twice, it gives the second occurrence.
            let asStandard = AppStoreDate(milliseconds: local + 8 * 3_600_000)
            return AppStoreDate(milliseconds: local - offset(at: asStandard))
        }
        // A plus sign may have been converted to a space by URL decoding.
        let digits = Array(zone.dropFirst())
        guard let sign = zone.first, [UInt8(ascii: "+"), UInt8(ascii: "-"), 0x20].contains(sign),
            digits.count == 4 || digits.count == 5 && digits[2] == UInt8(ascii: ":")
        else { return nil }
        let bare = digits.prefix(2) + digits.suffix(2)
        guard bare.allSatisfy(isDigit) else { return nil }
        let values = bare.map { Int64($0 - UInt8(ascii: "0")) }
        let (hours, minutes) = (values[0] * 10 + values[1], values[2] * 10 + values[3])
        guard minutes < 60 else { return nil }
        let offset = (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -1 : 1)
        return AppStoreDate(milliseconds: local - offset * 60_000)
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
