import AppStoreFormats

/// The random generator of a life.
struct Dice: RandomNumberGenerator, Sendable {
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func next() -> UInt64 { random.next() }

    /// Picks one of several values by its probability. The probabilities add up to less than one;
    /// returns nil with the remaining probability.
    mutating func pick<Value>(weighted values: [(odds: Double, whim: Value)]) -> Value? {
        var rest = fraction()
        for (odds, value) in values {
            if rest < odds { return value }
            rest -= odds
        }
        return nil
    }

    mutating func uuid() -> String { random.uuid() }

    /// A moment within a span, more likely early in it.
    mutating func moment(from start: AppStoreDate, until end: AppStoreDate) -> AppStoreDate {
        let part = fraction()
        let length = max(0, end.milliseconds - start.milliseconds)
        return AppStoreDate(milliseconds: start.milliseconds + Int64(Double(length) * part * part))
    }

    /// Probability that something happens close to a boundary.
    private static let edge = 0.3

    /// A moment within a span. In a third of the cases, the moment is close to the span's end, or
    /// is its very beginning.
    mutating func momentNearEdge(from start: AppStoreDate, until end: AppStoreDate) -> AppStoreDate
    {
        guard happens(Self.edge) else { return moment(from: start, until: end) }
        let beside = EdgeMoments.beforeEnd.map {
            AppStoreDate(milliseconds: end.milliseconds + $0)
        }
        return max(start, pick([start] + beside) ?? start)
    }
}
