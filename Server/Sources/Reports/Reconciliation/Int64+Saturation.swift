// Arithmetic for numbers of imported files, which may be extremely large. Results saturate, because
// an overflow would stop the server.

extension Int64 {
    /// The sum, limited to `Int64.max` and its negative.
    package func addingSaturated(_ other: Self) -> Self {
        let (sum, isOver) = addingReportingOverflow(other)
        return Self.saturated(sum, isOver, isNegative: self < 0)
    }

    /// The difference, limited to `Int64.max` and its negative.
    package func subtractingSaturated(_ other: Self) -> Self {
        let (difference, isOver) = subtractingReportingOverflow(other)
        return Self.saturated(difference, isOver, isNegative: self < 0)
    }

    /// The product, limited to `Int64.max` and its negative.
    package func multipliedSaturated(by other: Self) -> Self {
        let (product, isOver) = multipliedReportingOverflow(by: other)
        return Self.saturated(product, isOver, isNegative: (self < 0) != (other < 0))
    }

    /// Returns the value, or the limit if the value is too large. `Int64.min` has no negative, so
    /// it is never a result.
    private static func saturated(_ value: Self, _ isOver: Bool, isNegative: Bool) -> Self {
        isOver ? (isNegative ? -max : max) : Swift.max(value, -max)
    }
}
