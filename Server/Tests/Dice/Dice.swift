import Foundation

/// A random number generator: the same seed gives the same numbers (SplitMix64: Steele, Lea, Flood,
/// Fast Splittable Pseudorandom Number Generators, 2014).
package struct Dice: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// Takes its seed from the environment variable PERENNIAL_SEED, or chooses one, and prints it.
    ///
    /// - Parameter name: the name of the suite, which is printed with the seed.
    package init(announcedBy name: String) {
        self.init(
            seed: Self.seed(announcedBy: name, usual: UInt64.random(in: 0...UInt64.max / 2)))
    }

    /// Returns the seed from the environment variable PERENNIAL_SEED, otherwise `usual`, and prints
    /// it.
    package static func seed(announcedBy name: String, usual: UInt64) -> UInt64 {
        let given = ProcessInfo.processInfo.environment["PERENNIAL_SEED"].flatMap(UInt64.init)
        let seed = given ?? usual
        print("\(name): PERENNIAL_SEED=\(seed)")
        return seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// Bytes with some places changed, removed or doubled, and sometimes a range repeated or
    /// removed.
    ///
    /// - Parameters:
    ///   - places: the largest number of damaged places.
    ///   - marks: bytes with a meaning in the format. Such bytes reach inner parsers more often.
    package mutating func damaged(
        _ bytes: [UInt8], places: Int = 3, marks: some Collection<UInt8>
    ) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...places, using: &self) where !bytes.isEmpty {
            let offset = Int.random(in: bytes.indices, using: &self)
            switch Int.random(in: 0..<8, using: &self) {
            case 0: bytes.remove(at: offset)
            case 1: bytes.insert(bytes[offset], at: offset)
            case 2: bytes[offset] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 3, 4: bytes[offset] = marks.randomElement(using: &self) ?? 0
            case 5: bytes[offset] = UInt8.random(in: 0...255, using: &self)
            case 6:
                let end = min(offset + Int.random(in: 1...64, using: &self), bytes.count)
                bytes.insert(contentsOf: bytes[offset..<end], at: offset)
            default: bytes.removeSubrange(offset..<min(offset + 7, bytes.count))
            }
        }
        return bytes
    }
}
