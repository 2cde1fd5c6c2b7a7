/// A length of subscription time in calendar units, such as `P1W`, `P1M` or `P3D` in Apple's form
/// (ISO 8601).
package struct BillingPeriod: Hashable, Sendable, CustomStringConvertible {
    package enum Unit: String, Hashable, Sendable {
        case day = "D"
        case week = "W"
        case month = "M"
        case year = "Y"
    }

    package var count: Int
    package var unit: Unit

    /// The maximum count of any unit: a year has at most 366 days.
    package static let countMax = 366

    package init(_ count: Int, _ unit: Unit) {
        self.count = count
        self.unit = unit
    }

    /// Parses a `P` followed by one number and one unit. Returns nil for any other text, and for a
    /// count of zero.
    package init?(_ text: String) {
        let digits = text.dropFirst().dropLast()
        guard text.first == "P", let last = text.last, let unit = Unit(rawValue: String(last)),
            digits.allSatisfy({ $0.isASCII && $0.isNumber }), let count = Int(digits),
            (1...Self.countMax).contains(count)
        else { return nil }
        self.init(count, unit)
    }

    package var description: String { "P\(count)\(unit.rawValue)" }

    /// The length in whole calendar months. Zero for days and weeks.
    package var months: Int {
        switch unit {
        case .day, .week: 0
        case .month: count
        case .year: 12 * count
        }
    }

    /// The length in whole days. Zero for months and years, which have no fixed number of days.
    package var days: Int {
        switch unit {
        case .day: count
        case .week: 7 * count
        case .month, .year: 0
        }
    }
}
