/// A JSON value (RFC 8259) in a signed text.
///
/// The SDK has its own reader because the first use of Foundation's decoders in a process takes
/// longer than everything else at the app's launch. The reader is strict, because two readers must
/// never understand one signed text differently. So a repeated key is an error, and a fraction is
/// an error.
enum SignedJSON: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A whole number. No claim of Perennial has a fraction.
    case integer(Int64)
    case string(String)
    case array([SignedJSON])
    case object([String: SignedJSON])

    /// The maximum nesting of values.
    static let depthMax = 16

    /// Parses bytes. Returns nil unless the bytes are exactly one value.
    init?(_ bytes: [UInt8]) {
        var reader = Reader(bytes: bytes)
        guard let value = reader.value(depth: 0), reader.isAtEnd else { return nil }
        self = value
    }

    var string: String? { if case .string(let text) = self { text } else { nil } }
    var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }
    var object: [String: SignedJSON]? { if case .object(let it) = self { it } else { nil } }

    /// A member of an object. Nil if the value is not an object, or has no such member.
    subscript(_ key: String) -> SignedJSON? { object?[key] }
}

private struct Reader {
    let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Whether only whitespace follows.
    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return position == bytes.count
        }
    }

    mutating func value(depth: Int) -> SignedJSON? {
        guard depth < SignedJSON.depthMax else { return nil }
        skipSpace()
        switch peek {
        case UInt8(ascii: "{"): return object(depth: depth)
        case UInt8(ascii: "["): return array(depth: depth)
        case UInt8(ascii: "\""): return text().map(SignedJSON.string)
        case UInt8(ascii: "t"): return word("true") ? .bool(true) : nil
        case UInt8(ascii: "f"): return word("false") ? .bool(false) : nil
        case UInt8(ascii: "n"): return word("null") ? .null : nil
        default: return number()
        }
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    private mutating func next(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard peek == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func word(_ word: StaticString) -> Bool {
        let length = word.utf8CodeUnitCount
        guard bytes.count - position >= length else { return false }
        for index in 0..<length where bytes[position + index] != word.utf8Start[index] {
            return false
        }
        position += length
        return true
    }

    private mutating func object(depth: Int) -> SignedJSON? {
        guard next("{") else { return nil }
        var members: [String: SignedJSON] = [:]
        if next("}") { return .object(members) }
        repeat {
            skipSpace()
            guard let key = text(), next(":"), let value = value(depth: depth + 1),
                members.updateValue(value, forKey: key) == nil
            else { return nil }
        } while next(",")
        return next("}") ? .object(members) : nil
    }

    private mutating func array(depth: Int) -> SignedJSON? {
        guard next("[") else { return nil }
        var elements: [SignedJSON] = []
        if next("]") { return .array(elements) }
        repeat {
            guard let value = value(depth: depth + 1) else { return nil }
            elements.append(value)
        } while next(",")
        return next("]") ? .array(elements) : nil
    }

    private mutating func number() -> SignedJSON? {
        let isNegative = peek == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let start = position
        var number: Int64 = 0
        while let digit = peek, (0x30...0x39).contains(digit) {
            let (tens, isOver) = number.multipliedReportingOverflow(by: 10)
            let (sum, isTooMuch) = tens.addingReportingOverflow(Int64(digit) - 0x30)
            guard !isOver, !isTooMuch else { return nil }
            number = sum
            position += 1
        }
        let digits = position - start
        guard digits > 0, digits == 1 || bytes[start] != UInt8(ascii: "0") else { return nil }
        if let next = peek, next == 0x2E || next == 0x45 || next == 0x65 { return nil }
        return .integer(isNegative ? -number : number)
    }

    private mutating func text() -> String? {
        guard peek == UInt8(ascii: "\"") else { return nil }
        position += 1
        var content: [UInt8] = []
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: content)
            case UInt8(ascii: "\\"):
                guard let scalar = escaped() else { return nil }
                content.append(contentsOf: Character(scalar).utf8)
            case 0..<0x20: return nil
            default: content.append(byte)
            }
        }
        return nil
    }

    private mutating func escaped() -> Unicode.Scalar? {
        guard let letter = peek else { return nil }
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return .init(letter)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return scalar()
        default: return nil
        }
    }

    /// The character after `\u`, including the second half of a surrogate pair.
    private mutating func scalar() -> Unicode.Scalar? {
        guard let unit = hexadecimal() else { return nil }
        guard (0xD800..<0xDC00).contains(unit) else { return Unicode.Scalar(unit) }
        guard word("\\u"), let low = hexadecimal(), (0xDC00..<0xE000).contains(low) else {
            return nil
        }
        return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
    }

    private mutating func hexadecimal() -> UInt32? {
        guard bytes.count - position >= 4 else { return nil }
        var value: UInt32 = 0
        for byte in bytes[position..<position + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
                return nil
            }
            value = value << 4 | UInt32(digit)
        }
        position += 4
        return value
    }
}

extension String {
    /// Creates a text from UTF-8. Returns nil if the bytes are not valid UTF-8.
    init?(validating bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.elementsEqual(bytes) else { return nil }
        self = text
    }
}
