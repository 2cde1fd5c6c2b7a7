/// What is known of our asking the store about one purchase. When to ask next follows from this and
/// from the purchase's timeline, and from nothing else.
package struct CheckHistory: Hashable, Sendable {
    /// When we first heard of the purchase.
    package var knownAt: Instant
    /// When the store last answered. Nil: never, so that its past is not known either.
    package var askedAt: Instant?
    /// When it last failed to answer, since it last did.
    package var failedAt: Instant?
    /// How often it has failed to answer, since it last did.
    package var failures: Int

    package init(
        knownAt: Instant, askedAt: Instant? = nil, failedAt: Instant? = nil, failures: Int = 0
    ) {
        self.knownAt = knownAt
        self.askedAt = askedAt
        self.failedAt = failedAt
        self.failures = failures
    }

    /// The history after an answer.
    package func answered(at now: Instant) -> CheckHistory {
        CheckHistory(knownAt: knownAt, askedAt: max(askedAt ?? now, now))
    }

    /// Whether a question now is the first in its stretch of time, where stretches begin when we
    /// first heard of the purchase.
    package func isFirst(at now: Instant, inEach stretch: Duration) -> Bool {
        guard let askedAt else { return true }
        return Int64((now - knownAt) / stretch) != Int64((askedAt - knownAt) / stretch)
    }

    /// The history after no answer.
    package func failed(at now: Instant) -> CheckHistory {
        CheckHistory(knownAt: knownAt, askedAt: askedAt, failedAt: now, failures: failures + 1)
    }
}

/// How eagerly the store is asked where nothing is in doubt.
package struct CheckRules: Hashable, Sendable {
    /// A living purchase is asked about after so long, or after one of its periods where that is
    /// longer; what has ended, three times as rarely, and more and more so.
    package var sweep: Duration
    package static let sweepDefault = Duration.days(30)

    package init(sweep: Duration = Self.sweepDefault) { self.sweep = sweep }
}

extension CheckHistory {
    /// As long as failures are patient: who waits for an answer waits no longer than the longest of
    /// these for the next attempt.
    private static let retryPauses = DoublingPauses(first: .seconds(60), longest: .seconds(1800))
    /// About a day of failures. What then still fails does so for a reason of its own.
    private static let patientFailuresMax = 48
    private static let hopelessPause = Duration.hours(6)

    /// Before then a purchase that failed is not asked about again.
    var retryAt: Instant? {
        guard let failedAt, failures > 0 else { return nil }
        guard failures <= Self.patientFailuresMax else { return failedAt + Self.hopelessPause }
        return failedAt + Self.retryPauses.pause(after: failures)
    }
}

/// When to ask the store about a purchase.
///
/// Where notifications arrive, nothing but the slow sweep is left: whatever was heard of a moment
/// makes the question about it needless. Questions come of silence:
///
/// - at once, of a purchase never asked about: its past is not known;
/// - before a period's end, where nothing is known of its renewal;
/// - after a period's end, until the store says what became of it;
/// - through grace and retry, ever more rarely, and at the end of either;
/// - after an upgrade to a product not named yet;
/// - after news that do not say of when they are.
///
/// Pauses grow with the time that has passed, so that the number of questions about one purchase is
/// bounded by the logarithm of its age, beside the sweep.
extension Timeline {
    /// After a period's end, so long is waited for the notification.
    static let patienceMax = Duration.seconds(60)
    static let patienceMin = Duration.seconds(5)
    /// Between two questions while the store collects.
    private static let collectingPauseMax = Duration.days(3)
    private static let hour = Duration.hours(1)

    /// The next moment at which the store is to be asked. In the past where it was to be asked
    /// already.
    package func nextCheck(_ history: CheckHistory, rules: CheckRules = CheckRules()) -> Instant {
        let wanted: Instant
        if let asked = history.askedAt {
            let sweep = nextSweep(after: asked, rules)
            // A question that comes a little later will do for the sweep.
            let question = [
                nextQuestion(after: asked), questionAboutLaterEnd(after: asked),
                unreadUpgrade(after: asked).map { $0 + Self.upgradePatience },
                undatedNews(after: asked),
            ].compactMap(\.self).min()
            wanted = question.flatMap { $0 <= sweep + rules.sweep / 10 ? $0 : nil } ?? sweep
        } else {
            wanted = history.knownAt
        }
        return max(wanted, history.retryAt ?? wanted)
    }

    /// The subscription period that ends last, and may be followed by another: also one that was
    /// given back, where the store goes on charging; but none that never began.
    private var lastPeriod: (period: Period, end: Instant)? {
        let last = periods.last {
            $0.payment.kind == .autoRenewable && $0.payment.until != nil && !$0.isVoid
        }
        guard let last, let end = last.end else { return nil }
        let mayGoOn = last.payment.revocation == nil || renewal?.value.willRenew == true
        return mayGoOn ? (last, end) : nil
    }

    // MARK: - Doubt

    private func nextQuestion(after asked: Instant) -> Instant? {
        guard let (period, end) = lastPeriod else { return nil }
        if period.isUpgradedToUnknown {
            return questionAboutUpgrade(of: period, after: asked)
        }
        // A renewal that was charged early was told of before it began.
        guard let news = renewal, news.at >= min(period.from, period.attestedAt) else {
            let before = end - min(Self.hour, period.length / 4)
            if asked < before { return before }
            return afterEnd(of: period, end, after: asked)
        }
        guard news.at >= end else { return afterEnd(of: period, end, after: asked) }
        return nextQuestion(of: news, about: period, end: end, after: asked)
    }

    /// To what it was upgraded was not said: by news since the last question, or by the answer. An
    /// answer is dated anew each time, so it does not tell since when that is so.
    private func questionAboutUpgrade(of period: Period, after asked: Instant) -> Instant? {
        let told = period.attestedAt
        if asked + Self.clockSkewMax < told { return told + period.patience }
        let isOfAnswer = asked <= told + Self.clockSkewMax
        return pause(
            since: isOfAnswer ? period.from : told, of: period, after: asked)
    }

    private func afterEnd(of period: Period, _ end: Instant, after asked: Instant) -> Instant? {
        if asked < end + period.patience { return end + period.patience }
        return pause(since: end, of: period, after: asked)
    }

    /// Where the store has named a later end than that of the last payment that is known, it is
    /// asked after that one, too.
    private func questionAboutLaterEnd(after asked: Instant) -> Instant? {
        guard let (period, end) = lastPeriod, let told = news(about: period)?.value,
            told.ending == nil, let later = told.renewsAt, later > end
        else { return nil }
        return afterEnd(of: period, later, after: asked)
    }

    /// The store has said since a period's end that it goes on until a later date, and names no
    /// payment for it: nothing is due before then, and access is open. So it is asked ever more
    /// rarely, in case that date is of a payment that is told late.
    private func questionBeforeLaterEnd(
        of period: Period, end: Instant, after asked: Instant
    ) -> Instant {
        let least = min(period.patience * 60, Self.hour)
        return max(asked, end) + max(least, asked - end)
    }

    /// What the store said at the end, or after it, may be its last word, or leave something open.
    private func nextQuestion(
        of news: Attested<Renewal>, about period: Period, end: Instant, after asked: Instant
    ) -> Instant? {
        let patience = period.patience
        let last = max(asked, news.at)
        guard news.value.willRenew || news.value.isRetrying else { return nil }
        if let grace = news.value.graceUntil, grace > last {
            return min(grace + patience, collecting(since: end, after: last, patience))
        }
        if news.value.isRetrying || (news.value.graceUntil ?? end) > end {
            let over = end + period.retryMax + patience
            return last < over ? min(over, collecting(since: end, after: last, patience)) : nil
        }
        if news.value.ending != nil { return nil }
        if let later = news.value.renewsAt, later > end, asked < later {
            return questionBeforeLaterEnd(of: period, end: end, after: asked)
        }
        return pause(since: end, of: period, after: asked)
    }

    /// As long again as it has lasted, an hour at least (less where periods are short), three days
    /// at most.
    private func collecting(
        since end: Instant, after last: Instant, _ patience: Duration
    ) -> Instant {
        let least = min(patience * 60, Self.hour)
        return last + max(least, min(last - end, Self.collectingPauseMax))
    }

    /// As long again as it has lasted; after an hour, hourly; after eight hours, an eighth of what
    /// has passed. Nil after the time in which the store collects: then only the sweep is left.
    private func pause(
        since start: Instant, of period: Period, after asked: Instant
    ) -> Instant? {
        let least = period.patience
        guard asked >= start + least else { return start + least }
        let passed = asked - start
        guard passed < period.retryMax else { return nil }
        return asked + max(least, min(passed, max(Self.hour, passed / 8)))
    }

    // MARK: - Upgrades

    /// After an upgrade, so long is waited before its list is read.
    private static let upgradePatience = Duration.hours(1)

    /// When another product took the place of a paid period, where the store's list of transactions
    /// was not read since: it alone says what that gave back. Nil where there is nothing to read.
    package func unreadUpgrade(after asked: Instant) -> Instant? {
        let replaced = periods.last {
            $0.isReplaced && (!$0.payment.isUpgraded || $0.payment.isShareUntold)
                && $0.payment.kind == .autoRenewable && $0.payment.ownership != .familyShared
        }
        guard let end = replaced?.end else { return nil }
        return asked < end + Self.clockSkewMax ? end : nil
    }

    // MARK: - News without a moment

    /// When to ask because of news that do not say when they were so, and may come late: the store
    /// knows what is so now. Not where it has been asked since, or has said something of later.
    private func undatedNews(after asked: Instant) -> Instant? {
        guard let heard = sourcedRenewal?.heardAt, let renewal, renewal.at < heard else {
            return nil
        }
        // A moment later, so that whoever is asked has heard of it as well.
        let question = heard + (periods.last?.patience ?? Self.patienceMax)
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

    /// A minute; in the sandbox, where a month may last five minutes, less.
    var patience: Duration {
        max(Timeline.patienceMin, min(Timeline.patienceMax, length / 300))
    }
}
