/// A point in time, as RFC 3339 text in UTC with milliseconds: `2026-11-21T08:30:00.000Z`.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01 UTC. Negative before that.
    public var milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public static func < (one: Self, other: Self) -> Bool { one.milliseconds < other.milliseconds }

    /// Parses RFC 3339 with any offset and any number of decimals. Digits beyond milliseconds are
    /// cut off. Returns nil for anything else, including a day that the month does not have.
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
        let dayNumber = Self.dayNumber(year: year, month: month, day: day)
        guard Self.date(dayNumber: dayNumber) == (year, month, day) else { return nil }
        let minutes = dayNumber * 1440 + hour * 60 + minute - offset
        milliseconds = (minutes * 60 + second) * 1000 + fraction
    }
}

extension Timestamp: CustomStringConvertible {
    public var description: String {
        let (dayNumber, millisecond) = Self.floorDivide(milliseconds, by: 86_400_000)
        let (year, month, day) = Self.date(dayNumber: dayNumber)
        let second = millisecond / 1000
        return Digits.text { text in
            text.add(year, 4)
            text.add("-", month, 2)
            text.add("-", day, 2)
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

// MARK: - The Gregorian calendar

// This code does not use Foundation, which would be a heavy dependency for eight lines. It does not
// use Ledger, which has the same code, because modules that apps import must not contain server
// code. The calculation uses years that begin in March, so that the leap day is the last day, and
// eras of 400 years, which repeat exactly.
extension Timestamp {
    private static func floorDivide(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
        let (quotient, rest) = value.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
    }

    /// The number of days since 1970-01-01.
    private static func dayNumber(year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = floorDivide(marchYear, by: 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }

    private static func date(dayNumber: Int64) -> (Int64, Int64, Int64) {
        let (era, dayOfEra) = floorDivide(dayNumber + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
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
