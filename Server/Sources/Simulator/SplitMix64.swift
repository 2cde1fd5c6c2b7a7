/// A small generator of pseudo-random numbers: everything random in a simulated world comes from
/// its seed, so that a run can be had again. (Steele, Lea, Flood: Fast Splittable Pseudorandom
/// Number Generators, 2014.)
struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// A number at least 0 and below 1.
    mutating func fraction() -> Double { Double(next() >> 11) / Double(UInt64(1) << 53) }

    /// A random UUID (RFC 9562 §5.4) in lower case, as Apple writes it.
    mutating func uuid() -> String {
        let high = next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let digits = Array(Self.hex(high) + Self.hex(low))
        let ends = [8, 12, 16, 20, 32]
        var start = 0
        let parts = ends.map { end in
            defer { start = end }
            return String(digits[start..<end])
        }
        return parts.joined(separator: "-")
    }

    private static func hex(_ value: UInt64) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
