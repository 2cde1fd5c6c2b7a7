/// The state of the communication with the server: whether the server answers, which data must be
/// requested, and which answer about the customer is the newest. A value without IO: the engine
/// sends the requests, and reports the results here.
struct ServerSession: Sendable {
    enum State: Hashable, Sendable {
        /// No request has failed since the last answer.
        case answering
        /// - inARow: the number of consecutive failures, which lengthens the wait before the next
        ///   attempt. A permanent failure may leave this number at zero.
        /// - silentUntil: the time until which the server has forbidden requests in the background,
        ///   in monotonic milliseconds. Nil if the server has forbidden none.
        case failing(inARow: Int, silentUntil: Int64?)
    }

    /// What must be requested as soon as a request is allowed.
    enum Need: Hashable, Sendable, CaseIterable {
        /// What the customer may use. A launch requests this even without the entry.
        case customer
        case offerings
        /// Which answer is the newest: the answer that was dropped may be newer than the accepted
        /// answer.
        case orderOfAnswers
    }

    /// The tag of the last answer to a GET about the customer.
    enum CustomerTag: Hashable, Sendable {
        case none
        /// The tag of the last accepted answer.
        case current(String)
        /// The tag of an older answer: a later answer came from another kind of request, such as a
        /// purchase.
        case outdated(String)
    }

    /// The shortest time between two requests for the keys, in milliseconds.
    static let keysInterval: Int64 = 60_000

    private(set) var state = State.answering
    private(set) var needs: Set<Need> = []
    private(set) var customerTag = CustomerTag.none
    /// The customer whose changes the server is asked to report. Nil if no changes are requested.
    private(set) var followed: String?
    private(set) var requestsSent = 0
    var budget = RequestBudget()
    private var keysAskedAt: Int64?
}

// MARK: - Requests and their results

extension ServerSession {
    /// Numbers a request that is about to be sent. A later request has a greater number.
    ///
    /// - Throws: if no caller waits for the request, and the budget is spent.
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
    ///   - seconds: the number of seconds for which the server wants no requests. Nil if the server
    ///     names no number.
    ///   - now: monotonic milliseconds.
    mutating func recordFailure(isTemporary: Bool, retryAfter seconds: Int?, at now: Int64) {
        let failures = failuresInARow + (isTemporary ? 1 : 0)
        let until = seconds.map { now + Int64($0) * 1000 } ?? silentUntil
        setFailing(failures, until)
    }

    /// Records that a request was refused permanently. The remaining entries then wait longer
    /// before they are sent.
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

    /// The milliseconds until the server allows another request. Zero if a request is allowed now.
    ///
    /// - Parameter now: monotonic milliseconds.
    func silence(at now: Int64) -> Int64 { max(0, (silentUntil ?? 0) - now) }
}

// MARK: - Data that must be requested

extension ServerSession {
    mutating func require(_ need: Need) { needs.insert(need) }

    func requires(_ need: Need) -> Bool { needs.contains(need) }

    /// Whether the customer must be requested from the server.
    var mustAskCustomer: Bool { requires(.customer) || requires(.orderOfAnswers) }

    /// Records that the needed data is being requested, or was received.
    mutating func satisfy(_ need: Need) { needs.remove(need) }

    /// Records that the request about the customer failed. A permanent failure is retried when the
    /// app comes to the foreground.
    mutating func recordCustomerFailure(isTemporary: Bool) {
        if isTemporary { require(.customer) } else { satisfy(.customer) }
    }

    /// Returns whether the keys that sign tokens may be requested now. If true, also records that
    /// they are requested.
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
    /// Records the tag of an accepted answer to a GET.
    mutating func setTag(_ tag: String?) { customerTag = tag.map { .current($0) } ?? .none }

    /// Records that an answer without a tag was accepted, or that such an answer changed a part of
    /// the last answer.
    mutating func recordUntagged() {
        if case .current(let tag) = customerTag { customerTag = .outdated(tag) }
    }

    /// Records that the customer or the environment has changed.
    mutating func forgetTag() { customerTag = .none }

    /// The tag with which the server can answer "not modified". Nil if there is no such tag.
    var currentTag: String? {
        if case .current(let tag) = customerTag { tag } else { nil }
    }

    /// The tag of the last answer to a GET, even if an answer of another kind has arrived since.
    /// Nil if there is no such tag.
    var lastTag: String? {
        switch customerTag {
        case .none: nil
        case .current(let tag), .outdated(let tag): tag
        }
    }

    /// Records that the changes of a customer are followed. Returns whether a new loop must be
    /// started.
    mutating func follow(_ id: String) -> Bool {
        guard followed != id else { return false }
        followed = id
        return true
    }

    mutating func stopFollowing() { followed = nil }
}
