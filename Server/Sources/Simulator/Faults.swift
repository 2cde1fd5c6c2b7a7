import AppStoreFormats

/// What goes wrong on the way between the store and the server. Drawn from the seed, apart from the
/// world's own draws, so that a world with faults has the same history as one without.
package struct Faults: Sendable {
    /// What happens to one notification.
    enum Fate: Hashable, Sendable {
        case sent
        case dropped
        case duplicated
        /// Held back for so many milliseconds.
        case delayed(Int64)
        /// Held back until after the next one.
        case reordered
    }

    /// Probabilities from 0 to 1.
    package struct Odds: Hashable, Sendable {
        package var drop = 0.0
        package var duplicate = 0.0
        package var reorder = 0.0
        package var delay = 0.0

        package init(
            drop: Double = 0, duplicate: Double = 0, reorder: Double = 0, delay: Double = 0
        ) {
            self.drop = drop
            self.duplicate = duplicate
            self.reorder = reorder
            self.delay = delay
        }
    }

    /// What is to happen to the next notification, once.
    package enum Once: String, Hashable, Sendable, CaseIterable {
        case drop
        case duplicate
        case delay
        case reorder
    }

    /// A delay: of fixed length, or drawn evenly up to it.
    package struct Delay: Hashable, Sendable {
        package var seconds: Int64
        package var isMaximum: Bool

        /// A month.
        package static let secondsMax: Int64 = 2_678_400

        package init(seconds: Int64, isMaximum: Bool = false) {
            self.seconds = seconds
            self.isMaximum = isMaximum
        }
    }

    package var odds = Odds()
    package var delay = Delay(seconds: 3600)
    private var next: [Once] = []
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed ^ 0x5EED_FA17) }

    mutating func schedule(_ once: Once) { next.append(once) }

    /// The fate of the next notification. Always the same number of draws, whatever the odds.
    mutating func fate() -> Fate {
        let draws = (0..<4).map { _ in random.fraction() }
        let length = delayMilliseconds(random.fraction())
        if !next.isEmpty {
            switch next.removeFirst() {
            case .drop: return .dropped
            case .duplicate: return .duplicated
            case .delay: return .delayed(length)
            case .reorder: return .reordered
            }
        }
        if draws[0] < odds.drop { return .dropped }
        if draws[1] < odds.duplicate { return .duplicated }
        if draws[2] < odds.reorder { return .reordered }
        return draws[3] < odds.delay ? .delayed(length) : .sent
    }

    private func delayMilliseconds(_ fraction: Double) -> Int64 {
        let whole = delay.seconds * 1000
        return delay.isMaximum ? Int64(Double(whole) * fraction) : whole
    }
}
