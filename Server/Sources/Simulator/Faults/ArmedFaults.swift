import AppStoreFormats

/// The faults of one layer: how likely each is, which are ordered for once, and how often each has
/// struck. Drawn from the seed.
package struct ArmedFaults<Kind: FaultKind>: Sendable {
    /// Faults that wait to strike once.
    static var orderedMax: Int { 1000 }

    /// Probabilities from 0 to 1; what is absent does not happen.
    package var odds: [Kind: Double] = [:]
    /// Each strikes once, in this order, one for each event that it can strike.
    package private(set) var ordered: [Kind] = []
    package private(set) var struck: [Kind: Int] = [:]
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    package mutating func order(_ kinds: [Kind]) throws(StoreProblem) {
        guard ordered.count + kinds.count <= Self.orderedMax else {
            throw .badRequest(
                "More than \(Self.orderedMax) faults would wait to strike.",
                remedy: "Let some strike first, or use probabilities.")
        }
        ordered += kinds
    }

    /// All that strikes the next event, of what can strike it. An ordered fault comes alone, and
    /// waits where it cannot strike yet.
    ///
    /// Always the same number of draws, whatever the odds: a fault that is armed changes nothing
    /// about the others.
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
    /// By name, in the order of the names' declaration; what is zero is left out.
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
