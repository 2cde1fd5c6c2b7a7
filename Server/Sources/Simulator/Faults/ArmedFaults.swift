import AppStoreFormats

/// The faults of one layer: the probability of each fault, the faults that are set to occur once,
/// and the number of times that each fault has occurred. The draws follow from the seed.
package struct ArmedFaults<Kind: FaultKind>: Sendable {
    /// Maximum number of waiting faults that are set to occur once.
    static var orderedMax: Int { 1000 }

    /// The probability of each fault, from 0 to 1. A fault that is absent does not occur at random.
    package var odds: [Kind: Double] = [:]
    /// Faults that occur once each, in this order. An event gets the first of them, if this fault
    /// can affect the event.
    package private(set) var ordered: [Kind] = []
    package private(set) var struck: [Kind: Int] = [:]
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    package mutating func order(_ kinds: [Kind]) throws(SimulatorProblem) {
        guard ordered.count + kinds.count <= Self.orderedMax else {
            throw .badRequest(
                "More than \(Self.orderedMax) faults would be waiting.",
                remedy: "Let some occur first, or use probabilities.")
        }
        ordered += kinds
    }

    /// Draws the faults of the next event, from those that can affect it. A fault that is set to
    /// occur once occurs alone, and waits while it cannot affect an event.
    ///
    /// The number of draws is always the same, whatever the probabilities: arming one fault does
    /// not change when others occur.
    mutating func draw(_ isPossible: (Kind) -> Bool = { _ in true }) -> [Kind] {
        let drawn = Kind.allCases.filter { kind in random.fraction() < (odds[kind] ?? 0) }
        var striking = drawn.filter(isPossible)
        if let first = ordered.first, isPossible(first) {
            ordered.removeFirst()
            striking = [first]
        }
        for kind in striking { struck[kind, default: 0] += 1 }
        return striking
    }

    mutating func fraction() -> Double { random.fraction() }
}

extension ArmedFaults {
    /// Probabilities by name, in order of declaration. Zero is omitted.
    var oddsJSON: [JSON.Member] {
        Kind.allCases.compactMap { kind in
            let odds = odds[kind] ?? 0
            return odds > 0 ? JSON.Member(kind.rawValue, .decimal("\(odds)")) : nil
        }
    }

    var orderedJSON: JSON { .array(ordered.map { .string($0.rawValue) }) }

    var struckJSON: JSON {
        .object(
            Kind.allCases.compactMap { kind in
                struck[kind].map { JSON.Member(kind.rawValue, .integer(Int64($0))) }
            })
    }
}
