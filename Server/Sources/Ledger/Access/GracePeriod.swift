/// The time after a period for which the App Store keeps access open although the renewal could not
/// be charged. Its end is in the renewal info; if it is not, `Intake+GracePeriod` derives it.
struct GracePeriod: Hashable, Sendable {
    let until: Instant

    /// Returns nil if the renewal info grants no time after the period's end.
    init?(after end: Instant, of renewal: Renewal) {
        guard renewal.mayContinue, let until = renewal.graceUntil, until > end else { return nil }
        self.until = until
    }
}

extension Renewal {
    /// Whether a charge may still succeed.
    var mayContinue: Bool { willRenew || isRetrying }
}
