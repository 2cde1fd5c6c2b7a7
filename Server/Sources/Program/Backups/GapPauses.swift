import Ledger

/// Decides when a server makes another backup after a gap in the shipped changes. The cause of the
/// gap may last: another program may move the log again and again. Without pauses, the server would
/// then copy the whole database all the time.
struct GapPauses: Hashable, Sendable {
    /// The pauses after the first gap, the second gap, and so on. The last pause applies to all
    /// further gaps.
    private static let pauses: [Duration] = [
        .zero, .seconds(60), .seconds(300), .seconds(1_800), .hours(1),
    ]
    /// After changes were shipped for this long without a gap, the next gap counts as the first
    /// one.
    private static let calm = Duration.hours(1)

    private var gaps = 0
    /// The moment since which changes have been shipped without a gap. Nil after a gap.
    private var shippingSince: Instant?
    /// When the next backup may be made.
    private var end: Instant?

    /// - Parameter shippingSince: nil if changes are not shipped yet.
    init(shippingSince: Instant?) { self.shippingSince = shippingSince }

    /// Records that changes are shipped from now on.
    mutating func begin(at now: Instant) { shippingSince = shippingSince ?? now }

    /// Records a gap.
    mutating func add(at now: Instant) {
        if let shippingSince, now - shippingSince >= Self.calm { gaps = 0 }
        shippingSince = nil
        end = now + Self.pauses[min(gaps, Self.pauses.count - 1)]
        gaps = min(gaps + 1, Self.pauses.count)
    }

    /// Whether another backup may be made. Even if the clock was set back, nothing waits for longer
    /// than the longest pause.
    func areOver(at now: Instant) -> Bool {
        guard let end else { return true }
        return end <= now || end - now > .hours(1)
    }
}
