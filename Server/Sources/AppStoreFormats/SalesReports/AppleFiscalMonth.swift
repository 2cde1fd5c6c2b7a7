/// A month of Apple's fiscal calendar, which Apple uses for financial reports and payments.
///
/// A fiscal year ends on the last Saturday of September. Each of its quarters has months of 5, 4
/// and 4 weeks, from Sunday to Saturday. Every five or six years there is a 53rd week; it belongs
/// to December (the third month), as in the fiscal years 2012, 2017 and 2023. Future months are
/// calculated by this rule, because Apple announces them only a year ahead.
package struct AppleFiscalMonth: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The calendar year in which the fiscal year ends.
    package let year: Int
    /// The number of the month: 1 is October, 12 is September.
    package let number: Int

    /// The fiscal years that are supported. The App Store opened in the fiscal year 2008.
    package static let years = 2008...2100

    private static let weeksByNumber = [5, 4, 4, 5, 4, 4, 5, 4, 4, 5, 4, 4]
    /// The number of December, the month that can have an additional week.
    private static let longNumber = 3

    /// Creates a month. Returns nil for a number that is not from 1 to 12, and for years outside
    /// ``years``.
    package init?(year: Int, number: Int) {
        guard Self.years.contains(year), (1...12).contains(number) else { return nil }
        self.year = year
        self.number = number
    }

    /// Parses Apple's spelling, such as `2026-01` for October 2025. Returns nil for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == 4, parts[1].count == 2,
            text.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) }),
            let year = Int(parts[0]), let number = Int(parts[1])
        else { return nil }
        self.init(year: year, number: number)
    }

    /// The fiscal month that contains a day. Returns nil for years outside ``years``.
    package init?(containing day: CivilDate) {
        let days = day.daysSince1970
        let year = days < Self.start(of: day.year + 1) ? day.year : day.year + 1
        guard var month = Self(year: year, number: 1) else { return nil }
        while days > month.last.daysSince1970 {
            guard let next = Self(year: year, number: month.number + 1) else { return nil }
            month = next
        }
        self = month
    }

    package var description: String {
        "\(year)-\(number < 10 ? "0" : "")\(number)"
    }

    /// The number of the month in a calendar, from 1 to 12: 10 for the fiscal month 1.
    package var calendarMonth: Int { (number + 8) % 12 + 1 }
    /// The calendar year of the month.
    package var calendarYear: Int { number <= 3 ? year - 1 : year }

    package var weeks: Int {
        Self.weeksByNumber[number - 1] + (number == Self.longNumber && hasLongYear ? 1 : 0)
    }

    /// Whether the month's fiscal year has 53 weeks.
    package var hasLongYear: Bool { Self.start(of: year + 1) - Self.start(of: year) == 53 * 7 }

    /// The first day of the month, a Sunday.
    package var first: CivilDate { CivilDate(daysSince1970: firstDay) }
    /// The last day of the month, a Saturday.
    package var last: CivilDate {
        CivilDate(daysSince1970: firstDay + Int64(7 * weeks) - 1)
    }

    /// The following month. Returns nil after the last of ``years``.
    package var next: Self? {
        number < 12 ? Self(year: year, number: number + 1) : Self(year: year + 1, number: 1)
    }
    /// The preceding month. Returns nil before the first of ``years``.
    package var previous: Self? {
        number > 1 ? Self(year: year, number: number - 1) : Self(year: year - 1, number: 12)
    }

    package static func < (one: Self, other: Self) -> Bool {
        (one.year, one.number) < (other.year, other.number)
    }

    private var firstDay: Int64 {
        var weeks = Self.weeksByNumber[..<(number - 1)].reduce(0, +)
        if hasLongYear, number > Self.longNumber { weeks += 1 }
        return Self.start(of: year) + Int64(7 * weeks)
    }

    /// The first day of a fiscal year, in days since 1970: the day after the last Saturday of
    /// September. 1970-01-03 was a Saturday.
    private static func start(of year: Int) -> Int64 {
        let end = CivilDate(year: year - 1, month: 9, day: 30).daysSince1970
        let daysSinceSaturday = (end - 2) - (end - 2).flooredDivision(by: 7) * 7
        return end - daysSinceSaturday + 1
    }
}
