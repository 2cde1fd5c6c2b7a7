import AppStoreFormats

/// How much of a call budget has been used: a token bucket as a single number, so that a database
/// row can hold it and several servers can share it.
///
/// The number is the moment at which the bucket will be full again (the generic cell rate
/// algorithm). Each call moves it forward by one interval. A call is allowed while that moment is
/// less than a whole bucket ahead. In any second at most `burst` + 1000 / `millisecondsPerCall`
/// calls are allowed.
package struct Pace: Hashable, Sendable {
    package private(set) var fullAt: AppStoreDate

    /// - Parameter fullAt: the moment at which the bucket is full. By default, it is already full.
    package init(fullAt: AppStoreDate = AppStoreDate(milliseconds: 0)) { self.fullAt = fullAt }

    /// Takes one call from the bucket and returns nil. If the bucket is empty, takes nothing, and
    /// returns when to try again.
    package mutating func consumeCall(_ budget: CallBudget, at now: AppStoreDate) -> AppStoreDate? {
        let before = fullAt
        let next = reserve(budget, at: now)
        guard next > now else { return nil }
        fullAt = before
        return next
    }

    /// Reserves the next available call, and returns when the call may be made.
    package mutating func reserve(_ budget: CallBudget, at now: AppStoreDate) -> AppStoreDate {
        let start = max(plausibleFullAt(budget, at: now), now.milliseconds)
        fullAt = AppStoreDate(milliseconds: start + budget.millisecondsPerCall)
        let next = start - (budget.burst - 1) * budget.millisecondsPerCall
        return AppStoreDate(milliseconds: max(next, now.milliseconds))
    }

    /// Allows no calls until a moment, and one call at a time after it.
    package mutating func pause(_ budget: CallBudget, until: AppStoreDate) {
        let emptyUntil = until.milliseconds + (budget.burst - 1) * budget.millisecondsPerCall
        fullAt = AppStoreDate(milliseconds: max(fullAt.milliseconds, emptyUntil))
    }

    /// The stored moment. But if it is further ahead than any pause can be, the clock has been set
    /// back since, and the result is `now`.
    private func plausibleFullAt(_ budget: CallBudget, at now: AppStoreDate) -> Int64 {
        let bucket = budget.burst * budget.millisecondsPerCall
        let furthest = now.milliseconds + AppStoreFailure.pauseMillisecondsMax + bucket
        return fullAt.milliseconds <= furthest ? fullAt.milliseconds : now.milliseconds
    }
}
