import Simulator

/// Numbers that depend on texts only, so that ids and chosen faults are the same in every run.
enum StableHash {
    /// A number for several texts (FNV-1a, then mixed). The separator keeps `ab, c` and `a, bc`
    /// apart.
    static func number(_ texts: String...) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for text in texts {
            for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
            hash = (hash ^ 0x1F) &* 0x0000_0100_0000_01B3
        }
        var mixer = SplitMix64(seed: hash)
        return mixer.next()
    }

    /// Lower-case hexadecimal digits for a text, at most 16.
    static func hex(_ text: String, digits: Int = 10) -> String {
        let all = String(number(text), radix: 16)
        return String((String(repeating: "0", count: 16 - all.count) + all).prefix(digits))
    }

    /// A fraction of at least 0 and below 1 for several texts and a seed.
    static func fraction(_ seed: UInt64, _ texts: String...) -> Double {
        var mixer = SplitMix64(seed: texts.reduce(seed) { number("\($0)", $1) })
        return mixer.fraction()
    }
}
