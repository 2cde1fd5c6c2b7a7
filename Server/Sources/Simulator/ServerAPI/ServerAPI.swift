import AppStoreFormats

/// The state of the App Store Server API, apart from the world's state.
struct ServerAPI: Sendable {
    var tokens = TokenCache()
    var rates = RateLimits()
    var changes = ChangeTracker()
    /// Test notifications that clients requested, by their tokens.
    var testNotifications: [String: TestNotification] = [:]
    var messaging: [SimulatedEnvironment: RetentionMessaging] = [:]
    /// Advanced Commerce requests that were made, by the developer's ids.
    var references: Set<String> = []
}

// A request passes these stages: endpoint, faults, token, rate limit, response. Every request goes
// through `process(_:)`.

extension AppStoreSimulator {
    /// The response to a request, as Apple would give it. Logs why a token is refused, because
    /// Apple's response does not contain the reason.
    func process(_ request: APIRequest) async -> APIResponse {
        let answer = await unloggedResponse(request)
        logCall(request, answer)
        return answer
    }

    private func unloggedResponse(_ request: APIRequest) async -> APIResponse {
        // Apple's response to an unknown path is empty, too.
        guard let (endpoint, parameters) = APIEndpoint.match(request) else {
            return APIResponse(404)
        }
        if let answer = await faultyResponse(to: request, endpoint) { return answer }
        do {
            try authorize(request)
            try limit(request, endpoint)
            let call = APICall(
                environment: request.environment, parameters: parameters, query: request.query,
                bytes: request.body)
            let answer = try await endpoint.handler(self, call)
            remember(answer, to: request)
            return answer
        } catch {
            return response(to: error, endpoint)
        }
    }

    private func response(to error: any Error, _ endpoint: APIEndpoint) -> APIResponse {
        switch error {
        case let error as APIError: return APIResponse(error)
        case let refusal as BearerToken.Refusal:
            appendToLog(.refusedToken, [("reason", .string(refusal.reason))])
            return APIResponse(401)
        case let limit as LimitReached:
            var answer = APIResponse(.rateLimitExceeded)
            answer.retryAfter = limit.retryAfter
            return answer
        default:
            appendToLog(
                .trouble, [("endpoint", .string(endpoint.name)), ("error", .string("\(error)"))])
            return APIResponse(.generalInternal)
        }
    }

    /// Logs the request and its error code. The response is not logged, because its signatures
    /// differ each time.
    private func logCall(_ request: APIRequest, _ answer: APIResponse) {
        let query = request.query.map { JSON.string("\($0.name)=\($0.value)") }
        appendToLog(
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

    /// Maximum number of bytes of a body in the log.
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
    /// Maximum number of entries in a response.
    static let pageLength = 20

    /// Members that many responses contain. The sandbox omits the app's Apple id.
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
