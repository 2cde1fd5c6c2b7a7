import Ledger

/// What a period's price is a month. A month is 365.25 ÷ 12 days; a week is 7 of them.
///
/// The length is taken from the period itself, in whole days, because documents do not name the
/// product's duration. Calendar months differ in length, and the App Store may extend a period, so
/// that a length counts as the usual duration that it reaches.
package enum MonthlyPrice {
    /// How a price of one period becomes the price of a month.
    private struct Factor {
        var numerator: Int64
        var denominator: Int64
    }

    /// The fewest days of each usual duration, from a week to a year.
    private static let usual: [(days: Int64, factor: Factor)] = [
        (6, Factor(numerator: 36_525, denominator: 8400)),
        (12, Factor(numerator: 36_525, denominator: 16_800)),
        (27, Factor(numerator: 1, denominator: 1)),
        (58, Factor(numerator: 1, denominator: 2)),
        (88, Factor(numerator: 1, denominator: 3)),
        (179, Factor(numerator: 1, denominator: 6)),
        (363, Factor(numerator: 1, denominator: 12)),
    ]

    private static let dayMilliseconds: Int64 = 86_400_000

    /// In the same unit as the price, rounded to the nearest.
    package static func monthly(_ price: Int64, from: Instant, until: Instant) -> Int64 {
        let length = max((until - from).wholeMilliseconds, 1)
        let days = (length + dayMilliseconds / 2) / dayMilliseconds
        // A length between two usual ones is the shorter one, which the App Store has extended.
        let factor =
            usual.last { $0.days <= days }?.factor
            ?? Factor(numerator: 36_525, denominator: max(days, 1) * 1200)
        return rounded(price, times: factor)
    }

    private static func rounded(_ price: Int64, times factor: Factor) -> Int64 {
        let product = price.multipliedFullWidth(by: factor.numerator)
        guard product.high == (Int64(bitPattern: product.low) < 0 ? -1 : 0) else { return 0 }
        return (Int64(bitPattern: product.low) + factor.denominator / 2) / factor.denominator
    }
}
