import AppStoreClient
import AppStoreFormats
import Engine
import Ledger
import Simulator

// The connections between the App Store and the servers.

extension Trial {
    /// A request of a server.
    struct Call: Sendable {
        let server: Int
        let power: Power
        let request: AppStoreRequest
    }

    /// The response arrived after the server had closed the connection.
    struct TooLate: Error {}

    // MARK: - Notifications

    /// Delivers a notification to one of the servers. Returns the response that the App Store gets.
    func deliver(_ body: [UInt8]) async -> PostAnswer {
        report.figures.notifications += 1
        if isSwallowed() { return PostAnswer(status: 200) }
        guard let server = anyServer() else {
            report.tally.add("no server when a notification arrived")
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

    /// Whether something in front of the servers loses the notification: the App Store gets a 200,
    /// and no server gets the notification.
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
            report.tally.add(kept.isRepeat ? "notification repeated" : "notification recorded")
            if !progress.isModern { report.tally.add("version 1 notification recorded") }
            return PostAnswer(status: 200)
        } catch {
            guard server.power.isOn else {
                return PostAnswer(error: "connection closed")
            }
            let status = error.isForever ? 400 : 503
            report.tally.add("notification response \(status)")
            return PostAnswer(status: status)
        }
    }

    // MARK: - Requests

    /// The App Store's response to a server's request.
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
            report.tally.add("history was incomplete")
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
        // The server may crash after it has received the response.
        try await call.power.step(.atQuestion)
        return answer
    }

    /// The number of late responses so far, for comparison once the response is there. Returns nil
    /// if none can be late.
    func lateAnswers() async -> Int? {
        guard isStormy, plan.has(.lateAnswers) else { return nil }
        return await slowAnswers()
    }

    /// Drops a response that came late: in real time the client would have timed out.
    func requireInTime(since late: Int?) async throws {
        guard let late, await slowAnswers() > late else { return }
        report.tally.add("response came too late")
        throw TooLate()
    }

    private func slowAnswers() async -> Int {
        await simulator.setFaults { $0.api.struck[.slow] ?? 0 }
    }

    /// The first request about a purchase reads its whole past; each further one counts.
    private func count(_ request: AppStoreRequest) {
        guard let id = request.purchase else { return }
        // The status request counts as the check; the history request belongs to it.
        if request.path.isOf("history") { return report.tally.add("whole history read") }
        guard !asked.insert(id).inserted else { return }
        report.figures.questions += 1
    }

    /// After a successful response the server may know everything that the ground truth contains
    /// about the accounts.
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

    /// The ground truth of an account; empty for one that does not exist yet.
    func books(of name: String) async -> [BookedPurchase] {
        (try? await simulator.truth(of: name).purchases) ?? []
    }
}

extension AppStoreSimulator {
    /// The App Store's response to a request.
    func answer(_ request: AppStoreRequest) async -> DirectAnswer {
        await answer(
            request.method, request.path, query: request.query,
            authorization: request.authorization, body: request.body ?? [],
            in: request.simulatedEnvironment)
    }
}

extension AppStoreRequest {
    /// The environment that the request is for.
    var simulatedEnvironment: SimulatedEnvironment {
        environment == .sandbox ? .sandbox : .production
    }

    /// The contents of the response: documents about a purchase, or notifications.
    func letters(in answer: [UInt8]) -> [Letter] {
        purchase == nil ? Letter.notifications(in: answer) : Letter.documents(in: answer)
    }

    /// The purchase that a request is about.
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
    /// Whether the same request would be rejected again.
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
