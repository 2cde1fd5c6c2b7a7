/// Counts the requests of the current minute, and of each path.
struct RateCounter: Sendable {
    private static let minute: Int64 = 60_000

    private var minutes: [RevenueCatDouble.RateLimits.Domain: (start: Int64, count: Int)] = [:]
    private(set) var total = 0
    private var attempts: [String: Int] = [:]

    /// Counts a request for a path. Returns the number of earlier ones.
    mutating func attempt(_ path: String) -> Int {
        total += 1
        defer { attempts[path, default: 0] += 1 }
        return attempts[path] ?? 0
    }

    enum Outcome {
        case allowed(usage: Int, limit: Int)
        /// Too many requests in this minute; the milliseconds that are left of it.
        case refused(milliseconds: Int64)
    }

    /// Counts a request against the limits.
    mutating func count(
        _ domain: RevenueCatDouble.RateLimits.Domain, _ limits: RevenueCatDouble.RateLimits
    ) -> Outcome {
        let now = limits.milliseconds()
        var minute = minutes[domain] ?? (now, 0)
        if now - minute.start >= Self.minute { minute = (now, 0) }
        let limit = limits.perMinute[domain] ?? .max
        guard minute.count < limit else {
            return .refused(milliseconds: minute.start + Self.minute - now)
        }
        minute.count += 1
        minutes[domain] = minute
        return .allowed(usage: minute.count, limit: limit)
    }
}
