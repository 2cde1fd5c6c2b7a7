/// A small pseudo-random number generator. Everything random in a simulated world comes from its
/// seed, so that a run can be repeated. (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, 2014.)
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// A random UUID (RFC 9562 §5.4) in lower case, as Apple writes it.
    mutating func uuid() -> String {
        let high = next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        return String(unsafeUninitializedCapacity: 36) { text in
            var count = 0
            for place in 0..<32 {
                if place == 8 || place == 12 || place == 16 || place == 20 {
                    text[count] = UInt8(ascii: "-")
                    count += 1
                }
                text[count] = Self.hexDigit(place < 16 ? high : low, at: place % 16)
                count += 1
            }
            return count
        }
    }

    /// A hexadecimal digit of a number; place 0 is the most significant of sixteen.
    private static func hexDigit(_ number: UInt64, at place: Int) -> UInt8 {
        let digit = UInt8(truncatingIfNeeded: number >> UInt64(60 - place * 4)) & 15
        return digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
}

/// Draws that work with any generator.
extension RandomNumberGenerator {
    /// A number of at least 0 and below 1.
    package mutating func fraction() -> Double {
        let bits: UInt64 = next()
        return Double(bits >> 11) / Double(UInt64(1) << 53)
    }

    package mutating func happens(_ odds: Double) -> Bool { fraction() < odds }

    package mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(fraction() * Double(range.count))
    }

    /// A random element. Returns nil if the array is empty.
    package mutating func pick<Value>(_ values: [Value]) -> Value? {
        values.isEmpty ? nil : values[number(in: 0...values.count - 1)]
    }
}
