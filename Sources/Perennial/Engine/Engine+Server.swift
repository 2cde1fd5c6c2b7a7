internal import AccessRules
internal import Foundation
internal import PerennialContract

// MARK: - Answers of the server

extension Engine {
    /// An unsigned time counts only if it is later than the signed time by at most this number of
    /// milliseconds. The two times may differ, because a token may have been signed a little before
    /// the answer that contains it.
    static let unsignedMax: Int64 = 60_000
    /// The smallest error of the clock that is logged, in seconds.
    static let clockErrorMin: Int64 = 60

    var environmentQuery: [String: String] {
        state.contractEnvironment == .production
            ? [:] : ["environment": state.contractEnvironment.rawValue]
    }

    /// Sends a request, records the server's time from the answer, and obeys `Retry-After`.
    ///
    /// - Parameters:
    ///   - isAwaited: whether a caller waits for the request. Otherwise the request obeys the
    ///     budget.
    ///   - silencesOthers: whether a failure that the server has answered delays the other requests
    ///     in the background.
    func send(
        _ request: ServerRequest, isAwaited: Bool = true, silencesOthers: Bool = true
    ) async throws(ServerError) -> ServerAnswer {
        let interval = SignpostInterval("server")
        defer { interval.close() }
        let number = try countRequest(isAwaited: isAwaited)
        do {
            var answer = try await server.send(request)
            answer.number = number
            recordTime(answer.serverTime)
            session.recordAnswer()
            return answer
        } catch {
            var error = error
            error.number = number
            recordTime(error.serverTime)
            let isUnreachable = error.status == nil && error.failure.code == .serverUnreachable
            if silencesOthers || isUnreachable {
                session.recordFailure(
                    isTemporary: error.failure.isTemporary, retryAfter: error.retryAfter,
                    at: clock.monotonic())
            }
            log.info(
                "server",
                "\(request.method) failed: \(error.failure.code.rawValue). \(error.failure.remedy)")
            throw error
        }
    }

    /// Numbers a request that is about to be sent. A later request has a greater number.
    ///
    /// - Throws: if no caller waits for the request, and the budget is spent.
    func countRequest(isAwaited: Bool) throws(ServerError) -> Int {
        try session.countRequest(isAwaited: isAwaited, at: .init(by: clock))
    }

    /// Records the unsigned time of a header. A device that knows the server's keys does not set
    /// its clock by this time: see ``recordTime(of:serverTime:)``.
    func recordTime(_ time: Timestamp?) {
        guard let time else { return }
        if state.device.keys.keys.isEmpty { anchor(at: time) }
        state.serverAnsweredAt = now
    }

    /// Sets the clock by a token that was just received. Ignores a token that is older than the
    /// last one: an attacker who replays an old token must not set the clock back.
    ///
    /// - Parameter serverTime: when the server answered, unsigned.
    private func recordTime(of token: CustomerToken, serverTime: Timestamp?) {
        guard token.asOf >= state.lastToken ?? token.asOf else { return }
        state.lastToken = token.asOf
        var time = token.asOf
        if let serverTime, serverTime > time,
            serverTime.milliseconds - time.milliseconds <= Self.unsignedMax
        {
            time = serverTime
        }
        anchor(at: time)
    }

    private func anchor(at time: Timestamp) {
        let seconds = (time.milliseconds - now.milliseconds) / 1000
        if state.clock.anchor != nil, abs(seconds) >= Self.clockErrorMin {
            log.notice("clock", "The clock was wrong by \(seconds) s, and was set anew.")
        }
        state.clock.anchor(
            signed: time, monotonic: clock.monotonic(), bootID: clock.bootID(), isContact: true)
    }

    /// Requests from the server what the customer may use now.
    func fetchCustomer(
        within timeout: TimeInterval, isAwaited: Bool = true
    ) async throws(Perennial.Failure) {
        await open()
        guard mayPost, let id = state.device.customerID else { return }
        var request = ServerRequest.get(
            Paths.customer(id), query: environmentQuery, for: id, within: timeout)
        if let tag = session.currentTag, state.answer != nil {
            request.headers["If-None-Match"] = tag
        }
        // The answer to this request is newer than any answer that was dropped.
        session.satisfy(.orderOfAnswers)
        // The outbox is reread before the request, because another process may have sent some
        // entries: the answer then includes them.
        let isReread = rereadOutbox()
        do {
            let answer = try await send(request, isAwaited: isAwaited)
            if isReread { await recordUnsent() }
            if answer.status == 304 {
                confirm(id)
            } else {
                let customer = try answer.decode(PerennialContract.Customer.self)
                if await accept(customer, for: id, by: answer.number) {
                    session.setTag(answer.etag)
                }
            }
            if state.device.customerID == id { session.satisfy(.customer) }
            follow()
        } catch {
            if state.device.customerID == id {
                session.recordCustomerFailure(isTemporary: error.failure.isTemporary)
            }
            if error.failure.code == .customerIDNotValid { await leaveMeaninglessID(id) }
            throw error.failure
        }
        await publish()
    }

    /// Records that the server has reported no change since its last answer.
    func confirm(_ id: String) {
        guard state.device.customerID == id, var evidence = state.serverEvidence else { return }
        evidence.asOf = max(evidence.asOf, now)
        evidence.isLive = true
        state.serverEvidence = evidence
        state.customerAnsweredAt = max(state.customerAnsweredAt ?? evidence.asOf, now)
    }

    /// Accepts an answer about a customer. Drops an older answer, and an answer about another
    /// customer.
    ///
    /// - Parameter request: the number of the request that was answered.
    /// - Returns: whether the answer was accepted.
    @discardableResult
    func accept(
        _ customer: PerennialContract.Customer, for id: String, by request: Int
    ) async -> Bool {
        let token = await readToken(of: customer, for: id)
        guard state.device.customerID == id,
            customer.environment == state.contractEnvironment
        else { return false }
        let order = AnswerOrder(
            asOf: customer.asOf, sequence: token?.sequence ?? 0, request: request)
        if state.answer != nil, let last = state.answerOrder, order < last {
            // Both answers describe the same instant, so the server may have answered the later
            // request first.
            if order.asOf == last.asOf { session.require(.orderOfAnswers) }
            return false
        }
        if state.device.keys.isPinned, token == nil,
            customer.entitlements.contains(where: { $0.value.active })
        {
            log.error("server", "An answer without a token of a trusted key was ignored.")
            return false
        }
        state.answerOrder = order
        session.recordUntagged()
        if let token { recordTime(of: token, serverTime: customer.serverTime) }
        save(token)
        state.answer = customer
        state.aliases = ([customer.customerID] + customer.aliases).filter { $0 != id }
        state.device.accountToken = customer.accountToken ?? state.device.accountToken
        state.serverAnsweredAt = max(state.serverAnsweredAt ?? customer.asOf, now)
        state.customerAnsweredAt = max(state.customerAnsweredAt ?? customer.asOf, now)
        state.recordOwners(customer.purchases)
        var evidence = ServerEvidence(customer, offlineUntil: token?.offlineUntil)
        if let token { evidence.restrict(to: token) }
        state.serverEvidence = evidence
        state.device.closed = customer.entitlements.filter { !$0.value.active }
            .mapValues { ClosedNote(state: $0.state, until: $0.until) }
        return true
    }

    /// The token of an answer. Nil if its signature is not valid: then no token is stored.
    private func readToken(
        of customer: PerennialContract.Customer, for id: String
    ) async -> CustomerToken? {
        guard let text = customer.token else { return nil }
        // The clock of a device may be far behind. Only a signature can prove the right time, and
        // this token has a signature.
        let now = max(now, customer.serverTime ?? now)
        if let token = verify(text, for: id, at: now) { return token }
        await fetchKeys()
        guard let token = verify(text, for: id, at: now) else {
            log.error("server", "The token is signed by a key that this device does not trust.")
            return nil
        }
        return token
    }

    private func verify(
        _ text: String, for id: String, at now: Timestamp
    ) -> CustomerToken? {
        let audience = Audience(app: state.device.app, environment: state.contractEnvironment)
        return CustomerToken(
            text, by: state.device.keys,
            expected: CustomerToken.Expectation(
                audience: audience, customerIDs: [id], now: now))
    }

    private func save(_ token: CustomerToken?) {
        state.device.token = token?.text
        state.device.app = token?.app ?? state.device.app
    }

    /// Fetches the keys that sign tokens, at most once a minute.
    func fetchKeys() async {
        if fetchingKeys == nil { fetchingKeys = Task { await loadKeys() } }
        await fetchingKeys?.value
        fetchingKeys = nil
    }

    private func loadKeys() async {
        guard session.mayFetchKeys(at: clock.monotonic()) else { return }
        let request = ServerRequest.get(Paths.publishedKeys, within: configuration.patience)
        guard let answer = try? await send(request),
            let keys = try? answer.decode(TokenKeySet.self)
        else { return }
        _ = state.device.keys.learn(from: keys, app: state.device.app)
    }
}

/// The order of two answers about a customer, by the time that they describe. If two answers are
/// about the same time, their tokens decide; if the tokens are equal, too, the requests decide.
struct AnswerOrder: Comparable, Sendable {
    var asOf: Timestamp
    var sequence: Int64
    var request: Int

    static func < (one: Self, other: Self) -> Bool {
        (one.asOf, one.sequence, one.request) < (other.asOf, other.sequence, other.request)
    }
}

extension EngineState {
    /// Stores the owners of purchases, so that the next person on this device does not get the
    /// purchases of the previous person.
    mutating func recordOwners(_ verdicts: [PurchaseVerdict]) {
        for verdict in verdicts {
            let id = verdict.originalTransactionID
            switch verdict.verdict {
            case .another, .refused:
                if verdict.owner == .anonymous {
                    device.verdicts[id] = .anonymous
                } else if verdict.owner == .person || verdict.why == "names_another" {
                    recordAnotherPerson(id)
                }
            default:
                device.verdicts[id] =
                    person.map { KeptVerdict.person($0, salt: device.salt) } ?? .anonymous
            }
        }
    }

    private mutating func recordAnotherPerson(_ purchase: String) {
        if case .person = device.verdicts[purchase],
            device.verdicts[purchase]?.verdict(for: person, salt: device.salt) == .anotherPerson
        {
            return
        }
        device.verdicts[purchase] = .unnamedPerson
    }
}

extension ServerEvidence {
    /// Creates the evidence of an answer.
    init(_ customer: PerennialContract.Customer, offlineUntil: Timestamp?) {
        let subscriptions = Dictionary(
            customer.subscriptions.map { ($0.purchaseID, $0) }, uniquingKeysWith: { $1 })
        self.init(
            asOf: customer.asOf, isLive: true, offlineUntil: offlineUntil,
            rights: customer.entitlements.mapValues { entitlement in
                Right(
                    entitlement,
                    subscription: entitlement.purchaseID.flatMap { subscriptions[$0] })
            },
            verdicts: Dictionary(
                customer.purchases.map { ($0.originalTransactionID, Verdict($0)) },
                uniquingKeysWith: { $1 }))
    }
}

extension ServerEvidence {
    /// Limits the evidence to the entitlements that the signed token opens, so that an attacker
    /// between the app and the server cannot add an entitlement.
    fileprivate mutating func restrict(to token: CustomerToken) {
        for (name, right) in rights where right.isActive {
            guard let signed = token.entitlements[name] else {
                rights[name] = nil
                continue
            }
            rights[name]?.state = signed.state
            rights[name]?.mayRenew = right.mayRenew && signed.mayRenew
            guard let until = signed.until else { continue }
            // Times in a token are in whole seconds.
            let isSame = right.until.map { $0.milliseconds / 1000 == until.milliseconds / 1000 }
            if isSame != true { rights[name]?.until = until }
        }
    }
}

extension ServerEvidence.Right {
    fileprivate init(
        _ entitlement: Entitlement, subscription: PerennialContract.Subscription?
    ) {
        let canRenew: [PerennialContract.AccessState] = [.paid, .trial, .offer]
        // The device's App Store knows nothing about another person's purchase.
        let purchase = subscription?.seat == nil ? entitlement.purchaseID : nil
        self.init(
            isActive: entitlement.active, state: entitlement.state, until: entitlement.until,
            mayRenew: subscription != nil && entitlement.willRenew != false
                && canRenew.contains(entitlement.state),
            willRenew: entitlement.willRenew, productID: entitlement.productID,
            originalTransactionID: purchase.map(Self.originalTransactionID))
    }

    /// The part of a purchase's id after the colon, as in `production:2000000123`.
    private static func originalTransactionID(_ purchase: String) -> String {
        purchase.lastIndex(of: ":").map { String(purchase[purchase.index(after: $0)...]) }
            ?? purchase
    }
}

extension Verdict {
    fileprivate init(_ verdict: PurchaseVerdict) {
        switch verdict.verdict {
        case .another, .refused:
            self =
                verdict.owner == .person || verdict.why == "names_another"
                ? .anotherPerson : .anonymous
        default: self = .theirs
        }
    }
}
