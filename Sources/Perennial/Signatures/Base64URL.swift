/// Base64url (RFC 4648 §5) as JWS uses it (RFC 7515 §2): no padding, no whitespace.
enum Base64URL {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let foreign: UInt8 = 255
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: foreign, count: 256)
        for (value, letter) in alphabet.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()

    /// Decodes a text. For each sequence of bytes, exactly one text is valid. So the function
    /// returns nil for padding, whitespace, letters of other alphabets, an impossible length, and
    /// unused bits that are set.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let rest = text.count % 4
        guard rest != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 2)
        var bits: UInt32 = 0
        var bitCount = 0
        for letter in text {
            let value = values[Int(letter)]
            guard value != foreign else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
            bits &= 1 << UInt32(bitCount) - 1
        }
        return bits == 0 ? bytes : nil
    }

    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var bitCount = 0
        for byte in bytes {
            bits = (bits << 8 | UInt32(byte)) & 0xFFFF
            bitCount += 8
            while bitCount >= 6 {
                bitCount -= 6
                text.append(alphabet[Int(bits >> UInt32(bitCount) & 63)])
            }
        }
        if bitCount > 0 { text.append(alphabet[Int(bits << UInt32(6 - bitCount) & 63)]) }
        return String(decoding: text, as: UTF8.self)
    }
}
