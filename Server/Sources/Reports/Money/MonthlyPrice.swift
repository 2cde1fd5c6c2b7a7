import Ledger

/// What a period's price is a month. A month is 365.25 ÷ 12 days; a week is 7 of them.
///
/// The length is taken from the period itself, in whole days, because documents do not name the
/// product's duration. Calendar months differ in length, so that lengths near a usual duration count
/// as that duration.
package enum MonthlyPrice {
    /// How a price of one period becomes the price of a month.
    private struct Factor {
        var numerator: Int64
        var denominator: Int64
    }

    private static let usual: [(days: ClosedRange<Int64>, factor: Factor)] = [
        (6...8, Factor(numerator: 36_525, denominator: 8400)),
        (12...16, Factor(numerator: 36_525, denominator: 16_800)),
        (27...33, Factor(numerator: 1, denominator: 1)),
        (58...63, Factor(numerator: 1, denominator: 2)),
        (88...95, Factor(numerator: 1, denominator: 3)),
        (179...186, Factor(numerator: 1, denominator: 6)),
        (363...375, Factor(numerator: 1, denominator: 12)),
    ]

    private static let dayMilliseconds: Int64 = 86_400_000

    /// In the same unit as the price, rounded to the nearest.
    package static func monthly(_ price: Int64, from: Instant, until: Instant) -> Int64 {
        let length = max((until - from).wholeMilliseconds, 1)
        let days = (length + dayMilliseconds / 2) / dayMilliseconds
        let factor =
            usual.first { $0.days.contains(days) }?.factor
            ?? Factor(numerator: 36_525, denominator: max(days, 1) * 1200)
        return rounded(price, times: factor)
    }

    private static func rounded(_ price: Int64, times factor: Factor) -> Int64 {
        let product = price.multipliedFullWidth(by: factor.numerator)
        guard product.high == (Int64(bitPattern: product.low) < 0 ? -1 : 0) else { return 0 }
        return (Int64(bitPattern: product.low) + factor.denominator / 2) / factor.denominator
    }
}
