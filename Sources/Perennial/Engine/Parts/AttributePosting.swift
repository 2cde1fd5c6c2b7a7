internal import PerennialContract

/// Decides which changes of attributes are sent next, and what happens to changes that failed. A
/// value without IO: ``AttributeSender`` reads and writes the file, sends the requests, and follows
/// these decisions.
struct AttributePosting: Sendable {
    enum State: Hashable, Sendable {
        case idle
        /// Batches are being sent, one after the other.
        ///
        /// - isAwaited: whether a caller waits for the run. Otherwise the run obeys the budget.
        case posting(isAwaited: Bool)
        /// The last request failed.
        ///
        /// - until: when the next request may be sent, in monotonic milliseconds.
        /// - isOrdered: whether the server has named this time. Then no request is sent earlier.
        case paused(until: Int64, isOrdered: Bool)
    }

    /// What happens to a batch that failed.
    enum Consequence: Hashable, Sendable {
        /// The budget delayed the batch.
        case heldBack
        /// The server refuses one of several changes. Each change is then sent alone.
        case postedAlone
        /// The server will never accept the batch. The batch is dropped and reported.
        case dropped(code: String)
        /// The server is older than attributes. The batch is dropped.
        case routeMissing
        /// There is no valid proof of this customer's identity, for example after a log-out. The
        /// changes of this customer are sent again later. Those of other customers are not delayed.
        case customerDelayed(String)
        /// The batch is sent again later. Until then no other batch is sent.
        case postponed
    }

    /// A change that the server refused.
    struct Refusal: Hashable, Sendable {
        var name: String
        var code: String
        /// What the developer can do.
        var remedy: String
    }

    /// Why the changes of one customer wait.
    struct Delay: Hashable, Sendable {
        /// When they may be sent, in monotonic milliseconds.
        var until: Int64
        /// The number of consecutive failures.
        var failuresInARow: Int
    }

    /// The maximum number of refusals that are remembered for a diagnosis. A further refusal
    /// replaces the oldest.
    static let refusalsMax = 20

    private(set) var state = State.idle
    /// The number of consecutive failures, which lengthens the next pause.
    private(set) var failuresInARow = 0
    /// The attributes that are sent alone, because a request with several of them was refused.
    private(set) var alone: Set<PendingAttribute.Key> = []
    /// The customers whose changes are sent later. There are at most as many as waiting changes.
    private(set) var delays: [String: Delay] = [:]
    /// The customers who are being erased. Nothing is sent for them.
    private(set) var blocked: Set<String> = []
    private(set) var refusals: [Refusal] = []
    /// Whether the server has no route for attributes.
    private(set) var isRouteMissing = false
}

// MARK: - One run

extension AttributePosting {
    /// Returns whether a run begins. A run in progress also serves the new caller. During a pause,
    /// a run begins only if a caller waits for it, and if the server has not ordered the pause.
    /// A run for which a caller waits also tries the delayed customers again.
    ///
    /// - Parameter now: monotonic milliseconds.
    mutating func begin(isAwaited: Bool, at now: Int64) -> Bool {
        switch state {
        case .posting(let wasAwaited):
            state = .posting(isAwaited: wasAwaited || isAwaited)
            return false
        case .paused(let until, let isOrdered) where until > now && (isOrdered || !isAwaited):
            return false
        case .idle, .paused:
            state = .posting(isAwaited: isAwaited)
            if isAwaited { resetDelays() }
            return true
        }
    }

    /// Ends the run, unless it has ended with a pause.
    mutating func finish() { if isPosting { state = .idle } }

    var isPosting: Bool {
        switch state {
        case .posting: true
        case .idle, .paused: false
        }
    }

    var isAwaited: Bool { state == .posting(isAwaited: true) }

    /// Ends the run with a pause.
    mutating func pause(until: Int64, isOrdered: Bool) {
        failuresInARow += 1
        state = .paused(until: until, isOrdered: isOrdered)
    }

    /// Ends all delays, and a pause that the server has not ordered, for example when the app comes
    /// to the foreground.
    mutating func hurry() {
        resetDelays()
        if case .paused(_, isOrdered: false) = state { state = .idle }
    }

    private mutating func resetDelays() {
        for customer in delays.keys { delays[customer]?.until = .min }
    }

    /// When a change may be sent, in monotonic milliseconds. Nil if it is not known.
    private func moment(of change: PendingAttribute) -> Int64? {
        guard let customer = change.customerID, !blocked.contains(customer) else { return nil }
        return delays[customer]?.until ?? .min
    }

    /// The next batch: changes of one customer. Nil if nothing can be sent now.
    ///
    /// - Parameter now: monotonic milliseconds.
    func batch(of changes: [PendingAttribute], at now: Int64) -> [PendingAttribute]? {
        let known = changes.lazy.filter { change in moment(of: change).map { $0 <= now } ?? false }
        guard let first = known.first else { return nil }
        if alone.contains(first.key) { return [first] }
        let alike = known.filter { $0.customerID == first.customerID && !alone.contains($0.key) }
        return Array(alike.prefix(AttributeRules.changesMax))
    }

    /// The milliseconds until the next run may begin. Nil if nothing waits that can be sent.
    ///
    /// - Parameter now: monotonic milliseconds.
    func wait(of changes: [PendingAttribute], at now: Int64) -> Int64? {
        guard let first = changes.compactMap(moment).min() else { return nil }
        let wait = max(first, now) - now
        switch state {
        case .idle: return wait
        case .posting: return max(wait, RetryPauses.min)
        case .paused(let until, _): return max(wait, until - now)
        }
    }
}

// MARK: - The results of requests

extension AttributePosting {
    mutating func recordSuccess(of batch: [PendingAttribute]) {
        failuresInARow = 0
        isRouteMissing = false
        recordEnd(of: batch)
    }

    /// Decides what happens to a batch that failed.
    mutating func recordFailure(_ error: ServerError, of batch: [PendingAttribute]) -> Consequence {
        if error.isHeldBack { return .heldBack }
        let code = error.failure.code.rawValue
        if let customer = batch.first?.customerID, Self.proofCodes.contains(code) {
            return .customerDelayed(customer)
        }
        guard !error.failure.isTemporary, let status = error.status,
            error.problem != nil || status == 413
        else { return .postponed }
        switch status {
        case 404, 405:
            recordEnd(of: batch)
            return .routeMissing
        // The key is wrong, which has nothing to do with the changes.
        case 401: return .postponed
        case 400, 413, 422:
            guard batch.count > 1 else { break }
            alone.formUnion(batch.map(\.key))
            return .postedAlone
        case 402..<500: break
        default: return .postponed
        }
        recordEnd(of: batch)
        return .dropped(code: code)
    }

    /// The codes of failures that concern one customer.
    private static let proofCodes: Set<String> = [
        ProblemCode.customerProofMissing.rawValue, ProblemCode.customerProofNotValid.rawValue,
    ]

    /// Records that a batch was sent or dropped.
    private mutating func recordEnd(of batch: [PendingAttribute]) {
        alone.subtract(batch.map(\.key))
        if let customer = batch.first?.customerID { delays[customer] = nil }
    }

    /// Delays the changes of one customer.
    ///
    /// - Parameter until: when they may be sent, in monotonic milliseconds.
    mutating func delay(_ customer: String, until: Int64) {
        let failures = delays[customer]?.failuresInARow ?? 0
        delays[customer] = Delay(until: until, failuresInARow: failures + 1)
    }

    mutating func recordRefusal(of batch: [PendingAttribute], code: String, remedy: String) {
        let new = batch.map { Refusal(name: $0.name, code: code, remedy: remedy) }
        refusals = (refusals + new).suffix(Self.refusalsMax)
    }

    /// Records that the server has no route for attributes. Returns whether this is new.
    mutating func recordMissingRoute() -> Bool {
        defer { isRouteMissing = true }
        return !isRouteMissing
    }
}

// MARK: - Erasures

extension AttributePosting {
    mutating func block(_ customer: String) { blocked.insert(customer) }

    mutating func unblock(_ customer: String) {
        blocked.remove(customer)
        delays[customer] = nil
    }
}
