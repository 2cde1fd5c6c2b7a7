import Ledger

/// The times of a failed renewal: the App Store could not charge it at the end of a period. First
/// comes grace, if the app offers it, and then retry.
struct BillingTrouble: Hashable, Sendable {
    /// When the payment was due.
    var due: Instant
    /// The end of access. Equal to ``due`` if there was no grace.
    var graceEnd: Instant
    /// When the payment was collected or given up, or when it will be given up.
    var end: Instant

    /// How long before a period's end the App Store begins to collect the payment for the next
    /// period.
    private static let chargedAheadMax = Duration.days(1)

    /// - Parameters:
    ///   - next: when the next period of the purchase begins. Nil if none is known.
    ///   - isRecovered: whether the next period is a renewal, and not a new purchase.
    ///   - renewals: all statements about the renewal of the purchase, sorted by attestation.
    ///   - clock: the App Store's own clock, in which the days of retry are counted.
    /// - Returns: nil if no document reports a billing problem.
    init?(
        after period: Timeline.Period, next: Instant?, isRecovered: Bool,
        _ renewals: [Timeline.Attested<Renewal>], clock: WallClock
    ) {
        guard let due = period.payment.until, !period.isReplaced else { return nil }
        if let next, next <= due { return nil }
        let ahead = min(Self.chargedAheadMax, (due - period.from) / 2)
        let told = renewals.filter { news in
            news.at >= due - ahead && next.map { news.at < $0 } ?? true
        }
        let first = told.firstIndex { $0.value.isCollecting(since: due) }
        guard first != nil || isRecovered else { return nil }
        let stopped = first.flatMap { first in
            told[first...].first { !$0.value.mayContinue }?.at
        }
        let days =
            period.payment.commitment == nil
            ? Timeline.retryDaysMax : Timeline.committedRetryDaysMax
        let limit = clock.moment(months: 0, days: days, after: due)
        self.due = due
        end = max(due, [next, stopped, limit].compactMap(\.self).min() ?? limit)
        let grace = told.filter(\.value.mayContinue).compactMap(\.value.graceUntil).max()
        graceEnd = min(max(grace ?? due, due), end)
    }
}

extension Renewal {
    fileprivate var mayContinue: Bool { willRenew || isRetrying }

    /// Whether the App Store tries to collect a payment that was due at the given moment.
    fileprivate func isCollecting(since due: Instant) -> Bool {
        isRetrying || mayContinue && graceUntil.map { $0 > due } == true
    }
}
