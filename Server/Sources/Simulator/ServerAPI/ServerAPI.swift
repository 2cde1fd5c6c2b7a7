import AppStoreFormats

/// What the App Store Server API remembers beside the world's books.
struct ServerAPI: Sendable {
    var tokens = KnownTokens()
    var rates = RateLimits()
    var modifications = Modifications()
    /// By its token, the UUID of each test notification.
    var testNotifications: [String: TestNotification] = [:]
    var messaging: [SimulatedEnvironment: RetentionMessaging] = [:]
    /// Requests of Advanced Commerce that were made, by the developer's ids.
    var references: Set<String> = []
}

// The request's way: endpoint, faults, token, limit, answer. Every request passes `answer(_:)` and
// nothing else.

extension AppStoreSimulator {
    /// The answer to a request as Apple would give it. What Apple does not say, why a token is
    /// refused, is in the log.
    func answer(_ request: APIRequest) async -> APIAnswer {
        let answer = await unrecordedAnswer(request)
        note(request, answer)
        return answer
    }

    private func unrecordedAnswer(_ request: APIRequest) async -> APIAnswer {
        // Apple, too, says nothing about a path that it does not know.
        guard let (endpoint, parameters) = APIEndpoint.match(request) else { return APIAnswer(404) }
        if let answer = await faultyAnswer(to: request, endpoint) { return answer }
        do {
            try authorize(request)
            try limit(request, endpoint)
            let call = APICall(
                environment: request.environment, parameters: parameters, query: request.query,
                bytes: request.body)
            let answer = try await endpoint.answer(self, call)
            remember(answer, to: request)
            return answer
        } catch {
            return answer(to: error, endpoint)
        }
    }

    private func answer(to error: any Error, _ endpoint: APIEndpoint) -> APIAnswer {
        switch error {
        case let error as APIError: return APIAnswer(error)
        case let refusal as BearerToken.Refusal:
            note(.refusedToken, [("reason", .string(refusal.reason))])
            return APIAnswer(401)
        case let limit as LimitReached:
            var answer = APIAnswer(.rateLimitExceeded)
            answer.retryAfter = limit.retryAfter
            return answer
        default:
            note(.trouble, [("endpoint", .string(endpoint.name)), ("error", .string("\(error)"))])
            return APIAnswer(.generalInternal)
        }
    }

    /// What was asked is in the log, and with which number it was refused; not what was answered,
    /// whose signatures are others each time.
    private func note(_ request: APIRequest, _ answer: APIAnswer) {
        let query = request.query.map { JSON.string("\($0.name)=\($0.value)") }
        note(
            .call,
            [
                (
                    "endpoint",
                    .string("\(request.method.rawValue) \(request.path.joined(separator: "/"))")
                ),
                ("environment", .string(request.environment.rawValue)), ("query", .array(query)),
                ("body", Self.recorded(request.body)), ("status", .integer(Int64(answer.status))),
                ("error_code", answer.body?["errorCode"] ?? .null),
            ])
    }

    /// Bytes of a body that the log shows.
    static let recordedBytesMax = 2000

    /// The beginning of a body, as text.
    static func recorded(_ body: [UInt8]) -> JSON {
        .string(String(decoding: body.prefix(recordedBytesMax), as: UTF8.self))
    }

    private func authorize(_ request: APIRequest) throws(BearerToken.Refusal) {
        let token = try api.tokens.token(
            request.authorization, keys: settings.apiKeys, bundleID: settings.bundleID)
        try token.requireCurrent(at: [request.arrived, clock.now])
    }

    private struct LimitReached: Error {
        let retryAfter: AppStoreDate
    }

    private func limit(_ request: APIRequest, _ endpoint: APIEndpoint) throws(LimitReached) {
        let now: AppStoreDate
        switch settings.apiRateLimits {
        case .off: return
        case .virtual: now = clock.now
        case .real: now = request.arrived
        }
        if let retryAfter = api.rates.count(endpoint, in: request.environment, at: now) {
            throw LimitReached(retryAfter: retryAfter)
        }
    }
}

extension AppStoreSimulator {
    /// How many an answer holds at most.
    static let pageLength = 20

    /// The members that many answers share. The sandbox has no number of the app.
    func appMembers(_ environment: SimulatedEnvironment) -> [JSON.Member] {
        var members = [JSON.Member("bundleId", .string(settings.bundleID))]
        if environment == .production {
            members.append(.init("appAppleId", .integer(settings.appAppleID)))
        }
        members.append(.init("environment", environment.storeEnvironment.json))
        return members
    }

    func sign(_ payload: some WireObject) throws(SigningFailure) -> JSON {
        .string(try authority.sign(payload))
    }
}
