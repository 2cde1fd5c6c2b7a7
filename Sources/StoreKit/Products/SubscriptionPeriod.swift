extension Product {
    public struct SubscriptionPeriod: Equatable, Hashable, Sendable {
        public enum Unit: Equatable, Hashable, Sendable {
            case day
            case week
            case month
            case year
        }

        public let unit: Unit
        public let value: Int

        public static var weekly: Self { Self(unit: .week, value: 1) }
        public static var monthly: Self { Self(unit: .month, value: 1) }
        public static var yearly: Self { Self(unit: .year, value: 1) }
        public static var everyThreeDays: Self { Self(unit: .day, value: 3) }
        public static var everyTwoWeeks: Self { Self(unit: .week, value: 2) }
        public static var everyTwoMonths: Self { Self(unit: .month, value: 2) }
        public static var everyThreeMonths: Self { Self(unit: .month, value: 3) }
        public static var everySixMonths: Self { Self(unit: .month, value: 6) }

        /// The period that begins at a date, in the Gregorian calendar.
        public func dateRange(referenceDate: Date = .now) -> Range<Date> {
            let component: Calendar.Component =
                switch unit {
                case .day: .day
                case .week: .weekOfYear
                case .month: .month
                case .year: .year
                }
            let end = Calendar(identifier: .gregorian).date(
                byAdding: component, value: value, to: referenceDate)
            return referenceDate..<(end ?? referenceDate)
        }

        public func formatted<S>(_ format: S, referenceDate: Date = .now) -> S.FormatOutput
        where S: Foundation.FormatStyle, S.FormatInput == Range<Date> {
            format.format(dateRange(referenceDate: referenceDate))
        }

        public func formatted<S>(_ format: S, referenceDate: Date = .now) -> S.FormatOutput
        where S: Foundation.FormatStyle, S.FormatInput == Duration {
            let range = dateRange(referenceDate: referenceDate)
            return format.format(
                .seconds(range.upperBound.timeIntervalSince(range.lowerBound)))
        }
    }
}

extension Product.SubscriptionPeriod: CustomDebugStringConvertible {
    public var debugDescription: String { "\(value) \(unit.debugDescription)" }

    /// Parses a period such as `P1M`. Returns nil if the text has no unit, or more than one.
    init?(iso8601 text: String) {
        guard text.first == "P", let value = Int(text.dropFirst().dropLast()), value > 0 else {
            return nil
        }
        switch text.last {
        case "D": self.init(unit: .day, value: value)
        case "W": self.init(unit: .week, value: value)
        case "M": self.init(unit: .month, value: value)
        case "Y": self.init(unit: .year, value: value)
        default: return nil
        }
    }

    /// The period in ISO 8601, such as `P1M`.
    var iso8601: String {
        switch unit {
        case .day: "P\(value)D"
        case .week: "P\(value)W"
        case .month: "P\(value)M"
        case .year: "P\(value)Y"
        }
    }
}

extension Product.SubscriptionPeriod.Unit: Comparable, CustomDebugStringConvertible {
    public static func < (left: Self, right: Self) -> Bool { left.days < right.days }

    private var days: Int {
        switch self {
        case .day: 1
        case .week: 7
        case .month: 30
        case .year: 365
        }
    }

    public var localizedDescription: String { debugDescription }

    public var debugDescription: String {
        switch self {
        case .day: "Day"
        case .week: "Week"
        case .month: "Month"
        case .year: "Year"
        }
    }

    public struct FormatStyle: Foundation.FormatStyle {
        public typealias FormatInput = Product.SubscriptionPeriod.Unit
        public typealias FormatOutput = String

        private var localeID = Locale.current.identifier

        init() {}

        /// The unit's name, in English only.
        public func format(_ value: Product.SubscriptionPeriod.Unit) -> String {
            value.debugDescription.lowercased()
        }

        public func locale(_ locale: Locale) -> Self {
            var style = self
            style.localeID = locale.identifier
            return style
        }
    }

    public func formatted<S>(_ format: S) -> S.FormatOutput
    where S: Foundation.FormatStyle, S.FormatInput == Product.SubscriptionPeriod.Unit {
        format.format(self)
    }
}

extension DateComponents {
    public init(subscriptionPeriod period: Product.SubscriptionPeriod) {
        switch period.unit {
        case .day: self.init(day: period.value)
        case .week: self.init(weekOfYear: period.value)
        case .month: self.init(month: period.value)
        case .year: self.init(year: period.value)
        }
    }
}
