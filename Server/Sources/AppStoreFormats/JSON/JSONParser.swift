import Foundation

/// Why bytes are not valid JSON, and where.
package struct JSONFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package var what: String
    /// The offset, in bytes, at which parsing stopped.
    package var offset: Int

    package var description: String { "\(what) at byte \(offset)" }
}

extension JSON {
    /// Parses a complete RFC 8259 text: only white space may follow the value.
    ///
    /// One pass over the bytes; each string is copied once. Refuses invalid UTF-8, and nesting
    /// deeper than ``JSONParser/depthMax``. The caller limits the length of the text.
    package init(parsing bytes: some Sequence<UInt8>) throws(JSONFailure) {
        let result: Result<JSON, JSONFailure>? = bytes.withContiguousStorageIfAvailable { buffer in
            JSONParser.parse(buffer)
        }
        let parsed = result ?? Array(bytes).withUnsafeBufferPointer { JSONParser.parse($0) }
        self = try parsed.get()
    }

    /// Parses a complete RFC 8259 text in an array, which is always contiguous in memory.
    package init(parsing bytes: [UInt8]) throws(JSONFailure) {
        self = try bytes.withUnsafeBufferPointer { JSONParser.parse($0) }.get()
    }
}

/// A recursive descent parser over a buffer. `offset` is always the next unread byte.
package struct JSONParser {
    /// The maximum nesting of arrays and objects. Apple's deepest document has six levels.
    package static let depthMax = 32

    private let bytes: UnsafeBufferPointer<UInt8>
    private var offset = 0

    static func parse(_ buffer: UnsafeBufferPointer<UInt8>) -> Result<JSON, JSONFailure> {
        var parser = JSONParser(bytes: buffer)
        return Result { () throws(JSONFailure) in try parser.document() }
    }

    private init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    private mutating func document() throws(JSONFailure) -> JSON {
        let value = try value(depth: 0)
        skipSpace()
        guard offset == bytes.count else { throw failure("unexpected text after the value") }
        return value
    }

    private func failure(_ what: String) -> JSONFailure { JSONFailure(what: what, offset: offset) }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            offset += 1
        }
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        offset += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSONFailure) -> JSON {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return .object(try members(depth: depth))
        case UInt8(ascii: "["): return .array(try elements(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw failure("the text ends where a value is expected")
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSON) throws(JSONFailure) -> JSON {
        let length = word.utf8CodeUnitCount
        guard offset + length <= bytes.count else { throw failure("expected \(word)") }
        for index in 0..<length where bytes[offset + index] != word.utf8Start[index] {
            throw failure("expected \(word)")
        }
        offset += length
        return value
    }

    /// Skips an opening bracket or brace.
    private mutating func open(depth: Int) throws(JSONFailure) {
        guard depth < Self.depthMax else {
            throw failure("nested deeper than \(Self.depthMax) levels")
        }
        offset += 1
    }

    private mutating func members(depth: Int) throws(JSONFailure) -> [JSON.Member] {
        try open(depth: depth)
        var members: [JSON.Member] = []
        skipSpace()
        if skip(UInt8(ascii: "}")) { return members }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw failure("expected a key in quotes") }
            let key = try string()
            skipSpace()
            guard skip(UInt8(ascii: ":")) else { throw failure("expected a colon") }
            members.append(JSON.Member(key, try value(depth: depth + 1)))
            skipSpace()
        } while skip(UInt8(ascii: ","))
        guard skip(UInt8(ascii: "}")) else {
            throw failure("expected a comma or the end of the object")
        }
        return members
    }

    private mutating func elements(depth: Int) throws(JSONFailure) -> [JSON] {
        try open(depth: depth)
        var elements: [JSON] = []
        skipSpace()
        if skip(UInt8(ascii: "]")) { return elements }
        repeat {
            elements.append(try value(depth: depth + 1))
            skipSpace()
        } while skip(UInt8(ascii: ","))
        guard skip(UInt8(ascii: "]")) else {
            throw failure("expected a comma or the end of the array")
        }
        return elements
    }
}

// MARK: - Numbers

extension JSONParser {
    private mutating func number() throws(JSONFailure) -> JSON {
        let start = offset
        _ = skip(UInt8(ascii: "-"))
        let whole = skipDigits()
        guard whole > 0, whole == 1 || bytes[offset - whole] != UInt8(ascii: "0") else {
            throw failure("expected a value")
        }
        let isInteger = try !skipFraction()
        let literal = String(decoding: bytes[start..<offset], as: UTF8.self)
        if isInteger, let integer = Int64(literal) { return .integer(integer) }
        return .decimal(literal)
    }

    /// Skips a fraction and an exponent. Returns whether the number has one of them.
    private mutating func skipFraction() throws(JSONFailure) -> Bool {
        var found = false
        if skip(UInt8(ascii: ".")) {
            guard skipDigits() > 0 else { throw failure("expected digits after the decimal point") }
            found = true
        }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
            guard skipDigits() > 0 else { throw failure("expected digits in the exponent") }
            found = true
        }
        return found
    }

    private mutating func skipDigits() -> Int {
        let start = offset
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
            offset += 1
        }
        return offset - start
    }
}

// MARK: - Strings

extension JSONParser {
    /// Parses a string in quotes. Most of Apple's strings have no escapes and are copied in one
    /// step.
    private mutating func string() throws(JSONFailure) -> String {
        offset += 1
        let start = offset
        guard let end = nextQuote else { return try escapedString(from: start) }
        let plain = bytes[start..<end]
        guard Self.isPlain(plain) else { return try escapedString(from: start) }
        let text = try text(UnsafeBufferPointer(rebasing: plain))
        offset = end + 1
        return text
    }

    private var nextQuote: Int? {
        guard offset < bytes.count, let start = bytes.baseAddress else { return nil }
        let found = memchr(start + offset, Int32(UInt8(ascii: "\"")), bytes.count - offset)
        return found.map { UnsafeRawPointer($0) - UnsafeRawPointer(start) }
    }

    /// Whether the bytes contain neither an escape nor a control character. Written without
    /// branches, so that the compiler can vectorize it.
    private static func isPlain(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        var odd: UInt8 = 0
        for byte in UnsafeBufferPointer(rebasing: bytes) {
            odd |= (byte == UInt8(ascii: "\\") ? 1 : 0) | (byte < 0x20 ? 1 : 0)
        }
        return odd == 0
    }

    private mutating func escapedString(from start: Int) throws(JSONFailure) -> String {
        var units = Array(bytes[start..<offset])
        while let byte = next {
            offset += 1
            switch byte {
            case UInt8(ascii: "\""): return try text(of: units)
            case UInt8(ascii: "\\"): units.append(contentsOf: try escape())
            case 0..<0x20: throw failure("a control character within a string")
            default: units.append(byte)
            }
        }
        throw failure("a string without a closing quote")
    }

    /// The text of the bytes. `String(decoding:)` repairs invalid UTF-8. In this case the resulting
    /// text has other bytes, which shows that the UTF-8 was invalid. `validating` would report that
    /// directly, but is not specialized and takes four times as long.
    private func text(_ units: UnsafeBufferPointer<UInt8>) throws(JSONFailure) -> String {
        var text = String(decoding: units, as: UTF8.self)
        let isWhole = text.withUTF8 { bytes in
            guard bytes.count == units.count else { return false }
            guard let one = bytes.baseAddress, let other = units.baseAddress else { return true }
            return memcmp(one, other, bytes.count) == 0
        }
        guard isWhole else { throw failure("invalid UTF-8 in a string") }
        return text
    }

    private func text(of units: [UInt8]) throws(JSONFailure) -> String {
        try units.withUnsafeBufferPointer { units throws(JSONFailure) in try text(units) }
    }

    private mutating func escape() throws(JSONFailure) -> [UInt8] {
        guard let byte = next else { throw failure("a string without a closing quote") }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return Array(String(Character(try unicodeEscape())).utf8)
        default: throw failure("an unknown escape")
        }
    }

    /// The character that the escape after `\u` means. If this escape is a high surrogate, returns
    /// the character that it forms with the next escape.
    private mutating func unicodeEscape() throws(JSONFailure) -> Unicode.Scalar {
        let first = try fourHexDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard (0xD800..<0xDC00).contains(first), skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u"))
        else {
            throw failure("half a surrogate pair")
        }
        let second = try fourHexDigits()
        guard (0xDC00..<0xE000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw failure("half a surrogate pair") }
        return scalar
    }

    private mutating func fourHexDigits() throws(JSONFailure) -> UInt32 {
        guard offset + 4 <= bytes.count else { throw failure("expected four hexadecimal digits") }
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Self.hexValue(bytes[offset]) else {
                throw failure("expected four hexadecimal digits")
            }
            value = value << 4 | digit
            offset += 1
        }
        return value
    }

    private static func hexValue(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
