/// One element of ASN.1 in its distinguished encoding (X.690): a tag of one byte, a definite
/// length, and the content. A receipt's content consists of such elements only.
package struct DERElement: Sendable {
    package static let integer: UInt8 = 0x02
    package static let octets: UInt8 = 0x04
    static let utf8Text: UInt8 = 0x0C
    static let asciiText: UInt8 = 0x16
    package static let sequence: UInt8 = 0x30
    package static let set: UInt8 = 0x31

    let tag: UInt8
    package let content: ArraySlice<UInt8>
    /// The bytes of the whole element, with tag and length.
    package let encoded: ArraySlice<UInt8>

    /// Removes and parses the first element of some bytes.
    package init(removingFrom bytes: inout ArraySlice<UInt8>) throws(ReceiptFailure) {
        let whole = bytes
        guard let tag = bytes.popFirst(), let first = bytes.popFirst() else {
            throw ReceiptFailure("the bytes end within an element")
        }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard (1...4).contains(count), bytes.count >= count else {
                throw ReceiptFailure("an element has no definite length of at most four bytes")
            }
            length = bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            // Each length has exactly one valid encoding (X.690 §10.1): with several encodings, one
            // document could have many digests.
            guard length >= 0x80, bytes.first != 0 else {
                throw ReceiptFailure("a length is not in its shortest encoding")
            }
            bytes = bytes.dropFirst(count)
        }
        guard bytes.count >= length else {
            throw ReceiptFailure("an element is longer than its container")
        }
        self.tag = tag
        content = bytes.prefix(length)
        bytes = bytes.dropFirst(length)
        encoded = whole[..<bytes.startIndex]
    }

    /// Removes and parses the first element, which must have the given tag.
    package init(_ tag: UInt8, removingFrom bytes: inout ArraySlice<UInt8>) throws(ReceiptFailure) {
        try self.init(removingFrom: &bytes)
        guard self.tag == tag else {
            throw ReceiptFailure("an element has the tag \(self.tag) instead of \(tag)")
        }
    }

    static func bytes(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        if count < 0x80 { return [tag, UInt8(count)] + content }
        let length = bigEndian(UInt64(count))
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }

    /// The number in the content of an INTEGER. Returns nil if the content is empty or has more
    /// than 64 bits.
    static func integer(_ content: ArraySlice<UInt8>) -> Int64? {
        guard let first = content.first, content.count <= 8 else { return nil }
        let start: Int64 = first >= 0x80 ? -1 : 0
        return content.reduce(start) { $0 << 8 | Int64($1) }
    }

    static func integerContent(_ number: Int64) -> [UInt8] {
        var bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> Int64(56 - 8 * $0)) }
        // The first byte is redundant if the next one has the same sign.
        while bytes.count > 1,
            bytes[0] == 0 && bytes[1] < 0x80 || bytes[0] == 0xFF && bytes[1] >= 0x80
        {
            bytes.removeFirst()
        }
        return bytes
    }

    private static func bigEndian(_ number: UInt64) -> [UInt8] {
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
        return Array(bytes.drop { $0 == 0 })
    }
}
