/// Limits the number of requests of each of many callers, with a token bucket for each caller.
///
/// A caller may use up its budget at once; the budget refills evenly within a minute. A bucket is
/// stored as one number: the moment at which the bucket is full again (the generic cell rate
/// algorithm). Each accepted request delays this moment by the time that the bucket needs to refill
/// the share of one request. If the moment would then be more than a minute ahead of now, the
/// request is refused, and the moment stays the same.
///
/// At most `callersMax` buckets are stored. If there are more callers, the fullest buckets are
/// removed, and their callers begin again with a full bucket. The bucket of a caller who has sent
/// nothing for a minute is full, so it is among the first to be removed. The caller who sends the
/// most keeps its bucket, however many addresses there are.
struct RequestBudgets<Caller: Hashable & Sendable>: Sendable {
    /// The time in which one request's share of the budget refills.
    private let cost: Duration
    private let callersMax: Int
    private var fullAt: [Caller: ContinuousClock.Instant] = [:]

    /// - Parameter perMinute: how many requests a caller may send within a minute. The caller may
    ///   also send all of them at once.
    /// - Parameter callersMax: how many callers are stored.
    init(perMinute: Int, callersMax: Int) {
        cost = RequestMeter.minute / max(1, perMinute)
        self.callersMax = callersMax
    }

    /// The number of callers whose bucket is not known to be full.
    var callerCount: Int { fullAt.count }

    /// Consumes the share of one request and returns nil. If the caller's budget is used up,
    /// consumes nothing, and returns how long to wait for the next request.
    mutating func consume(
        for caller: Caller, at now: ContinuousClock.Instant
    ) -> Duration? {
        let next = max(fullAt[caller] ?? now, now) + cost
        let wait = next - now - RequestMeter.minute
        guard wait <= .zero else { return wait }
        let isNew = fullAt.updateValue(next, forKey: caller) == nil
        if isNew, fullAt.count > callersMax { forgetFullest(at: now) }
        return nil
    }

    /// Removes all full buckets, and then the fullest of the others until a quarter of the places
    /// is free. So one removal makes room for many new callers.
    private mutating func forgetFullest(at now: ContinuousClock.Instant) {
        let inUse = fullAt.filter { $0.value > now }
        let kept = inUse.sorted { $0.value < $1.value }.suffix(callersMax - callersMax / 4)
        fullAt = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }
}
