import AppStoreFormats

/// How much of a budget has been used: a token bucket as one number, so that a row of a database
/// can hold it and several servers can share it.
///
/// The number is the moment at which the bucket will be full again (the generic cell rate
/// algorithm). Each call moves it one interval on. A call may go while that moment is less than a
/// whole bucket ahead. In any second at most `burst` + 1000 / `millisecondsPerCall` calls go.
package struct Pace: Hashable, Sendable {
    package private(set) var fullAt: AppStoreDate

    /// - Parameter fullAt: as it was stored; without it, of a bucket that is full.
    package init(fullAt: AppStoreDate = AppStoreDate(milliseconds: 0)) { self.fullAt = fullAt }

    /// Takes one call out of the bucket. Returns nil where it may go; else nothing is taken, and
    /// it says when to try again.
    package mutating func take(_ budget: CallBudget, at now: AppStoreDate) -> AppStoreDate? {
        let before = fullAt
        let next = reserve(budget, at: now)
        guard next > now else { return nil }
        fullAt = before
        return next
    }

    /// Takes the next call that there will be. Returns when it may go.
    package mutating func reserve(_ budget: CallBudget, at now: AppStoreDate) -> AppStoreDate {
        let start = max(believed(budget, at: now), now.milliseconds)
        fullAt = AppStoreDate(milliseconds: start + budget.millisecondsPerCall)
        let next = start - (budget.burst - 1) * budget.millisecondsPerCall
        return AppStoreDate(milliseconds: max(next, now.milliseconds))
    }

    /// Nothing goes before then, and after it one call at a time.
    package mutating func rest(_ budget: CallBudget, until: AppStoreDate) {
        let emptyUntil = until.milliseconds + (budget.burst - 1) * budget.millisecondsPerCall
        fullAt = AppStoreDate(milliseconds: max(fullAt.milliseconds, emptyUntil))
    }

    /// What lies further ahead than any rest is of a clock that has been put back, and forgotten.
    private func believed(_ budget: CallBudget, at now: AppStoreDate) -> Int64 {
        let bucket = budget.burst * budget.millisecondsPerCall
        let furthest = now.milliseconds + AppStoreFailure.pauseMillisecondsMax + bucket
        return fullAt.milliseconds <= furthest ? fullAt.milliseconds : now.milliseconds
    }
}
