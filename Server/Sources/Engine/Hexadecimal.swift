/// Converts bytes to text and back: two hexadecimal digits for each byte, in lower case.
package enum Hexadecimal {
    package static func text(_ bytes: some Collection<UInt8>) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            var place = 0
            for byte in bytes {
                text[place] = digit(byte >> 4)
                text[place + 1] = digit(byte & 15)
                place += 2
            }
            return place
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// The bytes that a text represents. Also accepts upper case. Returns nil unless the text
    /// consists of pairs of digits.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        let values = digits.compactMap(\.self)
        return stride(from: 0, to: values.count, by: 2).map {
            UInt8(values[$0] << 4 | values[$0 + 1])
        }
    }
}
