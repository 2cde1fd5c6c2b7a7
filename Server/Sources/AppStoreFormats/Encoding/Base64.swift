/// Base64 of bytes, in the two alphabets that a JWS needs: base64url without padding for its
/// segments (RFC 4648 §5), standard with padding for the certificates in its header (§4). Decoding
/// is strict: each value has exactly one accepted text.
///
/// A notification of 10 kB is encoded or decoded several times, so groups of four characters are
/// converted with lookup tables. An entry for encoding contains two characters of a group; an entry
/// for decoding contains the bits of one character at their position.
package enum Base64: Sendable {
    case url
    case standard

    /// The encoded text of bytes, as ASCII.
    package func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let encoded = bytes.withContiguousStorageIfAvailable {
            encode(UnsafeRawBufferPointer($0))
        }
        return encoded ?? Array(bytes).withUnsafeBytes { encode($0) }
    }

    private func encode(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count(of: bytes.count)) { out, used in
            used = write(bytes, to: UnsafeMutableRawBufferPointer(out))
        }
    }

    /// The number of characters that encode a number of bytes.
    package func count(of bytes: Int) -> Int {
        self == .url ? (bytes * 4 + 2) / 3 : (bytes + 2) / 3 * 4
    }

    /// Writes the text of bytes to memory with enough space (``count(of:)``). Returns the number of
    /// characters.
    package func write(
        _ bytes: UnsafeRawBufferPointer, to target: UnsafeMutableRawBufferPointer
    ) -> Int {
        let tables = self == .url ? Base64Tables.url : Base64Tables.standard
        precondition(target.count >= count(of: bytes.count), "the target is too small")
        let whole = bytes.count / 3 * 3
        var (from, end) = (0, 0)
        tables.pairs.withUnsafeBufferPointer { pairs in
            // Encodes six bytes at a time, as long as eight bytes can be read.
            while from + 8 <= bytes.count {
                let bits = UInt64(
                    bigEndian: bytes.loadUnaligned(fromByteOffset: from, as: UInt64.self))
                let text =
                    UInt64(pairs[Int(truncatingIfNeeded: bits >> 52)])
                    | UInt64(pairs[Int(truncatingIfNeeded: bits >> 40 & 0xFFF)]) << 16
                    | UInt64(pairs[Int(truncatingIfNeeded: bits >> 28 & 0xFFF)]) << 32
                    | UInt64(pairs[Int(truncatingIfNeeded: bits >> 16 & 0xFFF)]) << 48
                target.storeBytes(of: text.littleEndian, toByteOffset: end, as: UInt64.self)
                from += 6
                end += 8
            }
            while from < whole {
                let bits =
                    Int(bytes[from]) << 16 | Int(bytes[from + 1]) << 8 | Int(bytes[from + 2])
                let text = UInt32(pairs[bits >> 12]) | UInt32(pairs[bits & 0xFFF]) << 16
                target.storeBytes(of: text.littleEndian, toByteOffset: end, as: UInt32.self)
                from += 3
                end += 4
            }
        }
        for character in tail(of: bytes, from: whole) {
            target[end] = character
            end += 1
        }
        return end
    }

    /// The characters for the remaining one or two bytes.
    private func tail(of bytes: UnsafeRawBufferPointer, from start: Int) -> [UInt8] {
        guard start < bytes.count else { return [] }
        let alphabet = self == .url ? Base64Tables.url.alphabet : Base64Tables.standard.alphabet
        let second = start + 1 < bytes.count ? bytes[start + 1] : nil
        let bits = Int(bytes[start]) << 16 | Int(second ?? 0) << 8
        var tail = [alphabet[bits >> 18], alphabet[bits >> 12 & 63]]
        if second != nil { tail.append(alphabet[bits >> 6 & 63]) }
        while self == .standard && tail.count < 4 { tail.append(UInt8(ascii: "=")) }
        return tail
    }

    /// The bytes that a text encodes. Returns nil for characters outside the alphabet, wrong
    /// padding, and non-zero remaining bits.
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
        let tables = self == .url ? Base64Tables.url : Base64Tables.standard
        return tables.values.withUnsafeBufferPointer { Self.decode(text, count: count, values: $0) }
    }

    /// Four characters make three bytes; two or three characters at the end make one or two bytes.
    /// Finally, one check finds characters outside the alphabet: each of them sets a bit above the
    /// lowest 24.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, count: Int, values: UnsafeBufferPointer<UInt32>
    ) -> [UInt8]? {
        var seen: UInt32 = 0
        var left: UInt32 = 0
        // A group is written as four bytes; the next group overwrites the last of them.
        let out = [UInt8](unsafeUninitializedCapacity: count * 3 / 4 + 4) { out, used in
            let target = UnsafeMutableRawBufferPointer(out)
            for group in 0..<count / 4 {
                let start = group * 4
                let bits =
                    values[Int(text[start])] | values[256 + Int(text[start + 1])]
                    | values[512 + Int(text[start + 2])] | values[768 + Int(text[start + 3])]
                seen |= bits
                target.storeBytes(
                    of: (bits << 8).bigEndian, toByteOffset: group * 3, as: UInt32.self)
            }
            used = count / 4 * 3
            let start = count / 4 * 4
            guard start < count else { return }
            var tail = values[Int(text[start])] | values[256 + Int(text[start + 1])]
            if start + 3 == count { tail |= values[512 + Int(text[start + 2])] }
            seen |= tail
            let bytes = count - start - 1
            target.storeBytes(of: (tail << 8).bigEndian, toByteOffset: used, as: UInt32.self)
            used += bytes
            left = tail << UInt32(8 + 8 * bytes)
        }
        return seen < 1 << 24 && left == 0 ? out : nil
    }
}

/// The lookup tables of ``Base64``, for one alphabet.
private struct Base64Tables: Sendable {
    let alphabet: [UInt8]
    /// The two characters for each value of twelve bits. The first character is in the low byte.
    let pairs: [UInt16]
    /// The value of each byte at each of the four positions in a group. The value has the byte's
    /// six bits at their place among 24 bits. If the byte is not in the alphabet, a higher bit is
    /// set instead.
    let values: [UInt32]

    private static let common = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    static let url = Base64Tables(common + "-_")
    static let standard = Base64Tables(common + "+/")

    private init(_ characters: String) {
        let alphabet = Array(characters.utf8)
        self.alphabet = alphabet
        pairs = (0..<4096).map { UInt16(alphabet[$0 & 63]) << 8 | UInt16(alphabet[$0 >> 6]) }
        var values = [UInt32](repeating: 1 << 24, count: 4 * 256)
        for (value, character) in alphabet.enumerated() {
            for place in 0..<4 {
                values[place * 256 + Int(character)] = UInt32(value) << UInt32(18 - 6 * place)
            }
        }
        self.values = values
    }
}
