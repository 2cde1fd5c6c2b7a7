/// Parts of a whole, as the store counts what was given back and what was used: in thousandths of a
/// percent.
package enum Percentage {
    /// All of it.
    package static let whole: Int64 = 100_000
    static let onePercent: Int64 = 1000

    /// A part of an amount; what is finer than its unit is dropped. No less than nothing, and no
    /// more than all.
    ///
    /// - Parameter thousandths: nil: the store does not say, which means all.
    package static func part(_ thousandths: Int64?, of amount: Int64) -> Int64 {
        let share = min(max(thousandths ?? whole, 0), whole)
        // Taken apart, so that no amount is too large.
        let (units, rest) = amount.quotientAndRemainder(dividingBy: whole)
        return units * share + rest * share / whole
    }

    /// As a person writes it: `25.5`.
    package static func percent(_ thousandths: Int64) -> Double {
        Double(thousandths) / Double(onePercent)
    }

    /// - Parameter percent: 0 to 100.
    package static func thousandths(ofPercent percent: Double) -> Int64 {
        Int64((percent * Double(onePercent)).rounded())
    }
}
