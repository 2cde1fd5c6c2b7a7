/// A JSON value that preserves every key and every number of Apple's documents when it is read and
/// written again.
package enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A number that is not a 64-bit integer, as its literal text. Xcode writes fractional
    /// milliseconds.
    case decimal(String)
    case string(String)
    case array([JSON])
    case object([Member])

    package struct Member: Hashable, Sendable {
        package var key: String
        package var value: JSON

        package init(_ key: String, _ value: JSON) {
            self.key = key
            self.value = value
        }
    }

    /// The value of a key. If the key is repeated, its last value counts, as in Apple's own
    /// clients. Returns nil if this value is not an object, or has no such key.
    package subscript(_ key: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.key == key }?.value
    }

    package var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    package var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    package var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    package var array: [JSON]? {
        if case .array(let values) = self { values } else { nil }
    }

    package var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}

extension JSON {
    /// The value as compact UTF-8 text, with keys in the order of this value.
    package var bytes: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(1024)
        write(to: &out)
        return out
    }

    /// The value as a compact JSON string, for logs and tests.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    package func write(to out: inout [UInt8]) {
        switch self {
        case .null: out.append(contentsOf: "null".utf8)
        case .bool(let value): out.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): Self.write(integer: value, to: &out)
        case .decimal(let literal): out.append(contentsOf: literal.utf8)
        case .string(let value): Self.write(string: value, to: &out)
        case .array(let values):
            out.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                value.write(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                Self.write(string: member.key, to: &out)
                out.append(UInt8(ascii: ":"))
                member.value.write(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    static func write(integer: Int64, to out: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: integerLengthMax) { digits in
            var first = digits.count
            var rest = integer.magnitude
            repeat {
                first -= 1
                digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if integer < 0 {
                first -= 1
                digits[first] = UInt8(ascii: "-")
            }
            out.append(contentsOf: UnsafeBufferPointer(rebasing: digits[first...]))
        }
    }

    /// The maximum number of characters of a number with 64 bits: a sign and 19 digits.
    private static var integerLengthMax: Int { 20 }

    static func write(string: String, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        var string = string
        string.withUTF8 { write($0, to: &out) }
        out.append(UInt8(ascii: "\""))
    }

    /// Copies, in one step, all bytes before the next one that must be escaped. In most texts, no
    /// byte must be escaped.
    private static func write(_ text: UnsafeBufferPointer<UInt8>, to out: inout [UInt8]) {
        var written = 0
        while let index = firstToEscape(of: text, from: written) {
            out.append(contentsOf: UnsafeBufferPointer(rebasing: text[written..<index]))
            switch text[index] {
            case UInt8(ascii: "\""): out.append(contentsOf: #"\""#.utf8)
            case UInt8(ascii: "\\"): out.append(contentsOf: #"\\"#.utf8)
            case let byte: out.append(contentsOf: escape(control: byte))
            }
            written = index + 1
        }
        out.append(contentsOf: UnsafeBufferPointer(rebasing: text[written...]))
    }

    /// Finds the first byte that must be escaped. Checks eight bytes at a time, without SIMD types:
    /// these are many times slower if the compiler cannot assume a recent processor.
    private static func firstToEscape(
        of text: UnsafeBufferPointer<UInt8>, from start: Int
    ) -> Int? {
        let width = MemoryLayout<UInt64>.size
        var index = start
        let bytes = UnsafeRawBufferPointer(text)
        while index + width <= text.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if hasByteToEscape(word) { break }
            index += width
        }
        return text[index...].firstIndex { byte in
            byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20
        }
    }

    /// Whether one of eight bytes must be escaped. A byte is below a bound of at most 128 if
    /// subtracting the bound sets its highest bit, and that bit was not set before. A byte equals
    /// another byte if the exclusive or of the two is below 1. (Anderson: Bit Twiddling Hacks.)
    @inline(__always)
    private static func hasByteToEscape(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = word ^ ones &* UInt64(UInt8(ascii: "\""))
        let backslash = word ^ ones &* UInt64(UInt8(ascii: "\\"))
        let marks =
            (word &- ones &* 0x20) & ~word | (quote &- ones) & ~quote
            | (backslash &- ones) & ~backslash
        return marks & ones &<< 7 != 0
    }

    private static func escape(control byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return Array(#"\u00"#.utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}
