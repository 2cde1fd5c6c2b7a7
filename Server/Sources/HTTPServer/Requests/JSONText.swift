import NIOCore

/// Builds JSON member by member, for responses that are sent thousands of times a second. For such
/// a request, `JSONEncoder` would take longer than everything else.
///
/// Members must be written in the order of their keys, as `JSONEncoder` sorts them. Then the
/// result is the same as that of `JSONEncoder`, byte for byte.
struct JSONText: ~Copyable {
    /// The size of the response about a customer with two purchases. The buffer grows if needed.
    private static let initialBytes = 2048

    private var start = UnsafeMutableRawPointer.allocate(byteCount: initialBytes, alignment: 1)
    private var capacity = initialBytes
    private var count = 0
    private var isFirst = true

    deinit { start.deallocate() }

    /// Everything written so far.
    var buffer: ByteBuffer {
        ByteBuffer(bytes: UnsafeRawBufferPointer(start: start, count: count))
    }

    mutating func object(_ members: (inout JSONText) -> Void) {
        enclose("{", "}", members)
    }

    mutating func array<Element>(_ elements: [Element], _ body: (inout JSONText, Element) -> Void) {
        enclose("[", "]") { text in
            for element in elements {
                text.separate()
                body(&text, element)
            }
        }
    }

    private mutating func enclose(
        _ open: StaticString, _ close: StaticString, _ content: (inout JSONText) -> Void
    ) {
        append(open)
        isFirst = true
        content(&self)
        append(close)
        isFirst = false
    }

    private mutating func separate() {
        if !isFirst { append(",") }
        isFirst = false
    }

    /// Writes a literal key that needs no escaping; its value follows. Writes it in one piece,
    /// because a response has dozens of keys.
    mutating func key(_ key: StaticString) {
        let length = key.utf8CodeUnitCount
        reserve(length + 4)
        if !isFirst { writeByte(UInt8(ascii: ",")) }
        isFirst = false
        writeByte(UInt8(ascii: "\""))
        (start + count).copyMemory(from: key.utf8Start, byteCount: length)
        count += length
        writeByte(UInt8(ascii: "\""))
        writeByte(UInt8(ascii: ":"))
    }

    /// Writes a key that may need escaping.
    mutating func key(named key: String) {
        separate()
        string(key)
        append(":")
    }

    mutating func member(_ key: StaticString, _ value: String?) {
        self.key(key)
        if let value { string(value) } else { null() }
    }

    mutating func member(_ key: StaticString, _ value: Int64?) {
        self.key(key)
        if let value { append(String(value)) } else { null() }
    }

    mutating func member(_ key: StaticString, _ value: Bool?) {
        self.key(key)
        switch value {
        case true?: append("true")
        case false?: append("false")
        case nil: null()
        }
    }

    mutating func null() { append("null") }

    mutating func string(_ value: String) {
        var value = value
        value.withUTF8 { utf8 in
            reserve(utf8.count + 2)
            writeByte(UInt8(ascii: "\""))
            if Self.isPlain(utf8) {
                append(UnsafeRawBufferPointer(utf8))
            } else {
                for byte in utf8 { escape(byte) }
            }
        }
        append("\"")
    }

    /// Returns true if nothing needs escaping. Has no branches, so that the compiler can check many
    /// bytes at once.
    private static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var odd: UInt8 = 0
        for byte in bytes {
            odd |= byte < 0x20 ? 1 : 0
            odd |= byte == UInt8(ascii: "\"") ? 1 : 0
            odd |= byte == UInt8(ascii: "\\") ? 1 : 0
        }
        return odd == 0
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case 0x08: append("\\b")
        case 0x09: append("\\t")
        case 0x0A: append("\\n")
        case 0x0C: append("\\f")
        case 0x0D: append("\\r")
        case 0..<0x20:
            append(byte < 0x10 ? "\\u000" : "\\u00")
            append(String(byte, radix: 16))
        default:
            reserve(1)
            writeByte(byte)
        }
    }
}

// MARK: - Memory

extension JSONText {
    private mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (start + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    /// Appends a byte. The caller must have reserved the space.
    private mutating func writeByte(_ byte: UInt8) {
        start.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    private mutating func reserve(_ more: Int) {
        if more > capacity - count { grow(by: more) }
    }

    private mutating func grow(by more: Int) {
        capacity = max(2 * capacity, count + more)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 1)
        larger.copyMemory(from: start, byteCount: count)
        start.deallocate()
        start = larger
    }
}
