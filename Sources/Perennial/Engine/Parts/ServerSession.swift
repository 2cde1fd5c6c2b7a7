/// The exchange with the server: whether it answers, what it has to be asked, and which answer
/// about the customer is the last one. A value without IO: the engine sends the requests, and
/// reports here what came of them.
struct ServerSession: Sendable {
    enum State: Hashable, Sendable {
        /// No request has failed since the last answer.
        case answering
        /// - inARow: the failures that lengthen the wait before the next attempt. What fails for
        ///   good may leave it at zero.
        /// - silentUntil: nothing is sent in the background before, because the server has said so.
        ///   Monotonic milliseconds. Nil if it has not.
        case failing(inARow: Int, silentUntil: Int64?)
    }

    /// What has to be asked, as soon as the server may be asked.
    enum Need: Hashable, Sendable, CaseIterable {
        /// What the customer may use. The launch asks without that.
        case customer
        case offerings
        /// An answer was dropped that may have been the newer one.
        case orderOfAnswers
    }

    /// The tag of the last answer to a GET about the customer.
    enum CustomerTag: Hashable, Sendable {
        case none
        /// Of the answer that counts.
        case current(String)
        /// A later answer came in another way, such as with a purchase.
        case outdated(String)
    }

    /// How often the keys are asked for at most. Milliseconds.
    static let keysInterval: Int64 = 60_000

    private(set) var state = State.answering
    private(set) var needs: Set<Need> = []
    private(set) var customerTag = CustomerTag.none
    /// The customer whose changes the server is asked to report. Nil if it is not asked.
    private(set) var followed: String?
    private(set) var requestsSent = 0
    var budget = RequestBudget()
    private var keysAskedAt: Int64?
}

// MARK: - Requests and what came of them

extension ServerSession {
    /// The number of a request that is being sent. Of two, the later one has the greater number.
    ///
    /// - Throws: if nobody waits for the request, and the budget is spent.
    mutating func countRequest(
        isAwaited: Bool, at now: RequestBudget.Moment
    ) throws(ServerError) -> Int {
        guard isAwaited || budget.wait(at: now) == 0 else { throw .heldBack }
        requestsSent += 1
        budget.record(at: now)
        return requestsSent
    }

    mutating func recordAnswer() { state = .answering }

    /// - Parameters:
    ///   - seconds: how long the server wants to be left alone. Nil if it does not say.
    ///   - now: monotonic milliseconds.
    mutating func recordFailure(isTemporary: Bool, retryAfter seconds: Int?, at now: Int64) {
        let failures = failuresInARow + (isTemporary ? 1 : 0)
        let until = seconds.map { now + Int64($0) * 1000 } ?? silentUntil
        setFailing(failures, until)
    }

    /// Something that was sent was refused for good. What is left waits longer before it is tried.
    mutating func recordRefusal() { setFailing(failuresInARow + 1, silentUntil) }

    private mutating func setFailing(_ failures: Int, _ until: Int64?) {
        state =
            failures == 0 && until == nil
            ? .answering : .failing(inARow: failures, silentUntil: until)
    }

    var failuresInARow: Int {
        switch state {
        case .answering: 0
        case .failing(let failures, _): failures
        }
    }

    private var silentUntil: Int64? {
        switch state {
        case .answering: nil
        case .failing(_, let until): until
        }
    }

    /// Milliseconds until something may be sent that the server has not forbidden. Zero: now.
    ///
    /// - Parameter now: monotonic milliseconds.
    func silence(at now: Int64) -> Int64 { max(0, (silentUntil ?? 0) - now) }
}

// MARK: - What has to be asked

extension ServerSession {
    mutating func require(_ need: Need) { needs.insert(need) }

    func requires(_ need: Need) -> Bool { needs.contains(need) }

    /// Whether the server has to be asked about the customer.
    var mustAskCustomer: Bool { requires(.customer) || requires(.orderOfAnswers) }

    /// Something is being asked, or was answered.
    mutating func satisfy(_ need: Need) { needs.remove(need) }

    /// The question about the customer failed. What will fail again is asked again when the app
    /// comes to the foreground.
    mutating func recordCustomerFailure(isTemporary: Bool) {
        if isTemporary { require(.customer) } else { satisfy(.customer) }
    }

    /// Whether the keys that sign tokens may be asked for. If so, they count as asked for.
    ///
    /// - Parameter now: monotonic milliseconds.
    mutating func mayFetchKeys(at now: Int64) -> Bool {
        if let last = keysAskedAt, now - last < Self.keysInterval { return false }
        keysAskedAt = now
        return true
    }
}

// MARK: - The last answer about the customer

extension ServerSession {
    /// An answer to a GET was taken.
    mutating func setTag(_ tag: String?) { customerTag = tag.map { .current($0) } ?? .none }

    /// An answer that has no tag was taken, or changed a part of the last one.
    mutating func recordUntagged() {
        if case .current(let tag) = customerTag { customerTag = .outdated(tag) }
    }

    /// The customer has changed, or the environment.
    mutating func forgetTag() { customerTag = .none }

    /// The tag by which the server can say that nothing has changed. Nil if there is none.
    var currentTag: String? {
        if case .current(let tag) = customerTag { tag } else { nil }
    }

    /// The tag of the last answer to a GET, also if another answer came since.
    var lastTag: String? {
        switch customerTag {
        case .none: nil
        case .current(let tag), .outdated(let tag): tag
        }
    }

    /// Returns whether a new loop has to follow the customer's changes.
    mutating func follow(_ id: String) -> Bool {
        guard followed != id else { return false }
        followed = id
        return true
    }

    mutating func stopFollowing() { followed = nil }
}
