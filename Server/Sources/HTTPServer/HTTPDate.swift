import PerennialContract

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The field `Date` of an answer (RFC 9110, 5.6.7), put together once a second.
struct HTTPDate {
    /// Since 1970-01-01 UTC: what can be written with the four digits that HTTP has for a year,
    /// 0000-01-01T00:00:00 to 9999-12-31T23:59:59. The first day of them was a Saturday.
    private static let seconds: ClosedRange<Int64> = -62_167_219_200...253_402_300_799
    private static let days = ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private var second: Int64?
    private var text = ""

    /// Of the machine's clock, as the framework's: the engine's may be virtual.
    mutating func now() -> String {
        let second = Int64(Date().timeIntervalSince1970.rounded(.down))
        if second != self.second {
            self.second = second
            text = Self.text(second)
        }
        return text
    }

    /// - Parameter second: since 1970-01-01 UTC; a clock that stands before the year 0, or behind
    ///   9999, is told as the first or the last second that can be written.
    static func text(_ second: Int64) -> String {
        let second = min(max(second, seconds.lowerBound), seconds.upperBound)
        // 2026-11-21T08:30:00.000Z
        let parts = Timestamp(milliseconds: second * 1000).description
            .split { "-T.".contains($0) }
        let day = days[Int((second - seconds.lowerBound) / 86_400 % 7)]
        let month = months[(Int(parts[1]) ?? 1) - 1]
        return "\(day), \(parts[2]) \(month) \(parts[0]) \(parts[3]) GMT"
    }
}
