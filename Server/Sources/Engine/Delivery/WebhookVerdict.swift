import Ledger

/// What the answer of a webhook's receiver means for a delivery, and when the delivery is attempted
/// again. Pure.
///
/// The first attempt is made at once, and nine more attempts after the pauses that are listed
/// below. Together the pauses take about 76 hours, and never less than three days. Each pause is
/// lengthened at random by up to a fifth, so that deliveries that failed at the same time are not
/// retried at the same time.
package struct WebhookVerdict: Hashable, Sendable {
    package static let pauses: [Duration] = [
        .seconds(5), .seconds(300), .seconds(1_800), .hours(2), .hours(5), .hours(10), .hours(14),
        .hours(20), .hours(24),
    ]
    package static let attemptsMax = pauses.count + 1
    /// The minimum time from the first attempt to the last one.
    package static let triedFor = pauses.reduce(.zero, +)
    private static let jitterShare = 0.2
    /// The longest `Retry-After` that is obeyed. A longer value is cut to this value.
    package static let retryAfterMax = Duration.hours(24)
    /// The maximum time for which the `Retry-After` of a status 429 or 503 can delay the whole
    /// webhook.
    package static let holdMax = Duration.hours(1)

    package var outcome: Outcome
    /// Whether the webhook is paused, because its receiver has answered 410.
    package var isGone = false
    /// For how long nothing is posted to the webhook. Nil if the answer does not stop its
    /// deliveries.
    package var hold: Duration?

    package enum Outcome: Hashable, Sendable {
        case delivered
        case retry(after: Duration)
        case failed
    }

    /// - Parameters:
    ///   - tries: the number of attempts so far, including this one.
    ///   - jitter: from 0 to 1.
    package init(on answer: WebhookAnswer, tries: Int, jitter: Double) {
        outcome = .delivered
        if answer.isAccepted { return }
        var (status, asked): (Int?, Duration?)
        if case .answer(let code, _, let retryAfter) = answer {
            (status, asked) = (code, retryAfter.map { min($0, Self.retryAfterMax) })
        }
        isGone = status == 410
        outcome =
            tries < Self.attemptsMax
            ? .retry(after: max(Self.pause(after: tries, jitter: jitter), asked ?? .zero))
            : .failed
        // These statuses are about the receiver as a whole, not about one delivery.
        if status == 429 || status == 503 { hold = asked.map { min($0, Self.holdMax) } }
    }

    private static func pause(after tries: Int, jitter: Double) -> Duration {
        let pause = pauses[max(tries, 1) - 1]
        let share = jitterShare * min(max(jitter, 0), 1)
        return pause + .milliseconds(Int64(Double(pause.wholeMilliseconds) * share))
    }
}
