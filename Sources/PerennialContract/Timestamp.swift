/// A point in time, as RFC 3339 text in UTC with milliseconds: `2026-11-21T08:30:00.000Z`.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01 UTC. Earlier times are negative.
    public var milliseconds: Int64

    /// The years 0000 to 9999, in milliseconds since 1970.
    private static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public static func < (one: Self, other: Self) -> Bool { one.milliseconds < other.milliseconds }

    /// Parses RFC 3339 with any offset and any number of decimals. Digits after the milliseconds
    /// are cut off. Returns nil for any other text, for a day that the month does not have, and for
    /// a time that is not in the years 0000 to 9999 of UTC.
    public init?(_ text: some StringProtocol) {
        var rest = Substring(text)
        guard let year = rest.scanNumber(digits: 4), rest.scan("-"),
            let month = rest.scanNumber(digits: 2), rest.scan("-"),
            let day = rest.scanNumber(digits: 2), rest.scan("T") || rest.scan("t"),
            let hour = rest.scanNumber(digits: 2), rest.scan(":"),
            let minute = rest.scanNumber(digits: 2), rest.scan(":"),
            let second = rest.scanNumber(digits: 2), let fraction = rest.scanFraction(),
            let offset = rest.scanOffset(), rest.isEmpty,
            month >= 1, month <= 12, day >= 1, hour < 24, minute < 60, second < 60
        else { return nil }
        let date = CivilDate(year: year, month: month, day: day)
        guard CivilDate(dayNumber: date.dayNumber) == date else { return nil }
        let minutes = date.dayNumber * 1440 + hour * 60 + minute - offset
        let moment = (minutes * 60 + second) * 1000 + fraction
        // With its offset, the time can be outside the years that ``description`` can write.
        guard Self.range.contains(moment) else { return nil }
        milliseconds = moment
    }
}

extension Timestamp: CustomStringConvertible {
    public var description: String {
        let (dayNumber, millisecond) = CivilDate.dayAndRest(of: milliseconds)
        let date = CivilDate(dayNumber: dayNumber)
        let second = millisecond / 1000
        return Digits.text { text in
            text.add(date.year, 4)
            text.add("-", date.month, 2)
            text.add("-", date.day, 2)
            text.add("T", second / 3600, 2)
            text.add(":", second / 60 % 60, 2)
            text.add(":", second % 60, 2)
            text.add(".", millisecond % 1000, 3)
            text.add("Z")
        }
    }

    /// Writes text directly into the memory of the resulting string, because one response contains
    /// a dozen timestamps.
    private struct Digits {
        /// Any year that fits into 64 bits of milliseconds has at most nine digits and a sign.
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

        mutating func add(_ text: StaticString) {
            for index in 0..<text.utf8CodeUnitCount { bytes[count + index] = text.utf8Start[index] }
            count += text.utf8CodeUnitCount
        }

        mutating func add(_ text: StaticString, _ number: Int64, _ width: Int) {
            add(text)
            add(number, width)
        }

        /// Appends a number, padded with leading zeros to a minimum width.
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
}

extension Timestamp: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let timestamp = Timestamp(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "Not an RFC 3339 time: \(text)")
        }
        self = timestamp
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

// MARK: - Reading

extension Substring {
    fileprivate mutating func scan(_ character: Character) -> Bool {
        guard first == character else { return false }
        removeFirst()
        return true
    }

    fileprivate mutating func scanDigit() -> Int64? {
        guard let digit = utf8.first, (48...57).contains(digit) else { return nil }
        removeFirst()
        return Int64(digit) - 48
    }

    fileprivate mutating func scanNumber(digits: Int) -> Int64? {
        var number: Int64 = 0
        for _ in 0..<digits {
            guard let digit = scanDigit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// Reads the decimals as milliseconds. Returns zero if there is no decimal point, and nil if no
    /// digit follows the point.
    fileprivate mutating func scanFraction() -> Int64? {
        guard scan(".") else { return 0 }
        guard let first = scanDigit() else { return nil }
        var milliseconds = first * 100
        var weight: Int64 = 10
        while let digit = scanDigit() {
            milliseconds += digit * weight
            weight /= 10
        }
        return milliseconds
    }

    /// Reads an offset. Returns minutes east of Greenwich.
    fileprivate mutating func scanOffset() -> Int64? {
        if scan("Z") || scan("z") { return 0 }
        let sign: Int64
        if scan("+") { sign = 1 } else if scan("-") { sign = -1 } else { return nil }
        guard let hours = scanNumber(digits: 2), scan(":"), let minutes = scanNumber(digits: 2),
            hours < 24, minutes < 60
        else { return nil }
        return sign * (hours * 60 + minutes)
    }
}
