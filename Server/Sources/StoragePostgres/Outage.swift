import Storage

/// What the connections of a database know together of a server that is away.
///
/// A transaction waits until a restart or a promotion is over. Where the server stays away longer,
/// nobody waits any more, or those behind would wait once for each before them: one connection at a
/// time tries, and everyone else is told what the last one heard. A server that answers anybody is
/// there, whoever else cannot connect to it.
///
/// All moments are seconds of a clock that only goes forward.
struct Outage {
    /// From a failed trial to the next.
    static let trialSeconds = 1.0
    /// A trial that takes longer is overtaken by another.
    static let trialSecondsMax = 15.0

    private var since: Double?
    private var failure: StorageFailure?
    private var answeredAt = -Double.infinity
    private var nextTrial = 0.0

    /// How long it has lasted, as far as anybody has tried. Nought where the server is there.
    func seconds(at now: Double) -> Double { since.map { now - $0 } ?? 0 }

    /// Why nobody needs to try to connect now; nil for whoever shall.
    mutating func refusal(at now: Double) -> StorageFailure? {
        guard let failure, seconds(at: now) >= Retry.outageSecondsMax else { return nil }
        guard now >= nextTrial else { return failure }
        nextTrial = now + Self.trialSecondsMax
        return nil
    }

    /// The server has let somebody in, or done what somebody asked.
    mutating func noteAnswer(at now: Double) {
        (since, failure, answeredAt) = (nil, nil, now)
    }

    /// - Parameter start: when the trial began. One that began before the last answer says nothing.
    mutating func note(_ failure: StorageFailure, ofTrialFrom start: Double, at now: Double) {
        guard start >= answeredAt else { return }
        since = since ?? start
        self.failure = failure
        nextTrial = now + Self.trialSeconds
    }
}
