/// What is known about our checks of one purchase with the App Store. The time of the next check is
/// computed only from this history and from the purchase's timeline.
package struct CheckHistory: Hashable, Sendable {
    /// When we first learned of the purchase.
    package var knownAt: Instant
    /// When the App Store last responded. Nil if the App Store has never responded; the purchase's
    /// history is then not known.
    package var askedAt: Instant?
    /// When the latest check failed. Nil if no check has failed since the last success.
    package var failedAt: Instant?
    /// How many checks failed since the last success.
    package var failures: Int

    package init(
        knownAt: Instant, askedAt: Instant? = nil, failedAt: Instant? = nil, failures: Int = 0
    ) {
        self.knownAt = knownAt
        self.askedAt = askedAt
        self.failedAt = failedAt
        self.failures = failures
    }

    /// The history after a successful check.
    package func succeeded(at now: Instant) -> CheckHistory {
        CheckHistory(knownAt: knownAt, askedAt: max(askedAt ?? now, now))
    }

    /// Whether a check at this moment would be the first check of the current interval. Intervals
    /// are counted from when we first learned of the purchase.
    package func isFirst(at now: Instant, inEach stretch: Duration) -> Bool {
        guard let askedAt else { return true }
        return Int64((now - knownAt) / stretch) != Int64((askedAt - knownAt) / stretch)
    }

    /// The history after a failed check.
    package func failed(at now: Instant) -> CheckHistory {
        CheckHistory(knownAt: knownAt, askedAt: askedAt, failedAt: now, failures: failures + 1)
    }
}

/// How often to check when nothing is in doubt.
package struct CheckRules: Hashable, Sendable {
    /// The interval between checks of a live purchase. If one of its periods is longer, the length
    /// of that period is used instead. Ended purchases are checked a third as often at first, and
    /// later less and less often.
    package var sweep: Duration
    package static let sweepDefault = Duration.days(30)

    package init(sweep: Duration = Self.sweepDefault) { self.sweep = sweep }
}

extension CheckHistory {
    /// The delays after failures that are treated as temporary. Each delay is longer than the one
    /// before, up to a maximum.
    private static let retryBackoff = ExponentialBackoff(
        first: .seconds(60), longest: .seconds(1800))
    /// The number of failures that are treated as temporary: about a day of failures. A check that
    /// still fails after that has a persistent cause.
    private static let temporaryFailuresMax = 48
    private static let persistentFailureDelay = Duration.hours(6)

    /// The earliest time at which a purchase whose check failed is checked again. Nil if its last
    /// check succeeded.
    var retryAt: Instant? {
        guard let failedAt, failures > 0 else { return nil }
        guard failures <= Self.temporaryFailuresMax else {
            return failedAt + Self.persistentFailureDelay
        }
        return failedAt + Self.retryBackoff.delay(after: failures)
    }
}

/// When to check a purchase with the App Store.
///
/// If notifications arrive, only the slow sweep remains: information about a moment makes a check
/// about that moment unnecessary. A check is due if information is missing:
///
/// - at once, for a purchase never checked: its history is not known;
/// - before a period's end, if nothing is known of its renewal;
/// - after a period's end, until the App Store reports the outcome;
/// - during grace and retry, less and less often, and at the end of grace or retry;
/// - after an upgrade to a product not named yet;
/// - after information that does not say when it was true.
///
/// Delays grow with the time passed, so that the number of checks of one purchase, besides the
/// sweep, is bounded by the logarithm of its age.
extension Timeline {
    /// How long to wait for the notification after a period's end.
    static let notificationWaitMax = Duration.seconds(60)
    static let notificationWaitMin = Duration.seconds(5)
    /// The longest time between two checks while the App Store tries to collect.
    private static let collectingPauseMax = Duration.days(3)
    private static let hour = Duration.hours(1)
    /// The end of the year 9999.
    private static let never = Instant(milliseconds: 253_402_300_799_999)

    /// The next moment to check with the App Store. The moment is in the past if the check is
    /// overdue.
    package func nextCheck(_ history: CheckHistory, rules: CheckRules = CheckRules()) -> Instant {
        // The App Store reports nothing new about the purchase of the app itself.
        guard appProofs == nil else { return Self.never }
        let wanted: Instant
        if let asked = history.askedAt {
            let sweep = nextSweep(after: asked, rules)
            // If another check is due soon after the sweep, that check replaces the sweep.
            let question = [
                nextRenewalCheck(after: asked), nextCheckAfterLaterEnd(after: asked),
                unresolvedUpgrade(after: asked).map { $0 + Self.upgradeWait },
                nextUndatedCheck(after: asked),
            ].compactMap(\.self).min()
            wanted = question.flatMap { $0 <= sweep + rules.sweep / 10 ? $0 : nil } ?? sweep
        } else {
            wanted = history.knownAt
        }
        return max(wanted, history.retryAt ?? wanted)
    }

    /// The subscription period that ends last and may be followed by another. The period may be
    /// refunded, if the App Store continues to charge. A period that never began is not considered.
    private var lastPeriod: (period: Period, end: Instant)? {
        let last = periods.last {
            $0.payment.kind == .autoRenewable && $0.payment.until != nil && !$0.isVoid
                && !$0.isAddition
        }
        guard let last, let end = last.end else { return nil }
        let mayGoOn = last.payment.revocation == nil || renewal?.value.willRenew == true
        return mayGoOn ? (last, end) : nil
    }

    // MARK: - Doubt

    private func nextRenewalCheck(after asked: Instant) -> Instant? {
        guard let (period, end) = lastPeriod else { return nil }
        if period.isUpgradedToUnknown {
            return nextUpgradeCheck(of: period, after: asked)
        }
        // Renewal info about a renewal that was charged early is signed before that renewal begins.
        guard let news = renewal, news.at >= min(period.from, period.attestedAt) else {
            let before = end - min(Self.hour, period.length / 4)
            if asked < before { return before }
            return nextCheckAfterEnd(of: period, end, after: asked)
        }
        guard news.at >= end else { return nextCheckAfterEnd(of: period, end, after: asked) }
        return nextRenewalCheck(of: news, about: period, end: end, after: asked)
    }

    /// When to check after an upgrade whose product the App Store has not named yet. If the upgrade
    /// is known from the response to the last check, the waiting time counts from the start of the
    /// period. The reason is that each response has a new date, which does not say when the upgrade
    /// happened.
    private func nextUpgradeCheck(of period: Period, after asked: Instant) -> Instant? {
        let told = period.attestedAt
        if asked + Self.clockSkewMax < told { return told + period.notificationWait }
        let isOfAnswer = asked <= told + Self.clockSkewMax
        return nextCheckInSilence(
            since: isOfAnswer ? period.from : told, of: period, after: asked)
    }

    private func nextCheckAfterEnd(of period: Period, _ end: Instant, after asked: Instant)
        -> Instant?
    {
        if asked < end + period.notificationWait { return end + period.notificationWait }
        return nextCheckInSilence(since: end, of: period, after: asked)
    }

    /// When to check if the App Store has named an end that is later than the end of the last known
    /// payment. Returns nil if it has not.
    private func nextCheckAfterLaterEnd(after asked: Instant) -> Instant? {
        guard let (period, end) = lastPeriod, let told = renewalInfo(about: period)?.value,
            told.ending == nil, let later = told.renewsAt, later > end
        else { return nil }
        return nextCheckAfterEnd(of: period, later, after: asked)
    }

    /// When to check if, after a period's end, the App Store has reported a later end of the
    /// period, but no payment for it. Nothing is due before then, and access is open. Checks
    /// continue, less and less often, because the later date may belong to a payment that is
    /// reported late.
    private func nextCheckBeforeLaterEnd(
        of period: Period, end: Instant, after asked: Instant
    ) -> Instant {
        let least = min(period.notificationWait * 60, Self.hour)
        return max(asked, end) + max(least, asked - end)
    }

    /// When to check if the App Store has made a statement at a period's end or later. Returns nil
    /// if the statement is final.
    private func nextRenewalCheck(
        of news: Attested<Renewal>, about period: Period, end: Instant, after asked: Instant
    ) -> Instant? {
        let patience = period.notificationWait
        let last = max(asked, news.at)
        guard news.value.willRenew || news.value.isRetrying else { return nil }
        if let grace = news.value.graceUntil, grace > last {
            return min(
                grace + patience, nextCheckWhileCollecting(since: end, after: last, patience))
        }
        if news.value.isRetrying || (news.value.graceUntil ?? end) > end {
            let over = end + period.retryMax + patience
            return last < over
                ? min(over, nextCheckWhileCollecting(since: end, after: last, patience)) : nil
        }
        if news.value.ending != nil { return nil }
        if let later = news.value.renewsAt, later > end, asked < later {
            return nextCheckBeforeLaterEnd(of: period, end: end, after: asked)
        }
        return nextCheckInSilence(since: end, of: period, after: asked)
    }

    /// When to check while the App Store tries to collect. The wait is as long as the collection
    /// has lasted so far, but at least an hour (less if periods are short) and at most three days.
    private func nextCheckWhileCollecting(
        since end: Instant, after last: Instant, _ patience: Duration
    ) -> Instant {
        let least = min(patience * 60, Self.hour)
        return last + max(least, min(last - end, Self.collectingPauseMax))
    }

    /// When to check if the App Store reports nothing. The wait is as long as the time without a
    /// report so far, but at most an hour in the first eight hours. After that, the wait is an
    /// eighth of the time that has passed. Returns nil when the App Store no longer collects: then
    /// only the sweep remains.
    private func nextCheckInSilence(
        since start: Instant, of period: Period, after asked: Instant
    ) -> Instant? {
        let least = period.notificationWait
        guard asked >= start + least else { return start + least }
        let passed = asked - start
        guard passed < period.retryMax else { return nil }
        return asked + max(least, min(passed, max(Self.hour, passed / 8)))
    }

    // MARK: - Upgrades

    /// How long to wait after an upgrade before reading the App Store's list of transactions.
    private static let upgradeWait = Duration.hours(1)

    /// When another product replaced a paid period. Only the App Store's list of transactions
    /// contains the amount that the upgrade refunded, so the list must be read after the upgrade.
    /// Returns nil if the list need not be read.
    package func unresolvedUpgrade(after asked: Instant) -> Instant? {
        let replaced = periods.last {
            $0.isReplaced && (!$0.payment.isUpgraded || $0.payment.isRefundShareUnknown)
                && $0.payment.kind == .autoRenewable && $0.payment.ownership != .familyShared
        }
        guard let end = replaced?.end else { return nil }
        return asked < end + Self.clockSkewMax ? end : nil
    }

    // MARK: - Information without a date

    /// When to check because of information that does not say when it was true. Such information
    /// may be late, and the App Store knows the current state. Nil if there was a check since, or
    /// if the App Store has reported something later.
    private func nextUndatedCheck(after asked: Instant) -> Instant? {
        guard let heard = sourcedRenewal?.receivedAt, let renewal, renewal.at < heard else {
            return nil
        }
        // Checks a moment later. By then, the App Store's service that answers the check has also
        // received the information.
        let question = heard + (periods.last?.notificationWait ?? Self.notificationWaitMax)
        return asked < question ? question : nil
    }

    // MARK: - Sweep

    private func nextSweep(after asked: Instant, _ rules: CheckRules) -> Instant {
        if let living = periods.last(where: { $0.end.map { asked < $0 } ?? false }) {
            return asked + max(rules.sweep, living.length)
        }
        let since = periods.last.map { $0.end ?? $0.from } ?? asked
        return asked + max(rules.sweep * 3, (asked - since) / 2)
    }
}

extension Timeline.Period {
    fileprivate var length: Duration { (end ?? from) - from }

    /// How long to wait for a notification about the end of this period: a minute. Less in the
    /// sandbox, where a month may last five minutes.
    var notificationWait: Duration {
        max(Timeline.notificationWaitMin, min(Timeline.notificationWaitMax, length / 300))
    }
}
