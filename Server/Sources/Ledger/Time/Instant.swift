/// A moment: milliseconds since 1970-01-01 UTC, as in Apple's documents.
package struct Instant: Hashable, Comparable, Sendable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    private static let first = Self(milliseconds: .min)
    private static let last = Self(milliseconds: .max)

    package static func < (one: Self, other: Self) -> Bool { one.milliseconds < other.milliseconds }

    /// The moment that is later by a duration, in whole milliseconds, clamped to the representable
    /// range.
    package static func + (instant: Self, duration: Duration) -> Self {
        let (sum, isBeyond) = instant.milliseconds.addingReportingOverflow(
            duration.wholeMilliseconds)
        return isBeyond ? (duration < .zero ? .first : .last) : Self(milliseconds: sum)
    }

    package static func - (instant: Self, duration: Duration) -> Self {
        instant + (.zero - duration)
    }

    package static func - (later: Self, earlier: Self) -> Duration {
        let (count, isBeyond) = later.milliseconds.subtractingReportingOverflow(
            earlier.milliseconds)
        return .milliseconds(isBeyond ? (later < earlier ? .min : .max) : count)
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero. Does not use `components`, which would take longer
    /// than all other calculations of a timeline.
    package var wholeMilliseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000_000_000)
    }

    package static func hours(_ count: Int) -> Duration { .seconds(count * 3600) }
    package static func days(_ count: Int) -> Duration { .hours(count * 24) }
}

// MARK: - Text

extension Instant: CustomStringConvertible {
    /// RFC 3339 in UTC with milliseconds: `2026-11-21T08:30:00.000Z`.
    package var description: String {
        let (date, millisecondOfDay) = dateAndTime
        let second = millisecondOfDay / 1000
        return Digits.text { text in
            text.add(date)
            text.add("T", second / 3600, 2)
            text.add(":", second / 60 % 60, 2)
            text.add(":", second % 60, 2)
            text.add(".", millisecondOfDay % 1000, 3)
            text.add("Z")
        }
    }

    /// The moment to the minute, for sentences: `2026-11-21 08:30 UTC`.
    package var minute: String {
        let (date, millisecondOfDay) = dateAndTime
        let minute = millisecondOfDay / 60_000
        return Digits.text { text in
            text.add(date)
            text.add(" ", minute / 60, 2)
            text.add(":", minute % 60, 2)
            text.add(" UTC")
        }
    }

    private var dateAndTime: (date: CivilDate, millisecondOfDay: Int64) {
        let (day, rest) = CivilDate.dayAndRest(of: milliseconds)
        return (CivilDate(dayNumber: day), rest)
    }
}

/// Writes the text of a moment directly into the string's storage, because each response contains a
/// dozen moments.
private struct Digits {
    /// The maximum length of the text. The year of a 64-bit count of milliseconds has at most nine
    /// digits and a sign.
    private static let bytesMax = 40

    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private var count = 0

    static func text(_ write: (inout Digits) -> Void) -> String {
        String(unsafeUninitializedCapacity: bytesMax) { bytes in
            var digits = Digits(bytes: bytes)
            write(&digits)
            return digits.count
        }
    }

    private init(bytes: UnsafeMutableBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func add(_ date: CivilDate) {
        add(date.year, 4)
        add("-", date.month, 2)
        add("-", date.day, 2)
    }

    mutating func add(_ text: StaticString) {
        for index in 0..<text.utf8CodeUnitCount { bytes[count + index] = text.utf8Start[index] }
        count += text.utf8CodeUnitCount
    }

    mutating func add(_ text: StaticString, _ number: Int64, _ width: Int) {
        add(text)
        add(number, width)
    }

    /// Adds a number, padded with zeros to a width.
    mutating func add(_ number: Int64, _ width: Int) {
        if number < 0 { add("-") }
        var length = width
        var above = number.magnitude
        for _ in 0..<width { above /= 10 }
        while above > 0 {
            length += 1
            above /= 10
        }
        var rest = number.magnitude
        for place in (count..<count + length).reversed() {
            bytes[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        count += length
    }
}
