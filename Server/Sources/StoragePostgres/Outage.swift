import Storage

/// What the connections of a database know together of a server that is away.
///
/// A transaction waits until a restart or a promotion is over. Where the server stays away longer,
/// nobody waits any more, or those behind would wait once for each before them: one connection at a
/// time tries, and everyone else is told what the last one heard.
struct Outage {
    /// From a failed trial to the next.
    static let trialSeconds = 1.0

    private var since: Double?
    private var failure: StorageFailure?
    private var isTrying = false
    private var nextTrial = 0.0

    /// How long it has lasted, as far as anybody has tried. Nought where the server is there.
    ///
    /// - Parameter now: seconds of a clock that only goes forward.
    func seconds(at now: Double) -> Double { since.map { now - $0 } ?? 0 }

    /// Why nobody needs to try to connect now; nil for whoever shall. It must say how that went.
    mutating func refusal(at now: Double) -> StorageFailure? {
        guard let failure, seconds(at: now) >= Retry.outageSecondsMax else { return nil }
        guard !isTrying, now >= nextTrial else { return failure }
        isTrying = true
        return nil
    }

    mutating func noteConnected() { self = Outage() }

    mutating func note(_ failure: StorageFailure, at now: Double) {
        since = since ?? now
        self.failure = failure
        isTrying = false
        nextTrial = now + Self.trialSeconds
    }
}
