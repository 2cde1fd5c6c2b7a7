import Ledger
import Simulator

/// What a trial is drawn with. Each part of a trial has lots of its own, so that leaving one part
/// out changes nothing about the others.
struct Lots: RandomNumberGenerator, Sendable {
    private var random: SplitMix64

    /// The lots of one part of a trial.
    init(seed: UInt64, part: String) {
        var name = FNV1a()
        name.add(part)
        random = SplitMix64(seed: name.digest ^ seed &* 0x9E37_79B9_7F4A_7C15)
        _ = next()
    }

    mutating func next() -> UInt64 { random.next() }

    /// One of several that are written out.
    mutating func choice<Value>(_ values: Value...) -> Value {
        values[number(in: 0...values.count - 1)]
    }

    /// A length of time in milliseconds: short ones are as likely as long ones of ten times that.
    mutating func length(from least: Duration, to most: Duration) -> Int64 {
        var length = Double(least.wholeMilliseconds)
        let end = Double(most.wholeMilliseconds)
        while length * 10 < end, happens(0.6) { length *= 10 }
        return Int64(min(end, length * (1 + 9 * fraction())))
    }
}
