/// Shares of a whole in thousandths of a percent. The App Store uses this unit for refunded and
/// used shares.
package enum Percentage {
    /// 100 %.
    package static let whole: Int64 = 100_000
    static let onePercent: Int64 = 1000

    /// A share of an amount, rounded down to its unit. At least zero, and at most the whole amount.
    ///
    /// - Parameter thousandths: the share; nil if the App Store does not report it. The share is
    ///   then the whole amount.
    package static func part(_ thousandths: Int64?, of amount: Int64) -> Int64 {
        let share = min(max(thousandths ?? whole, 0), whole)
        // Whole part and remainder are multiplied separately, so that no amount overflows.
        let (units, rest) = amount.quotientAndRemainder(dividingBy: whole)
        return units * share + rest * share / whole
    }

    /// Converts thousandths of a percent to percent, for people: `25.5`.
    package static func percent(_ thousandths: Int64) -> Double {
        Double(thousandths) / Double(onePercent)
    }

    /// - Parameter percent: 0 to 100.
    package static func thousandths(ofPercent percent: Double) -> Int64 {
        Int64((percent * Double(onePercent)).rounded())
    }
}
