internal import PerennialContract

/// Decides about a period of a renewing subscription that is over, if no later period is known.
struct EndedPeriod {
    /// The end of the period.
    var end: Timestamp
    /// What the App Store on this device reported about that end. Nil if the App Store reported
    /// nothing.
    var status: StoreStatus?
    /// Whether the subscription may renew. False if renewal is known to be off.
    var mayRenew: Bool
    /// How long access stays open after the end while the renewal is not confirmed.
    var hold: HoldTime

    /// How long before the end of a period the App Store begins to charge for the next period, in
    /// milliseconds. A status that was signed earlier is about the end of an earlier period.
    static let collectedAheadMax: Int64 = 86_400_000

    /// The content of a finding, without the purchase that the finding is about.
    struct Outcome {
        var isOpen: Bool
        var state: AccessState
        var until: Timestamp
        var rule: Int
        var text: () -> String
        /// Whether the status of the App Store decided the outcome.
        var isByStatus: Bool
        /// Whether neither the server nor the store has answered since the end, so that the
        /// subscription may have renewed.
        var isSilent = false
    }

    func outcome(at now: Timestamp) -> Outcome {
        switch status?.isReliable == true ? status?.state : nil {
        case .grace where status?.graceUntil != nil:
            return grace(until: max(end, status?.graceUntil ?? end), at: now)
        case .retry:
            return byStatus(.retry, "There is a problem with the payment.")
        case .expired, .revoked:
            return byStatus(.expired, "The App Store on this device says that it has ended.")
        default:
            return mayRenew ? held(at: now) : switchedOff
        }
    }

    private func grace(until: Timestamp, at now: Timestamp) -> Outcome {
        guard now < until else {
            return byStatus(.retry, "The grace period is over, and the payment failed.", until)
        }
        return Outcome(
            isOpen: true, state: .grace, until: until, rule: 2,
            text: { "The payment failed, and the grace period lasts until \(until)." },
            isByStatus: true)
    }

    private func byStatus(
        _ state: AccessState, _ text: @escaping @autoclosure () -> String, _ until: Timestamp? = nil
    ) -> Outcome {
        Outcome(
            isOpen: false, state: state, until: until ?? end, rule: 7, text: text, isByStatus: true)
    }

    private var switchedOff: Outcome {
        Outcome(
            isOpen: false, state: .expired, until: end, rule: 7,
            text: { "It ended at \(end), and renewal is off." }, isByStatus: false)
    }

    private func held(at now: Timestamp) -> Outcome {
        let until = end.adding(hold.milliseconds)
        guard now < until else {
            return Outcome(
                isOpen: false, state: .expired, until: end, rule: 7,
                text: { "It ended at \(end), and no renewal was confirmed by \(until)." },
                isByStatus: false, isSilent: hold.isSilent)
        }
        return Outcome(
            isOpen: true, state: .unconfirmed, until: until, rule: 6,
            text: { "It ended at \(end). Its renewal is not confirmed yet, so it is held open." },
            isByStatus: false)
    }
}
