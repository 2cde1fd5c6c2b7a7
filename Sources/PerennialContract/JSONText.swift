/// JSON text that is written value by value, for answers that are sent thousands of times a second.
///
/// This is a class, because the containers of an encoder share it. Only these containers refer to
/// the object, and none of the object's methods calls a container while the object changes. So
/// exclusive access need not be checked at run time: the check would take about as long as the rest
/// of the encoding.
final class JSONText {
    /// The initial size in bytes, which is enough for a customer with two purchases. The memory
    /// grows if the text is longer.
    private static let usualBytes = 2048

    @exclusivity(unchecked) private var start = UnsafeMutableRawPointer.allocate(
        byteCount: usualBytes, alignment: 1)
    @exclusivity(unchecked) private var room = usualBytes
    @exclusivity(unchecked) private(set) var count = 0
    @exclusivity(unchecked) private var brackets: [Bracket] = []
    /// Whether the innermost object or array is still empty.
    @exclusivity(unchecked) private var isFirst = true

    deinit { start.deallocate() }

    enum Bracket {
        case object, array
    }

    /// The number of objects and arrays that are open.
    var depth: Int { brackets.count }

    /// The bytes that have been written.
    var bytes: [UInt8] { Array(UnsafeRawBufferPointer(start: start, count: count)) }

    /// Opens an object or an array at a depth. If the value at that depth has already opened an
    /// object or an array, only closes the brackets within it.
    func open(_ bracket: Bracket, below depth: Int) {
        if brackets.count > depth { return close(to: depth + 1) }
        writeByte(bracket == .object ? UInt8(ascii: "{") : UInt8(ascii: "["))
        brackets.append(bracket)
        isFirst = true
    }

    /// Closes the objects and arrays below a depth.
    func close(to depth: Int) {
        while brackets.count > depth, let bracket = brackets.popLast() {
            writeByte(bracket == .object ? UInt8(ascii: "}") : UInt8(ascii: "]"))
            isFirst = false
        }
    }

    /// Writes the separator before an element of the array at a depth.
    func element(at depth: Int) {
        precondition(brackets.count >= depth, "This array has ended.")
        close(to: depth)
        if !isFirst { writeByte(UInt8(ascii: ",")) }
        isFirst = false
    }

    /// Writes a key of the object at a depth. The caller then writes the value of the key.
    func key(_ key: String, at depth: Int) {
        element(at: depth)
        string(key)
        writeByte(UInt8(ascii: ":"))
    }

    func null() { append("null") }

    func bool(_ value: Bool) { append(value ? "true" : "false") }

    func integer(_ value: some FixedWidthInteger) { append(String(value)) }

    /// Writes a finite number. A whole number has no decimal point.
    func number(_ value: Double) {
        let text = value.description
        append(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
    }

    func string(_ value: String) {
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
        writeByte(UInt8(ascii: "\""))
    }

    /// Whether no byte needs an escape. The loop has no branch, so that the processor compares many
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

    private func escape(_ byte: UInt8) {
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
        default: writeByte(byte)
        }
    }
}

// MARK: - Memory

extension JSONText {
    private func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    private func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (start + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    private func writeByte(_ byte: UInt8) {
        reserve(1)
        start.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    private func reserve(_ more: Int) {
        if more > room - count { grow(by: more) }
    }

    private func grow(by more: Int) {
        room = max(2 * room, count + more)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: 1)
        larger.copyMemory(from: start, byteCount: count)
        start.deallocate()
        start = larger
    }
}
