import AppStoreFormats

/// How fast a subscription's time passes: real time in production, minutes for months in the
/// sandbox, a day for every period in TestFlight.
package enum Pace: Hashable, Sendable {
    case realTime
    case monthly(Speed)
    /// Every period has the same length, in milliseconds.
    case every(Int64)

    /// The length of a month, in seconds: Apple's rates for sandbox testers, and Xcode's fastest
    /// rate.
    package enum Speed: Int, Hashable, Sendable, CaseIterable {
        case thirtySeconds = 30
        case threeMinutes = 180
        case fiveMinutes = 300
        case fifteenMinutes = 900
        case thirtyMinutes = 1800
        case oneHour = 3600
    }

    /// TestFlight renews every subscription daily, whatever its period.
    package static let testFlight = every(86_400_000)

    /// Apple's table of accelerated times, in seconds. The table contains the grace periods that
    /// stand for 6 days (weekly) and for 16 days. The values are not proportional to the month, so
    /// there is no formula. Apple documents no grace and retry for three minutes: those values
    /// follow the pattern of the other rows.
    private struct Lengths {
        let week: Int64
        let month: Int64
        let weeklyGrace: Int64
        let grace: Int64
        let retry: Int64

        init(_ week: Int64, _ month: Int64, _ weeklyGrace: Int64, _ grace: Int64, _ retry: Int64) {
            (self.week, self.month, self.weeklyGrace) = (week, month, weeklyGrace)
            (self.grace, self.retry) = (grace, retry)
        }
    }

    private static func lengths(_ speed: Speed) -> Lengths {
        switch speed {
        case .thirtySeconds: Lengths(10, 30, 9, 15, 60)
        case .threeMinutes: Lengths(180, 180, 154, 90, 360)
        case .fiveMinutes: Lengths(180, 300, 154, 150, 600)
        case .fifteenMinutes: Lengths(300, 900, 257, 450, 1800)
        case .thirtyMinutes: Lengths(600, 1800, 514, 900, 3600)
        case .oneHour: Lengths(900, 3600, 771, 1800, 7200)
        }
    }

    /// The length of a period in milliseconds. Nil if the calendar determines the length.
    func length(of period: BillingPeriod) -> Int64? {
        switch self {
        case .realTime: return nil
        case .every(let length): return length
        case .monthly(let speed):
            let lengths = Self.lengths(speed)
            switch period.unit {
            case .month, .year: return Int64(period.months) * lengths.month * 1000
            case .week: return Int64(period.count) * lengths.week * 1000
            // Only offers have periods of days. They are never shorter than a weekly renewal.
            case .day:
                let days = Int64(period.count) * lengths.month * 1000 / 30
                return max(days, lengths.week * 1000)
            }
        }
    }

    /// The length of a number of days in milliseconds. Nil if the calendar determines the length.
    func length(ofDays days: Int) -> Int64? {
        switch self {
        case .realTime: nil
        case .every(let length): Int64(days) * length / 30
        case .monthly(let speed): Int64(days) * Self.lengths(speed).month * 1000 / 30
        }
    }

    /// The length of the grace period in milliseconds. Nil if the calendar determines the length.
    func graceLength(days: Int, isWeekly: Bool) -> Int64? {
        switch self {
        case .realTime: return nil
        case .every(let length): return length
        case .monthly(let speed):
            let lengths = Self.lengths(speed)
            return isWeekly
                ? lengths.weeklyGrace * 1000 * Int64(days) / 6
                : lengths.grace * 1000 * Int64(days) / 16
        }
    }

    /// How long a failed payment is retried, in milliseconds; `days` is this duration in real time,
    /// normally 60 days. Nil if the calendar determines the length.
    func retryLength(days: Int) -> Int64? {
        switch self {
        case .realTime: nil
        case .every(let length): 2 * length * Int64(days) / 60
        case .monthly(let speed): Self.lengths(speed).retry * 1000 * Int64(days) / 60
        }
    }

    /// The length in milliseconds of an interruption after which the subscription time starts
    /// again. Nil if this length is 60 calendar days.
    var gapLength: Int64? {
        switch self {
        case .realTime: nil
        // Apple documents this value for all rates of the sandbox.
        case .every, .monthly: 600_000
        }
    }
}
