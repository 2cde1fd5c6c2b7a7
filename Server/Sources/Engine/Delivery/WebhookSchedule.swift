import Ledger

/// Decides when a delivery is attempted again, and what an answer means. Pure.
///
/// The first attempt is made at once, and nine more after these pauses: in total about 76 hours,
/// and never less than three days. Each pause is lengthened at random by up to a fifth, so that
/// deliveries that failed together are not retried together.
package enum WebhookSchedule {
    package static let pauses: [Duration] = [
        .seconds(5), .seconds(300), .seconds(1_800), .hours(2), .hours(5), .hours(10), .hours(14),
        .hours(20), .hours(24),
    ]
    package static let attemptsMax = pauses.count + 1
    /// The minimum time from the first attempt to the last one.
    package static let triedFor = pauses.reduce(.zero, +)
    private static let jitterShare = 0.2
    /// A longer `Retry-After` counts as this.
    package static let retryAfterMax = Duration.hours(24)
    /// The maximum time for which `Retry-After` of 429 and 503 can delay the whole webhook.
    package static let holdMax = Duration.hours(1)

    package struct Verdict: Hashable, Sendable {
        package var outcome: Outcome
        /// Whether the webhook is paused, because its receiver has answered 410.
        package var isGone = false
        /// For how long nothing is posted to the webhook.
        package var hold: Duration?
    }

    package enum Outcome: Hashable, Sendable {
        case delivered
        case retry(after: Duration)
        case failed
    }

    /// - Parameters:
    ///   - tries: the number of attempts so far, including this one.
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
        // These statuses are about the receiver as a whole, not about one delivery.
        if status == 429 || status == 503 { verdict.hold = asked.map { min($0, holdMax) } }
        return verdict
    }
}
