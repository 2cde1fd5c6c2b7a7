/// JSON put together member by member, for answers that are given thousands of times a second:
/// `JSONEncoder` takes longer than all else that is done for such a request.
///
/// Members must be written in the order of their keys, as `JSONEncoder` sorts them; what comes out
/// is what it would write, byte for byte.
struct JSONText {
    private(set) var bytes: [UInt8] = []
    private var isFirst = true

    init() { bytes.reserveCapacity(2048) }

    mutating func object(_ members: (inout JSONText) -> Void) {
        enclose(UInt8(ascii: "{"), UInt8(ascii: "}"), members)
    }

    mutating func array<Element>(_ elements: [Element], _ body: (inout JSONText, Element) -> Void) {
        enclose(UInt8(ascii: "["), UInt8(ascii: "]")) { text in
            for element in elements {
                text.separate()
                body(&text, element)
            }
        }
    }

    private mutating func enclose(
        _ open: UInt8, _ close: UInt8, _ content: (inout JSONText) -> Void
    ) {
        bytes.append(open)
        isFirst = true
        content(&self)
        bytes.append(close)
        isFirst = false
    }

    private mutating func separate() {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
    }

    /// A key of ours, which needs no escape; its value follows.
    mutating func key(_ key: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        add(key)
        add("\":")
    }

    /// A key that came from elsewhere.
    mutating func key(named key: String) {
        separate()
        string(key)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func add(_ text: StaticString) {
        bytes.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func member(_ key: StaticString, _ value: String?) {
        self.key(key)
        if let value { string(value) } else { null() }
    }

    mutating func member(_ key: StaticString, _ value: Int64?) {
        self.key(key)
        if let value { bytes.append(contentsOf: String(value).utf8) } else { null() }
    }

    mutating func member(_ key: StaticString, _ value: Bool?) {
        self.key(key)
        switch value {
        case true?: add("true")
        case false?: add("false")
        case nil: null()
        }
    }

    mutating func null() { add("null") }

    mutating func string(_ value: String) {
        bytes.append(UInt8(ascii: "\""))
        var value = value
        value.withUTF8 { utf8 in
            var isPlain = true
            for byte in utf8 where Self.needsEscape(byte) { isPlain = false }
            if isPlain {
                bytes.append(contentsOf: utf8)
            } else {
                for byte in utf8 { append(byte) }
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func append(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
        case 0x08: bytes.append(contentsOf: "\\b".utf8)
        case 0x09: bytes.append(contentsOf: "\\t".utf8)
        case 0x0A: bytes.append(contentsOf: "\\n".utf8)
        case 0x0C: bytes.append(contentsOf: "\\f".utf8)
        case 0x0D: bytes.append(contentsOf: "\\r".utf8)
        case 0..<0x20:
            bytes.append(contentsOf: (byte < 0x10 ? "\\u000" : "\\u00").utf8)
            bytes.append(contentsOf: String(byte, radix: 16).utf8)
        default: bytes.append(byte)
        }
    }
}
