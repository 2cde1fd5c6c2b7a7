/// The time after the end of a period during which the App Store keeps access open, although the
/// renewal could not be charged. The end of the grace period is in the renewal info; if it is
/// missing there, `Intake+GracePeriod` derives it.
struct GracePeriod: Hashable, Sendable {
    let until: Instant

    /// Reads the grace period from renewal info. Returns nil if the renewal info grants no time
    /// after the period's end.
    init?(after end: Instant, of renewal: Renewal) {
        guard renewal.mayContinue, let until = renewal.graceUntil, until > end else { return nil }
        self.until = until
    }
}

extension Renewal {
    /// Whether a charge may still succeed.
    var mayContinue: Bool { willRenew || isRetrying }
}

extension Timeline {
    /// The end of a grace period that is over or was ended early. Later renewal info no longer
    /// contains this end. Returns nil if there was no such grace period.
    ///
    /// - Parameter news: the latest renewal info, which contains no grace period.
    func endedGrace(after end: Instant, before news: Attested<Renewal>) -> Instant? {
        guard let lastGrace, lastGrace.value > end else { return nil }
        return max(end, min(lastGrace.value, max(news.at, lastGrace.at)))
    }

    /// The end of the grace period after a period that was not renewed, whether or not the grace
    /// period is over. Returns nil if there was no grace period.
    package func graceEnd(after period: Period) -> Instant? {
        guard let end = period.payment.until, let news = renewalInfo(about: period) else {
            return nil
        }
        return GracePeriod(after: end, of: news.value)?.until
            ?? endedGrace(after: end, before: news)
    }
}
