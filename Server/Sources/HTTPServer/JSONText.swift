import NIOCore

/// JSON put together member by member, for answers that are given thousands of times a second:
/// `JSONEncoder` takes longer than all else that is done for such a request.
///
/// Members must be written in the order of their keys, as `JSONEncoder` sorts them; what comes out
/// is what it would write, byte for byte.
struct JSONText: ~Copyable {
    /// What an answer about a customer of two purchases takes. Grows where there is more to say.
    private static let usualBytes = 2048

    private var start = UnsafeMutableRawPointer.allocate(byteCount: usualBytes, alignment: 1)
    private var room = usualBytes
    private var count = 0
    private var isFirst = true

    deinit { start.deallocate() }

    /// What has been written.
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

    /// A key of ours, which needs no escape; its value follows. In one piece: an answer has dozens.
    mutating func key(_ key: StaticString) {
        let length = key.utf8CodeUnitCount
        reserve(length + 4)
        if !isFirst { put(UInt8(ascii: ",")) }
        isFirst = false
        put(UInt8(ascii: "\""))
        (start + count).copyMemory(from: key.utf8Start, byteCount: length)
        count += length
        put(UInt8(ascii: "\""))
        put(UInt8(ascii: ":"))
    }

    /// A key that came from elsewhere.
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
            put(UInt8(ascii: "\""))
            if Self.isPlain(utf8) {
                append(UnsafeRawBufferPointer(utf8))
            } else {
                for byte in utf8 { escape(byte) }
            }
        }
        append("\"")
    }

    /// Nothing to escape. Without a branch, so that many bytes are looked at at once.
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
            put(byte)
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

    /// For which room is reserved.
    private mutating func put(_ byte: UInt8) {
        start.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    private mutating func reserve(_ more: Int) {
        if more > room - count { grow(by: more) }
    }

    private mutating func grow(by more: Int) {
        room = max(2 * room, count + more)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: 1)
        larger.copyMemory(from: start, byteCount: count)
        start.deallocate()
        start = larger
    }
}
