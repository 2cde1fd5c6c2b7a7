import Ledger
import Simulator

/// The random number generator of a trial. Each part of a trial has a separate generator, so that
/// leaving out one part changes no other part.
struct TrialRandom: RandomNumberGenerator, Sendable {
    private var random: SplitMix64

    /// The generator of one part of a trial.
    init(seed: UInt64, part: String) {
        var name = FNV1a()
        name.add(part)
        random = SplitMix64(seed: name.digest ^ seed &* 0x9E37_79B9_7F4A_7C15)
        _ = next()
    }

    mutating func next() -> UInt64 { random.next() }

    /// A random one of the given values.
    mutating func choice<Value>(_ values: Value...) -> Value {
        values[number(in: 0...values.count - 1)]
    }

    /// A random duration in milliseconds. Durations of each order of magnitude are about equally
    /// likely.
    mutating func length(from least: Duration, to most: Duration) -> Int64 {
        var length = Double(least.wholeMilliseconds)
        let end = Double(most.wholeMilliseconds)
        while length * 10 < end, happens(0.6) { length *= 10 }
        return Int64(min(end, length * (1 + 9 * fraction())))
    }
}
