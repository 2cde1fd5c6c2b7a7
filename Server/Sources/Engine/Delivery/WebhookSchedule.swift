import Ledger

/// When a delivery is attempted again, and what an answer means. Pure.
///
/// The first attempt is made at once, and nine more after these pauses: in all about 76 hours, and
/// never less than three days. Each pause is lengthened by up to a fifth at random, so that what
/// failed together is not tried together.
package enum WebhookSchedule {
    package static let pauses: [Duration] = [
        .seconds(5), .seconds(300), .seconds(1_800), .hours(2), .hours(5), .hours(10), .hours(14),
        .hours(20), .hours(24),
    ]
    package static let attemptsMax = pauses.count + 1
    /// From the first attempt to the last one at least.
    package static let triedFor = pauses.reduce(.zero, +)
    private static let jitterShare = 0.2
    /// A longer `Retry-After` counts as this.
    package static let retryAfterMax = Duration.hours(24)
    /// For how long `Retry-After` of 429 and 503 can hold up the whole webhook.
    package static let holdMax = Duration.hours(1)

    package struct Verdict: Hashable, Sendable {
        package var outcome: Outcome
        /// Whether the webhook is paused: its receiver is gone for good.
        package var isGone = false
        /// For how long nothing at all is posted to the webhook.
        package var hold: Duration?
    }

    package enum Outcome: Hashable, Sendable {
        case delivered
        case retry(after: Duration)
        case failed
    }

    /// - Parameters:
    ///   - tries: the attempts that were made, with this one.
    ///   - jitter: from 0 to 1.
    package static func verdict(
        on answer: WebhookAnswer, tries: Int, jitter: Double
    ) -> Verdict {
        if answer.isAccepted { return Verdict(outcome: .delivered) }
        var (status, asked): (Int?, Duration?)
        if case .answer(let code, _, let retryAfter) = answer {
            (status, asked) = (code, retryAfter.map { min($0, retryAfterMax) })
        }
        var verdict = Verdict(outcome: .failed, isGone: status == 410)
        if tries < attemptsMax {
            let pause = pauses[max(tries, 1) - 1]
            let longer =
                pause
                + .milliseconds(
                    Int64(Double(pause.wholeMilliseconds) * jitterShare * min(max(jitter, 0), 1)))
            verdict.outcome = .retry(after: max(longer, asked ?? .zero))
        }
        // These speak of the receiver as a whole, not of one delivery.
        if status == 429 || status == 503 { verdict.hold = asked.map { min($0, holdMax) } }
        return verdict
    }
}
