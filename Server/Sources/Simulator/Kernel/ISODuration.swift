/// An ISO 8601 duration, such as `P31D`, `P1M`, `PT1H30M` or `P1Y2M3W4DT5H6M7S`.
///
/// Years, months, weeks and days are units of the store's calendar (see ``StoreCalendar``), so
/// `P1M` after a purchase is exactly the time of its renewal. Hours, minutes, seconds and a
/// fraction of any unit have a fixed length.
package struct ISODuration: Hashable, Sendable {
    package var months: Int
    package var days: Int
    package var milliseconds: Int64

    /// The longest duration in days: ten years, of which three may be leap years.
    package static let daysMax = 3653
    fileprivate static let dayMilliseconds: Int64 = 86_400_000
    /// Maximum number of digits of a number, including leading zeros. Ten years have nine digits of
    /// seconds.
    private static let digitsMax = 12
    /// Maximum number of digits of a fraction. Fractions of a millisecond are truncated.
    private static let fractionDigitsMax = 9

    /// Why a text is not a valid duration.
    package enum Refusal: Error, Hashable, Sendable {
        case unreadable
        /// A fraction of a year or month, which is not exact because years and months differ in
        /// length.
        case partOfMonth
        case tooLong
    }

    package init(months: Int = 0, days: Int = 0, milliseconds: Int64 = 0) {
        self.months = months
        self.days = days
        self.milliseconds = milliseconds
    }

    package static func days(_ days: Int) -> Self { Self(days: days) }
    package static func hours(_ hours: Int) -> Self { Self(milliseconds: Int64(hours) * 3_600_000) }
    package static func months(_ months: Int) -> Self { Self(months: months) }

    /// Parses a duration. Returns nil if the text is no duration, is negative, has no unit, or is
    /// longer than ten years.
    package init?(_ text: String) {
        do throws(Refusal) { try self.init(parsing: text) } catch { return nil }
    }

    /// Parses the units in order, each with any number. The last number may have a fraction.
    package init(parsing text: String) throws(Refusal) {
        self.init()
        let parts = text.dropFirst().split(
            separator: "T", maxSplits: 1, omittingEmptySubsequences: false)
        guard text.first == "P", let date = parts.first, text.count > 2 else { throw .unreadable }
        let time = parts.count > 1 ? parts[1] : nil
        guard time?.isEmpty != true else { throw .unreadable }
        try add(date, Unit.ofDate, isLast: time == nil)
        if let time { try add(time, Unit.ofTime, isLast: true) }
        guard isWithinLimit else { throw .tooLong }
    }

    private enum Unit {
        case year, month, week, day, hour, minute, second

        static let ofDate: [(letter: Character, unit: Self)] = [
            ("Y", .year), ("M", .month), ("W", .week), ("D", .day),
        ]
        static let ofTime: [(letter: Character, unit: Self)] = [
            ("H", .hour), ("M", .minute), ("S", .second),
        ]

        /// The maximum number of the unit in a duration. A greater number exceeds ten years.
        var countMax: Int64 {
            switch self {
            case .year, .month, .week, .day: Int64(ISODuration.daysMax)
            case .hour, .minute, .second: Int64(ISODuration.daysMax) * 86_400
            }
        }

        /// The unit's length in milliseconds. Nil if its length is not fixed.
        var milliseconds: Int64? {
            switch self {
            case .year, .month: nil
            case .week: 7 * ISODuration.dayMilliseconds
            case .day: ISODuration.dayMilliseconds
            case .hour: 3_600_000
            case .minute: 60_000
            case .second: 1000
            }
        }
    }

    /// Adds numbers with units. Each unit may occur once, in order.
    ///
    /// - Parameter isLast: whether this text contains the last number of the duration, which may
    ///   have a fraction.
    private mutating func add(
        _ text: Substring, _ units: [(letter: Character, unit: Unit)], isLast: Bool
    ) throws(Refusal) {
        var rest = text
        var waiting = units[...]
        while !rest.isEmpty {
            let number = rest.prefix { !$0.isLetter }
            rest = rest.dropFirst(number.count)
            guard let letter = rest.popFirst(),
                let index = waiting.firstIndex(where: { $0.letter == letter })
            else { throw .unreadable }
            let (whole, fraction) = try Self.parts(of: number)
            guard fraction == nil || (isLast && rest.isEmpty) else { throw .unreadable }
            try add(whole, fraction, of: waiting[index].unit)
            waiting = waiting[(index + 1)...]
        }
    }

    private static func parts(
        of number: Substring
    ) throws(Refusal) -> (whole: Int64, fraction: Substring?) {
        let parts = number.split(
            maxSplits: 1, omittingEmptySubsequences: false, whereSeparator: { ".,".contains($0) })
        let areDigits = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        guard areDigits else { throw .unreadable }
        let fraction = parts.count > 1 ? parts[1] : nil
        guard parts[0].count <= digitsMax, fraction?.count ?? 0 <= fractionDigitsMax,
            let whole = Int64(parts[0])
        else { throw .tooLong }
        return (whole, fraction)
    }

    private mutating func add(
        _ count: Int64, _ fraction: Substring?, of unit: Unit
    ) throws(Refusal) {
        // Prevents overflow in the arithmetic below.
        guard count <= unit.countMax else { throw .tooLong }
        switch unit {
        case .year: months += Int(count) * 12
        case .month: months += Int(count)
        case .week: days += Int(count) * 7
        case .day: days += Int(count)
        case .hour, .minute, .second: milliseconds += count * (unit.milliseconds ?? 0)
        }
        guard let fraction else { return }
        guard let length = unit.milliseconds else { throw .partOfMonth }
        var divisor: Int64 = 1
        for _ in fraction { divisor *= 10 }
        // Less than 10 to the power of 9, times a week: no overflow.
        milliseconds += (Int64(fraction) ?? 0) * length / divisor
    }

    /// Whether the duration is at most ten years, if a month is a twelfth of 365.25 days.
    private var isWithinLimit: Bool {
        let monthMilliseconds = Self.dayMilliseconds * 1461 / 48
        let (months, days) = (Int64(months), Int64(days))
        return months * monthMilliseconds + days * Self.dayMilliseconds + milliseconds
            <= Int64(Self.daysMax) * Self.dayMilliseconds
    }
}

extension RequestBody {
    /// A duration of at most ten years. Returns nil if the field is absent.
    func duration(_ field: String) throws(SimulatorProblem) -> ISODuration? {
        guard let text = try string(field) else { return nil }
        do throws(ISODuration.Refusal) { return try ISODuration(parsing: text) } catch {
            let days = ISODuration.daysMax
            let longest = "ten years at most: P10Y, P\(days)D, PT\(days * 86_400)S"
            switch error {
            case .unreadable:
                throw Self.invalidField(
                    field, "a duration such as P31D, P1M or PT1H30M, \(longest)")
            case .partOfMonth:
                throw .badRequest(
                    "The field \(field) has a fraction of a year or month, which differ in length.",
                    remedy: "Send the fraction in days or a smaller unit, \(longest).")
            case .tooLong:
                throw .badRequest(
                    "The field \(field) is longer than ten years.",
                    remedy: "Send \(longest). Use several calls to go further.")
            }
        }
    }
}
