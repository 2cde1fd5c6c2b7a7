/// Base64 over bytes, in the two alphabets that a JWS needs: base64url without padding for its
/// segments (RFC 4648 §5), standard with padding for the certificates in its header (§4). Decoding
/// is strict: one text for one value.
package enum Base64: Sendable {
    case url
    case standard

    /// The text as ASCII bytes.
    package func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let encoded = bytes.withContiguousStorageIfAvailable { encode($0) }
        return encoded ?? Array(bytes).withUnsafeBufferPointer { encode($0) }
    }

    private func encode(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        let alphabet = self == .url ? Self.urlAlphabet : Self.standardAlphabet
        let isPadded = self == .standard
        return alphabet.withUnsafeBufferPointer { alphabet in
            [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { out, used in
                func append(_ bits: UInt32, _ characters: Int) {
                    for index in 0..<characters {
                        let value = bits >> UInt32(18 - 6 * index) & 63
                        out.initializeElement(at: used, to: alphabet[Int(value)])
                        used += 1
                    }
                }
                var offset = 0
                while offset + 3 <= bytes.count {
                    let high = UInt32(bytes[offset]) << 16 | UInt32(bytes[offset + 1]) << 8
                    append(high | UInt32(bytes[offset + 2]), 4)
                    offset += 3
                }
                guard offset < bytes.count else { return }
                var tail = UInt32(bytes[offset]) << 16
                if offset + 2 == bytes.count { tail |= UInt32(bytes[offset + 1]) << 8 }
                append(tail, bytes.count - offset + 1)
                while isPadded && used % 4 != 0 {
                    out.initializeElement(at: used, to: UInt8(ascii: "="))
                    used += 1
                }
            }
        }
    }

    /// The bytes that a text stands for; nil for characters outside the alphabet, wrong padding,
    /// and bits left over.
    package func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let decoded = text.withContiguousStorageIfAvailable { decode($0) }
        return decoded ?? Array(text).withUnsafeBufferPointer { decode($0) }
    }

    private func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        var count = text.count
        if self == .standard {
            guard count % 4 == 0 else { return nil }
            count -= text.suffix(2).count { $0 == UInt8(ascii: "=") }
        }
        guard count % 4 != 1 else { return nil }
        let values = self == .url ? Self.urlValues : Self.standardValues
        return values.withUnsafeBufferPointer { Self.decode(text, count: count, values: $0) }
    }

    /// Four characters make three bytes; two or three at the end make one or two. Whether all were
    /// of the alphabet is asked once, at the end: their values are below 64, all others are 255.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, count: Int, values: UnsafeBufferPointer<UInt8>
    ) -> [UInt8]? {
        var seen: UInt8 = 0
        var left: UInt32 = 0
        func bits(_ offset: Int) -> UInt32 {
            let value = values[Int(text[offset])]
            seen |= value
            return UInt32(value)
        }
        let out = [UInt8](unsafeUninitializedCapacity: count * 3 / 4) { out, used in
            func append(_ bits: UInt32, _ bytes: Int) {
                for index in 0..<bytes {
                    let byte = UInt8(truncatingIfNeeded: bits >> UInt32(16 - 8 * index))
                    out.initializeElement(at: used, to: byte)
                    used += 1
                }
            }
            var offset = 0
            while offset + 4 <= count {
                let high = bits(offset) << 18 | bits(offset + 1) << 12
                append(high | bits(offset + 2) << 6 | bits(offset + 3), 3)
                offset += 4
            }
            guard offset < count else { return }
            var tail = bits(offset) << 18 | bits(offset + 1) << 12
            if offset + 3 == count { tail |= bits(offset + 2) << 6 }
            let bytes = count - offset - 1
            append(tail, bytes)
            left = tail << UInt32(8 + 8 * bytes)
        }
        return seen < 64 && left == 0 ? out : nil
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
