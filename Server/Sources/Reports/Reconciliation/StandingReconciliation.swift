import Ledger

/// The numbers of subscriptions by state at the end of a day in one country.
package struct StandingFigure: Hashable, Sendable {
    package struct Key: Hashable, Comparable, Sendable {
        package var day: Int64
        /// The country of the store account: two letters, as in ISO 3166-1. Nil if no document
        /// contains it.
        package var country: String?

        package init(day: Int64, country: String?) {
            self.day = day
            self.country = country
        }

        package static func < (one: Self, other: Self) -> Bool {
            (one.day, one.country ?? "") < (other.day, other.country ?? "")
        }
    }

    package var key: Key
    /// Subscriptions that are paid and open, including those in grace.
    package var active: Int64 = 0
    package var trials: Int64 = 0
    /// The number of active subscriptions in grace.
    package var grace: Int64 = 0
    package var retry: Int64 = 0
    /// Subscriptions that are not active, because our documents say that they were refunded at that
    /// time and charged again later. The App Store may have charged again earlier than the first
    /// document about the charge says.
    package var restored: Int64 = 0
    /// Trials in the same situation as the subscriptions of ``restored``.
    package var restoredTrials: Int64 = 0
    /// Subscriptions that only we count as active: they were in a grace period at that time, and
    /// were paid later.
    package var collected: Int64 = 0
    /// Trials in the same situation as the subscriptions of ``collected``: the collected period
    /// cost nothing.
    package var collectedTrials: Int64 = 0
    /// Subscriptions in retry whose retry ended soon after the day's end, according to the first
    /// document about it.
    package var overSoon: Int64 = 0

    package init(_ key: Key) { self.key = key }

    package mutating func add(_ other: Self) {
        active = active.addingSaturated(other.active)
        trials = trials.addingSaturated(other.trials)
        grace = grace.addingSaturated(other.grace)
        retry = retry.addingSaturated(other.retry)
        restored = restored.addingSaturated(other.restored)
        restoredTrials = restoredTrials.addingSaturated(other.restoredTrials)
        collected = collected.addingSaturated(other.collected)
        collectedTrials = collectedTrials.addingSaturated(other.collectedTrials)
        overSoon = overSoon.addingSaturated(other.overSoon)
    }
}

/// Compares numbers of subscriptions at the ends of days.
package struct StandingReconciliation: Sendable {
    /// The differences that were found, sorted by day and country.
    package private(set) var differences: [SalesDifference] = []
    package private(set) var comparedCount = 0

    /// The subject of these differences, in place of a product.
    private static let subject: ProductID = "subscriptions"

    /// - Parameters:
    ///   - ours: one figure for each key of the days.
    ///   - apples: one figure for each key.
    ///   - days: the days for which there is a file. Other days are not compared.
    package init(ours: [StandingFigure], apples: [StandingFigure], days: Set<Int64>) {
        let mine = Dictionary(ours.map { ($0.key, $0) }) { first, _ in first }
        let theirs = Dictionary(apples.map { ($0.key, $0) }) { first, _ in first }
        for key in Set(mine.keys).union(theirs.keys).sorted() where days.contains(key.day) {
            compare(mine[key] ?? StandingFigure(key), theirs[key] ?? StandingFigure(key))
        }
    }

    /// The sums of the differences that may mean that subscriptions are missing, by quantity.
    package var residual: [SalesDifference.Quantity: Int64] {
        differences.filter(\.cause.isResidual).reduce(into: [:]) {
            $0[$1.quantity] = ($0[$1.quantity] ?? 0).addingSaturated($1.difference)
        }
    }

    private mutating func compare(_ mine: StandingFigure, _ theirs: StandingFigure) {
        var mine = mine
        let restored = min(mine.restored, max(0, theirs.active.subtractingSaturated(mine.active)))
        shift(&mine, \.active, by: restored, .active, .refundReversed)
        let restoredTrials = min(
            mine.restoredTrials, max(0, theirs.trials.subtractingSaturated(mine.trials)))
        shift(&mine, \.trials, by: restoredTrials, .trials, .refundReversed)
        // A payment collected in a grace period counts as paid from the beginning of its period.
        let collected = min(mine.collected, max(0, theirs.grace.subtractingSaturated(mine.grace)))
        shift(&mine, \.grace, by: collected, .grace, .chargeOnAnotherDay)
        // If the collected period costs nothing, we count it as a trial from its beginning.
        let collectedTrials = min(
            mine.collectedTrials, collected,
            max(0, mine.trials.subtractingSaturated(theirs.trials)),
            max(0, theirs.active.subtractingSaturated(mine.active)))
        shift(&mine, \.active, by: collectedTrials, .active, .chargeOnAnotherDay)
        shift(&mine, \.trials, by: -collectedTrials, .trials, .chargeOnAnotherDay)
        let overSoon = min(mine.overSoon, max(0, mine.retry.subtractingSaturated(theirs.retry)))
        shift(&mine, \.retry, by: -overSoon, .retry, .dayBoundary)
        // We count a grace period after a free period as free, and Apple counts it as grace.
        let free = theirs.grace.subtractingSaturated(mine.grace)
        if free > 0, mine.trials.subtractingSaturated(theirs.trials) == free,
            theirs.active.subtractingSaturated(mine.active) == free
        {
            shift(&mine, \.grace, by: free, .grace, .graceAfterTrial)
            shift(&mine, \.active, by: free, .active, .graceAfterTrial)
            shift(&mine, \.trials, by: -free, .trials, .graceAfterTrial)
        }
        for (number, quantity) in Self.numbers {
            comparedCount += 1
            let (own, other) = (mine[keyPath: number], theirs[keyPath: number])
            guard own != other else { continue }
            add(mine.key, quantity, own, other, other > own ? .notHeardOf : .notInFile)
        }
    }

    private static var numbers:
        [(number: KeyPath<StandingFigure, Int64>, quantity: SalesDifference.Quantity)]
    {
        [(\.active, .active), (\.trials, .trials), (\.grace, .grace), (\.retry, .retry)]
    }

    private mutating func shift(
        _ figure: inout StandingFigure, _ number: WritableKeyPath<StandingFigure, Int64>,
        by count: Int64, _ quantity: SalesDifference.Quantity, _ cause: SalesDifference.Cause
    ) {
        guard count != 0 else { return }
        let own = figure[keyPath: number]
        figure[keyPath: number] = own.addingSaturated(count)
        add(figure.key, quantity, own, figure[keyPath: number], cause)
    }

    private mutating func add(
        _ key: StandingFigure.Key, _ quantity: SalesDifference.Quantity, _ ours: Int64,
        _ apples: Int64, _ cause: SalesDifference.Cause
    ) {
        differences.append(
            SalesDifference(
                key: SalesFigure.Key(
                    day: key.day, product: Self.subject, country: key.country, currency: nil),
                quantity: quantity, ours: ours, apples: apples, cause: cause))
    }
}
