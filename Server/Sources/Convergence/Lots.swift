/// What a trial is drawn with. Each part of a trial has lots of its own, so that leaving one part
/// out changes nothing about the others. (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, 2014.)
struct Lots: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// The lots of one part of a trial.
    init(seed: UInt64, part: String) {
        // FNV-1a: the same in every process, which Swift's own hashes are not.
        let digest = part.utf8.reduce(0xCBF2_9CE4_8422_2325) { digest, byte in
            (digest ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        }
        state = digest ^ seed &* 0x9E37_79B9_7F4A_7C15
        _ = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// At least 0 and below 1.
    mutating func fraction() -> Double { Double(next() >> 11) / Double(UInt64(1) << 53) }

    mutating func happens(_ odds: Double) -> Bool { fraction() < odds }

    mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(fraction() * Double(range.count))
    }

    mutating func pick<Value>(_ values: [Value]) -> Value? {
        values.isEmpty ? nil : values[number(in: 0...values.count - 1)]
    }

    /// One of several that are written out.
    mutating func choice<Value>(_ values: Value...) -> Value {
        values[number(in: 0...values.count - 1)]
    }

    /// A length of time in milliseconds: short ones are as likely as long ones of ten times that.
    mutating func length(from least: Duration, to most: Duration) -> Int64 {
        var length = Double(least.inMilliseconds)
        let end = Double(most.inMilliseconds)
        while length * 10 < end, happens(0.6) { length *= 10 }
        return Int64(min(end, length * (1 + 9 * fraction())))
    }
}

extension Duration {
    var inMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
