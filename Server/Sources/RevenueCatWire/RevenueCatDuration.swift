import Ledger

/// The durations of a granted entitlement, by RevenueCat's names.
package enum RevenueCatDuration: String, Sendable, CaseIterable {
    case daily
    case threeDay = "three_day"
    case weekly
    case twoWeek = "two_week"
    case monthly
    case twoMonth = "two_month"
    case threeMonth = "three_month"
    case sixMonth = "six_month"
    case yearly
    case lifetime

    /// The end of a grant, in the calendar of UTC. Returns nil if the grant never ends.
    package func until(after start: Instant) -> Instant? {
        let (months, days): (Int, Int) =
            switch self {
            case .daily: (0, 1)
            case .threeDay: (0, 3)
            case .weekly: (0, 7)
            case .twoWeek: (0, 14)
            case .monthly: (1, 0)
            case .twoMonth: (2, 0)
            case .threeMonth: (3, 0)
            case .sixMonth: (6, 0)
            case .yearly: (12, 0)
            case .lifetime: (0, 0)
            }
        return self == .lifetime
            ? nil : WallClock.utc.moment(months: months, days: days, after: start)
    }
}
