import PerennialContract

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The field `Date` of an answer (RFC 9110, 5.6.7), put together once a second.
struct HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private var second: Int64?
    private var text = ""

    /// Of the machine's clock, as the framework's: the engine's may be virtual.
    mutating func now() -> String {
        let second = Int64(Date().timeIntervalSince1970)
        if second != self.second {
            self.second = second
            text = Self.text(second)
        }
        return text
    }

    /// - Parameter second: since 1970-01-01 UTC, which was a Thursday.
    static func text(_ second: Int64) -> String {
        // 2026-11-21T08:30:00.000Z
        let parts = Timestamp(milliseconds: second * 1000).description
            .split { "-T.".contains($0) }
        let day = days[Int(second / 86_400 % 7)]
        let month = months[(Int(parts[1]) ?? 1) - 1]
        return "\(day), \(parts[2]) \(month) \(parts[0]) \(parts[3]) GMT"
    }
}
