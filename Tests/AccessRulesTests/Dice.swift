import Foundation

/// A random number generator: the same seed gives the same numbers (SplitMix64: Steele, Lea, Flood,
/// Fast Splittable Pseudorandom Number Generators, 2014).
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    /// Takes its seed from the environment variable PERENNIAL_SEED, or chooses one, and prints it.
    init(announcedBy name: String) {
        let given = ProcessInfo.processInfo.environment["PERENNIAL_SEED"].flatMap(UInt64.init)
        state = given ?? UInt64.random(in: 0...UInt64.max / 2)
        print("\(name): PERENNIAL_SEED=\(state)")
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// Returns true once in this number of times, on average.
    mutating func once(in times: Int) -> Bool { Int.random(in: 0..<times, using: &self) == 0 }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &self)]
    }
}
