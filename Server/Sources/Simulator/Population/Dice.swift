import AppStoreFormats

/// What a random life is drawn with.
struct Dice: RandomNumberGenerator, Sendable {
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func next() -> UInt64 { random.next() }

    /// One of several by its odds, which come to less than one; else nothing.
    mutating func pick<Value>(weighted values: [(odds: Double, whim: Value)]) -> Value? {
        var rest = fraction()
        for (odds, value) in values {
            if rest < odds { return value }
            rest -= odds
        }
        return nil
    }

    mutating func uuid() -> String { random.uuid() }

    /// A moment of a span: rather early in it.
    mutating func moment(from start: AppStoreDate, until end: AppStoreDate) -> AppStoreDate {
        let part = fraction()
        let length = max(0, end.milliseconds - start.milliseconds)
        return AppStoreDate(milliseconds: start.milliseconds + Int64(Double(length) * part * part))
    }

    /// Odds that something happens right beside an end.
    private static let edge = 0.3

    /// A moment of a span; every third time one beside its end, or its very beginning.
    mutating func edgyMoment(from start: AppStoreDate, until end: AppStoreDate) -> AppStoreDate {
        guard happens(Self.edge) else { return moment(from: start, until: end) }
        let beside = EdgeMoments.beforeEnd.map {
            AppStoreDate(milliseconds: end.milliseconds + $0)
        }
        return max(start, pick([start] + beside) ?? start)
    }
}
