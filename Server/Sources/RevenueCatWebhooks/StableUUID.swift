/// A UUID that is derived from words: the same words give the same UUID on every server. It is an
/// id and not a secret, so a short hash without a key is enough.
package enum StableUUID {
    /// FNV-1a with 128 bits.
    private static let offset: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
    private static let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b

    /// The UUID of words, as text in the form of RFC 9562, with version 8.
    package static func text(of words: [String]) -> String {
        var hash = offset
        for word in words {
            // The ends of words are hashed too, so that ["ab", "c"] differs from ["a", "bc"].
            for byte in Array(word.utf8) + [0] { hash = (hash ^ UInt128(byte)) &* prime }
        }
        let version: UInt128 = 0x8 << 76
        let variant: UInt128 = 0x2 << 62
        hash = hash & ~(0xF << 76) | version
        hash = hash & ~(0x3 << 62) | variant
        let digits = String(hash, radix: 16, uppercase: true)
        let padded = Array(String(repeating: "0", count: 32 - digits.count) + digits)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(padded[$0]) }
            .joined(separator: "-")
    }
}
