import AppStoreClient
import AppStoreFormats
import Engine
import Ledger
import Simulator

// The connections between the App Store and the servers.

extension Trial {
    /// A request that a server sends.
    struct AppStoreCall: Sendable {
        let server: Int
        let power: ServerProcess
        let request: AppStoreRequest
    }

    /// The response arrived after the server had closed the connection.
    struct ResponseTimedOut: Error {}

    // MARK: - Notifications

    /// Delivers a notification to one of the servers. Returns the response that the App Store gets.
    func deliver(_ body: [UInt8]) async -> PostResult {
        report.statistics.notifications += 1
        if isSwallowed() { return PostResult(status: 200) }
        guard let server = anyServer() else {
            report.tally.add("no server when a notification arrived")
            return PostResult(error: "connection refused")
        }
        let letters = ObservedDocument.documents(notification: body)
        for letter in letters {
            isLookDue = isLookDue || evidence.isOlder(letter)
            evidence.recordPossible(letter, at: now)
        }
        if let breach = await sendForgery(of: body, server) {
            report.violation = report.violation ?? breach
        }
        lastBody = body
        let answer = await response(of: server, to: sabotage?.altered(body, at: now) ?? body)
        let status = answer.status.map { "\($0)" } ?? answer.error ?? ""
        report.log(
            "notified: \(letters.last?.description ?? "something unreadable"): \(status)", at: now)
        if answer.isSuccess { for letter in letters { evidence.recordAccepted(letter, at: now) } }
        await scheduleRestarts()
        return answer
    }

    /// Whether something in front of the servers loses the notification. In this case the App Store
    /// gets a 200, and no server gets the notification.
    private func isSwallowed() -> Bool {
        guard isStormy, plan.has(.swallowedNotifications), swallowRandom.happens(swallowOdds) else {
            return false
        }
        report.tally.add("notification swallowed")
        report.log("swallowed", at: now)
        return true
    }

    private func response(of server: Server, to body: [UInt8]) async -> PostResult {
        do {
            let kept = try await server.engine.recording.record(notification: body)
            report.tally.add(kept.isRepeat ? "notification repeated" : "notification recorded")
            if !appUpdate.isModern { report.tally.add("version 1 notification recorded") }
            return PostResult(status: 200)
        } catch {
            guard server.process.isOn else {
                return PostResult(error: "connection closed")
            }
            let status = error.isPermanent ? 400 : 503
            report.tally.add("notification response \(status)")
            return PostResult(status: status)
        }
    }

    // MARK: - Requests

    /// The App Store's response to a server's request.
    func respond(_ call: AppStoreCall) async throws -> DirectAPIResponse {
        let request = call.request
        if request.path == Self.receiptPath { return try await respond(receipt: call) }
        count(request)
        let late = await lateResponseCount()
        var answer = await simulator.respond(request)
        if answer.status != 200 || request.purchase != nil {
            report.log("asked: \(request.path): \(answer.status)", at: now)
        }
        report.tally.add("API answered \(answer.status)")
        if answer.status == 200 {
            if let purchase = request.purchase { await extendHorizons(accountsOf: [purchase]) }
            for letter in request.documents(in: answer.body) {
                evidence.recordPossible(letter, at: now)
            }
        }
        try await requireOnTime(since: late)
        if plan.clientEra == .mixed { answer.body = sinceUpdate(answer.body) }
        if plan.has(.incompleteHistory), request.path.hasSuffix("notifications/history") {
            report.tally.add("history was incomplete")
            return DirectAPIResponse(
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
        try await call.power.step(.atRequest)
        return answer
    }

    /// The number of late responses so far. The caller compares this number with the number after a
    /// response. Returns nil if no response can be late.
    func lateResponseCount() async -> Int? {
        guard isStormy, plan.has(.slowResponses) else { return nil }
        return await slowResponseCount()
    }

    /// Throws if the response came so late that, in real time, the client would have timed out.
    func requireOnTime(since late: Int?) async throws {
        guard let late, await slowResponseCount() > late else { return }
        report.tally.add("response came too late")
        throw ResponseTimedOut()
    }

    private func slowResponseCount() async -> Int {
        await simulator.setFaults { $0.api.struck[.slow] ?? 0 }
    }

    /// Counts a request. The first request about a purchase reads its whole history, and does not
    /// count as a check.
    private func count(_ request: AppStoreRequest) {
        guard let id = request.purchase else { return }
        // The status request is counted as the check; a history request is part of the same check.
        if request.path.isOf("history") { return report.tally.add("whole history read") }
        guard !checkedPurchases.insert(id).inserted else { return }
        report.statistics.questions += 1
    }

    /// Records that after a successful response the server may know everything that the ground
    /// truth contains about the accounts.
    func extendHorizons(accountsOf purchases: Set<String>) async {
        for name in accounts {
            let books = await groundTruth(of: name)
            guard books.contains(where: { purchases.contains($0.originalTransactionID) }) else {
                continue
            }
            for booked in books { extendHorizon(booked) }
        }
    }

    func extendHorizon(_ booked: TruePurchase) { evidence.extendHorizon(booked, at: now) }

    /// The ground truth of an account. Empty for an account that does not exist yet.
    func groundTruth(of name: String) async -> [TruePurchase] {
        (try? await simulator.groundTruth(of: name).purchases) ?? []
    }
}

extension AppStoreSimulator {
    /// The App Store's response to a request.
    func respond(_ request: AppStoreRequest) async -> DirectAPIResponse {
        await callAPI(
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
    func documents(in answer: [UInt8]) -> [ObservedDocument] {
        purchase == nil
            ? ObservedDocument.notifications(in: answer) : ObservedDocument.documents(in: answer)
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
    var isPermanent: Bool {
        switch self {
        case .unreadable, .aliasJoinsTwoPeople, .aliasNotProven, .mixedEnvironments,
            .limitExceeded, .notForAnyApp, .unknownApp, .legacyDisabled, .notTrusted, .incomplete,
            .renewalWithoutTransaction, .invalidCustomerID, .tooManyIDs, .belongsToAnotherCustomer,
            .unknownCurrency, .insufficientBalance, .idempotencyKeyReused, .idempotencyKeyMissing,
            .spendingNotAllowed, .unknownPurchase, .unknownTransfer, .transferSuperseded,
            .unknownEntitlement, .unknownGrant, .grantAlreadyExpired, .identityNotProven,
            .invalidAttribute,
            .offerKeyMissing, .unknownOffer, .offerNotEligible, .offerForUnknownTransaction,
            .unknownContent, .contentNotReadable, .unknownCursor, .outdatedCursor, .queryTooLong,
            .unknownAlias, .primaryID, .unavailableInSandbox, .unknownWebhook,
            .webhookInConfiguration, .tooManyWebhooks, .unknownDelivery, .invalidWebhook,
            .unknownReport, .invalidReport, .unknownOperator, .invalidOperator, .unknownLink,
            .notManager, .seatRefused:
            true
        case .notYetVerifiable, .notForwarded, .busy, .documentBudgetExhausted,
            .growthBudgetExhausted, .erasureNotListed, .storage:
            false
        }
    }
}
