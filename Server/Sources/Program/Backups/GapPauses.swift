import Ledger

/// When a server makes another backup because changes could not be continued. Without pauses, a
/// lasting cause, such as another program that moves the log again and again, would make it copy
/// the whole database all the time.
struct GapPauses: Hashable, Sendable {
    /// The pauses after gaps in a row. The last one is for all further gaps.
    private static let pauses: [Duration] = [
        .zero, .seconds(60), .seconds(300), .seconds(1_800), .hours(1),
    ]
    /// After changes were shipped for so long, the next gap is the first one again.
    private static let calm = Duration.hours(1)

    private var gaps = 0
    /// Since when changes have been shipped. Nil after a gap.
    private var shippingSince: Instant?
    /// When the next backup may be made.
    private var end: Instant?

    /// - Parameter shippingSince: nil if changes are not shipped yet.
    init(shippingSince: Instant?) { self.shippingSince = shippingSince }

    /// Changes are shipped from now on.
    mutating func begin(at now: Instant) { shippingSince = shippingSince ?? now }

    /// Changes could not be continued.
    mutating func add(at now: Instant) {
        if let shippingSince, now - shippingSince >= Self.calm { gaps = 0 }
        shippingSince = nil
        end = now + Self.pauses[min(gaps, Self.pauses.count - 1)]
        gaps = min(gaps + 1, Self.pauses.count)
    }

    /// Whether another backup may be made. If the clock was set back, it need not wait for longer
    /// than the longest pause.
    func areOver(at now: Instant) -> Bool {
        guard let end else { return true }
        return end <= now || end - now > .hours(1)
    }
}
