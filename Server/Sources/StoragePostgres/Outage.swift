import Storage

/// An outage of the server, as all connections together have observed it.
///
/// A transaction waits until a restart or failover is over. If the outage lasts longer,
/// transactions no longer wait, because each would also have to wait for all transactions before it
/// in the queue. From then on, one connection at a time tries to connect, and all others fail with
/// the error of the last attempt. The outage ends as soon as the server responds to any connection,
/// even if others cannot connect.
///
/// All times are seconds of a monotonic clock.
struct Outage {
    /// The pause in seconds between a failed attempt and the next one.
    static let trialSeconds = 1.0
    /// The time in seconds after which another attempt may start, although one is still running.
    static let trialSecondsMax = 15.0

    private var since: Double?
    private var failure: StorageFailure?
    private var answeredAt = -Double.infinity
    private var nextTrial = 0.0

    /// The duration of the outage as of the last attempt, in seconds; 0 if the server is reachable.
    func seconds(at now: Double) -> Double { since.map { now - $0 } ?? 0 }

    /// The reason to fail immediately. Returns nil if the caller should try to connect.
    mutating func refusal(at now: Double) -> StorageFailure? {
        guard let failure, seconds(at: now) >= Retry.outageSecondsMax else { return nil }
        guard now >= nextTrial else { return failure }
        nextTrial = now + Self.trialSecondsMax
        return nil
    }

    /// Records that the server accepted a connection, or ran a transaction.
    mutating func recordResponse(at now: Double) {
        (since, failure, answeredAt) = (nil, nil, now)
    }

    /// Records a failed attempt to connect.
    ///
    /// - Parameter start: when the attempt began. The attempt is ignored if it began before the
    ///   server's last response.
    mutating func recordFailure(
        _ failure: StorageFailure, ofTrialFrom start: Double, at now: Double
    ) {
        guard start >= answeredAt else { return }
        since = since ?? start
        self.failure = failure
        nextTrial = now + Self.trialSeconds
    }
}
