/// An FNV-1a digest. The digest of a text is the same in every process, unlike Swift's own hashes.
struct FNV1a: Hashable, Sendable {
    private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ text: String) { for byte in text.utf8 { add(UInt64(byte)) } }

    mutating func add(_ word: UInt64) { digest = (digest ^ word) &* 0x0000_0100_0000_01B3 }
}
