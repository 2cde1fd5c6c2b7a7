/// Base64 over bytes, in the two alphabets that a JWS needs: base64url without padding for its segments (RFC 4648 §5),
/// standard with padding for the certificates in its header (§4). Decoding is strict: one text for one value.
package enum Base64: Sendable {
    case url
    case standard

    /// The text as ASCII bytes.
    package func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let alphabet = self == .url ? Self.urlAlphabet : Self.standardAlphabet
        var out: [UInt8] = []
        out.reserveCapacity((bytes.count + 2) / 3 * 4)
        var bits: UInt32 = 0
        var held = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            held += 8
            while held >= 6 {
                held -= 6
                out.append(alphabet[Int(bits >> UInt32(held)) & 63])
            }
        }
        if held > 0 { out.append(alphabet[Int(bits << UInt32(6 - held)) & 63]) }
        if self == .standard { while out.count % 4 != 0 { out.append(UInt8(ascii: "=")) } }
        return out
    }

    /// The bytes that a text stands for; nil for characters outside the alphabet, wrong padding, and bits left over.
    package func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        var count = text.count
        if self == .standard {
            guard count % 4 == 0 else { return nil }
            count -= text.suffix(2).count { $0 == UInt8(ascii: "=") }
        }
        guard count % 4 != 1 else { return nil }
        let values = self == .url ? Self.urlValues : Self.standardValues
        var out: [UInt8] = []
        out.reserveCapacity(count * 3 / 4)
        var bits: UInt32 = 0
        var held = 0
        for character in text.prefix(count) {
            let value = values[Int(character)]
            guard value < 64 else { return nil }
            bits = bits << 6 | UInt32(value)
            held += 6
            if held >= 8 {
                held -= 8
                out.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
            }
        }
        return bits & (1 << UInt32(held) - 1) == 0 ? out : nil
    }

    private static let common = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    private static let urlAlphabet = Array((common + "-_").utf8)
    private static let standardAlphabet = Array((common + "+/").utf8)
    private static let urlValues = values(of: urlAlphabet)
    private static let standardValues = values(of: standardAlphabet)

    /// For each byte its six bits, or 255 where the alphabet lacks it.
    private static func values(of alphabet: [UInt8]) -> [UInt8] {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }
}
