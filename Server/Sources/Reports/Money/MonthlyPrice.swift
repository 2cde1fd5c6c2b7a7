import Ledger

/// The length of one period of a subscription, as App Store Connect declares it.
package enum PlanLength: Hashable, Sendable {
    case days(Int64)
    case months(Int64)
}

/// The monthly price of a period. A month has 365.25 ÷ 12 days, and a week has 7.
///
/// Documents do not contain the product's duration. If the configuration declares the product's
/// length, this length counts, whatever the length of a period is. Otherwise the length is taken
/// from the period itself, in whole days. Calendar months differ in length, and the App Store may
/// extend a period. So the longest usual duration that is not longer than the period counts.
package enum MonthlyPrice {
    /// The factor that converts a price of one period to the price of a month.
    private struct Factor {
        var numerator: Int64
        var denominator: Int64
    }

    /// The fewest days of each usual duration, from a week to a year.
    private static let usual: [(days: Int64, length: PlanLength)] = [
        (6, .days(7)), (12, .days(14)), (27, .months(1)), (58, .months(2)), (88, .months(3)),
        (179, .months(6)), (363, .months(12)),
    ]

    /// The lengths in days that RevenueCat counts as a usual duration.
    private static let usualInFourWeeks: [(days: ClosedRange<Int64>, length: PlanLength)] = [
        (6...8, .days(7)), (12...16, .days(14)), (27...33, .months(1)), (58...62, .months(2)),
        (88...95, .months(3)), (179...185, .months(6)), (363...375, .months(12)),
    ]

    private static let dayMilliseconds: Int64 = 86_400_000

    /// Converts the price of a period to the price of a month, in the same unit, rounded to the
    /// nearest.
    package static func monthly(_ price: Int64, from: Instant, until: Instant) -> Int64 {
        let days = days(from: from, until: until)
        // If a length lies between two usual durations, the period has the shorter duration, and
        // the App Store has extended it.
        return monthly(price, every: usual.last { $0.days <= days }?.length ?? .days(days))
    }

    package static func monthly(_ price: Int64, every length: PlanLength) -> Int64 {
        switch length {
        case .days(let days):
            rounded(price, times: Factor(numerator: 36_525, denominator: max(days, 1) * 1200))
        case .months(let months):
            rounded(price, times: Factor(numerator: 1, denominator: max(months, 1)))
        }
    }

    /// The monthly price if a month has four weeks, or 30 days for periods shorter than a week:
    /// RevenueCat's factors (its pages "MRR" and "Monthly Recurring Revenue (MRR) Chart").
    package static func ofFourWeeks(_ price: Int64, from: Instant, until: Instant) -> Int64 {
        let days = days(from: from, until: until)
        guard let usual = usualInFourWeeks.first(where: { $0.days.contains(days) }) else {
            return rounded(price, times: Factor(numerator: 28, denominator: days))
        }
        return ofFourWeeks(price, every: usual.length)
    }

    package static func ofFourWeeks(_ price: Int64, every length: PlanLength) -> Int64 {
        switch length {
        case .days(let days):
            rounded(
                price,
                times: Factor(numerator: days < 7 ? 30 : 28, denominator: max(days, 1)))
        case .months: monthly(price, every: length)
        }
    }

    /// The length of a period in whole days, at least one.
    private static func days(from: Instant, until: Instant) -> Int64 {
        let length = max((until - from).wholeMilliseconds, 1)
        return max((length + dayMilliseconds / 2) / dayMilliseconds, 1)
    }

    private static func rounded(_ price: Int64, times factor: Factor) -> Int64 {
        let product = price.multipliedFullWidth(by: factor.numerator)
        guard product.high == (Int64(bitPattern: product.low) < 0 ? -1 : 0) else { return 0 }
        return (Int64(bitPattern: product.low) + factor.denominator / 2) / factor.denominator
    }
}
