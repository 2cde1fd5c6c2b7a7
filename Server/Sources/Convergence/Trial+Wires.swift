import AppStoreClient
import AppStoreFormats
import Engine
import Ledger
import Simulator

// Between the store and the servers.

extension Trial {
    /// A question of a server's.
    struct Call: Sendable {
        let server: Int
        let power: Power
        let request: AppStoreRequest
    }

    /// The answer came after the server had hung up.
    struct TooLate: Error {}

    // MARK: - Notifications

    /// Carries a notification to one of the servers. Says what the store hears.
    func deliver(_ body: [UInt8]) async -> PostAnswer {
        report.figures.notifications += 1
        if isSwallowed() { return PostAnswer(status: 200) }
        guard let server = anyServer() else {
            report.tally.add("no server when a notification came")
            return PostAnswer(error: "connection refused")
        }
        let letters = Letter.letters(notification: body)
        for letter in letters {
            isLookDue = isLookDue || evidence.isOlder(letter)
            evidence.offer(letter, at: now)
        }
        if let breach = await refuseForgery(of: body, server) {
            report.breach = report.breach ?? breach
        }
        lastBody = body
        let answer = await answer(of: server, to: sabotage?.altered(body, at: now) ?? body)
        let status = answer.status.map { "\($0)" } ?? answer.error ?? ""
        report.note(
            "notified: \(letters.last?.description ?? "something unreadable"): \(status)", at: now)
        if answer.isSuccess { for letter in letters { evidence.take(letter, at: now) } }
        await bury()
        return answer
    }

    /// Whether something before the servers takes a notification for itself: the store has a 200,
    /// and nobody has the notification.
    private func isSwallowed() -> Bool {
        guard isStormy, plan.has(.swallowedNotifications), swallowLots.happens(swallowOdds) else {
            return false
        }
        report.tally.add("notification swallowed")
        report.note("swallowed", at: now)
        return true
    }

    private func answer(of server: Server, to body: [UInt8]) async -> PostAnswer {
        do {
            let kept = try await server.engine.record(notification: body)
            report.tally.add(kept.isRepeat ? "notification repeated" : "notification kept")
            if !progress.isModern { report.tally.add("notification of version 1 kept") }
            return PostAnswer(status: 200)
        } catch {
            guard server.power.isOn else {
                return PostAnswer(error: "connection closed")
            }
            let status = error.isForever ? 400 : 503
            report.tally.add("notification answered with \(status)")
            return PostAnswer(status: status)
        }
    }

    // MARK: - Questions

    /// What the store answers to a server's question.
    func answer(_ call: Call) async throws -> DirectAnswer {
        let request = call.request
        if request.path == Self.receiptPath { return try await answer(receipt: call) }
        count(request)
        let late = await lateAnswers()
        var answer = await simulator.answer(request)
        if answer.status != 200 || request.purchase != nil {
            report.note("asked: \(request.path): \(answer.status)", at: now)
        }
        report.tally.add("API answered \(answer.status)")
        if answer.status == 200 {
            if let purchase = request.purchase { await reach(accountsOf: [purchase]) }
            for letter in request.letters(in: answer.body) { evidence.offer(letter, at: now) }
        }
        try await requireInTime(since: late)
        if plan.speech == .mixed { answer.body = sinceUpdate(answer.body) }
        if plan.has(.silentHistory), request.path.hasSuffix("notifications/history") {
            report.tally.add("history was silent")
            return DirectAnswer(
                status: 200, body: Array(#"{"hasMore":false,"notificationHistory":[]}"#.utf8))
        }
        if let sabotage {
            if answer.status == 404, sabotage.kind == .absentMeansExpired {
                let expired = try await sabotage.expired(
                    request, request.simulatedEnvironment, simulator)
                answer = expired ?? answer
            }
            answer.body = sabotage.altered(answer: answer.body, at: now)
        }
        // The server may die with the answer in its hands.
        try await call.power.step(.atQuestion)
        return answer
    }

    /// How often the store has answered late, to be compared when an answer is there; nil where
    /// none is late.
    func lateAnswers() async -> Int? {
        guard isStormy, plan.has(.lateAnswers) else { return nil }
        return await slowAnswers()
    }

    /// Loses an answer that came late: nobody waits for it in real time.
    func requireInTime(since late: Int?) async throws {
        guard let late, await slowAnswers() > late else { return }
        report.tally.add("answer came too late")
        throw TooLate()
    }

    private func slowAnswers() async -> Int {
        await simulator.setFaults { $0.api.struck[.slow] ?? 0 }
    }

    /// The first question about a purchase is about its whole past; each further one counts.
    private func count(_ request: AppStoreRequest) {
        guard let id = request.purchase else { return }
        // Of one check the status is the question; the history belongs to it.
        if request.path.isOf("history") { return report.tally.add("whole history read") }
        guard !asked.insert(id).inserted else { return }
        report.figures.questions += 1
    }

    /// Whoever got a good answer may know all that the books tell of the accounts.
    func reach(accountsOf purchases: Set<String>) async {
        for name in accounts {
            let books = await books(of: name)
            guard books.contains(where: { purchases.contains($0.originalTransactionID) }) else {
                continue
            }
            for booked in books { reach(booked) }
        }
    }

    func reach(_ booked: BookedPurchase) { evidence.reach(booked, at: now) }

    /// What the store has in its books of an account; nothing of one that has not come yet.
    func books(of name: String) async -> [BookedPurchase] {
        (try? await simulator.truth(of: name).purchases) ?? []
    }
}

extension AppStoreSimulator {
    /// What the store answers to a question as it is sent.
    func answer(_ request: AppStoreRequest) async -> DirectAnswer {
        await answer(
            request.method, request.path, query: request.query,
            authorization: request.authorization, body: request.body ?? [],
            in: request.simulatedEnvironment)
    }
}

extension AppStoreRequest {
    /// The store that it is for.
    var simulatedEnvironment: SimulatedEnvironment {
        environment == .sandbox ? .sandbox : .production
    }

    /// What its answer holds: documents about a purchase, else notifications.
    func letters(in answer: [UInt8]) -> [Letter] {
        purchase == nil ? Letter.notifications(in: answer) : Letter.documents(in: answer)
    }

    /// The purchase that a question is about.
    var purchase: String? {
        guard path.isOf("subscriptions") || path.isOf("history"),
            let slash = path.lastIndex(of: "/")
        else { return nil }
        return String(path[path.index(after: slash)...])
    }
}

extension String {
    /// Whether a path is of one of Apple's resources: `/inApps/v1/NAME/ID`.
    fileprivate func isOf(_ resource: String) -> Bool {
        let parts = utf8.split(separator: UInt8(ascii: "/"), maxSplits: 3)
        return parts.count > 3 && parts[2].elementsEqual(resource.utf8)
    }
}

extension EngineFailure {
    /// The same again would be refused again.
    var isForever: Bool {
        switch self {
        case .unreadable, .tooMuch, .notForAnyApp, .unknownApp, .legacyOff, .notTrusted,
            .incomplete,
            .renewalWithoutTransaction, .meaninglessCustomerID, .tooManyIDs,
            .belongsToAnotherCustomer, .unknownCurrency, .walletHasTooLittle,
            .keyOfAnotherRequest, .unknownPurchase, .unknownTransfer, .transferSuperseded,
            .unknownEntitlement, .unknownGrant, .grantWithoutTime, .noProof, .noOffersKey,
            .unknownOffer, .offerNotForThem, .offerForUnknownTransaction, .unknownContent,
            .contentNotOpen, .unknownCursor, .outdatedCursor, .queryTooLong, .unknownAlias,
            .firstID, .notForSandbox:
            true
        case .cannotTellNow, .notForwarded, .busy, .documentBudgetSpent, .storage: false
        }
    }
}
