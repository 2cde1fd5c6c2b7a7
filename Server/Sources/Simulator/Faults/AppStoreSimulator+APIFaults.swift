import AppStoreFormats

/// The last responses of the API, each with its request. The fault `stale` returns them again.
struct RecentResponses: Sendable {
    /// Maximum number of stored responses; the oldest is removed first.
    static let storedMax = 1000

    private struct Entry: Sendable {
        let requestKey: String
        let response: APIResponse
        let at: AppStoreDate
    }

    private var entries: [Entry] = []

    mutating func record(_ answer: APIResponse, to question: String, at now: AppStoreDate) {
        entries.removeAll { $0.requestKey == question }
        if entries.count >= Self.storedMax { entries.removeFirst() }
        entries.append(Entry(requestKey: question, response: answer, at: now))
    }

    func response(to question: String, since moment: AppStoreDate) -> APIResponse? {
        entries.last { $0.requestKey == question && $0.at >= moment }?.response
    }
}

extension APIRequest {
    /// Identifies what is requested, independent of caller and time. Nil for requests that change
    /// something.
    fileprivate var requestKey: String? {
        guard method == .get else { return nil }
        let query = query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        return "\(environment.rawValue) \(path.joined(separator: "/"))?\(query)"
    }

    /// Whether the request has a page token, known or not.
    fileprivate var hasPageToken: Bool { query.contains { $0.name == "paginationToken" } }
}

extension AppStoreSimulator {
    /// The response that faults cause. Nil if the true response is to be sent.
    func faultyResponse(to request: APIRequest, _ endpoint: APIEndpoint) async -> APIResponse? {
        if let outage = faults.apiOutage, outage.includes(clock.now) {
            appendToLog(.fault, [("api", "outage"), ("endpoint", .string(endpoint.name))])
            return APIResponse(503)
        }
        let before = request.requestKey.flatMap { earlierResponse(to: $0) }
        let striking = setFaults { faults in
            faults.api.draw { fault in
                switch fault {
                case .stale: before != nil
                case .expiredToken: request.hasPageToken
                case .notFound: endpoint.namesTransaction
                case .unauthorized, .rateLimit, .error, .retryableError, .slow: true
                }
            }
        }
        for fault in striking {
            appendToLog(
                .fault, [("api", .string(fault.rawValue)), ("endpoint", .string(endpoint.name))])
        }
        if striking.contains(.slow) { await delayResponse() }
        return striking.lazy.compactMap { self.response(of: $0, before) }.first
    }

    private func response(of fault: APIFault, _ before: APIResponse?) -> APIResponse? {
        switch fault {
        case .unauthorized: return APIResponse(401)
        case .notFound: return APIResponse(.transactionIDNotFound)
        case .rateLimit:
            var answer = APIResponse(.rateLimitExceeded)
            let wait = faults.retryAfterSeconds * 1000
            answer.retryAfter = AppStoreDate(milliseconds: clock.milliseconds + wait)
            return answer
        case .error: return APIResponse(.generalInternal)
        case .retryableError: return APIResponse(.generalInternalRetryable)
        case .stale: return before
        case .expiredToken: return APIResponse(.paginationTokenExpired)
        case .slow: return nil
        }
    }

    /// Waits as the fault `slow` requires. If the client disconnects meanwhile, the request is
    /// still processed.
    func delayResponse() async {
        try? await Task.sleep(for: .seconds(faults.slowSeconds))
    }

    func earlierResponse(to question: String) -> APIResponse? {
        let since = AppStoreDate(milliseconds: clock.milliseconds - faults.staleSeconds * 1000)
        return recentResponses.response(to: question, since: since)
    }

    /// Stores a successful response, so that the fault `stale` can return it later.
    func remember(_ answer: APIResponse, to request: APIRequest) {
        guard answer.status == 200, let question = request.requestKey else { return }
        remember(answer, to: question)
    }

    func remember(_ answer: APIResponse, to question: String) {
        if faults.mayBeStale { recentResponses.record(answer, to: question, at: clock.now) }
    }
}

extension APIEndpoint {
    /// Whether the endpoint's path contains a transaction's id.
    fileprivate var namesTransaction: Bool {
        ["transactions/", "subscriptions/", "history/", "refund/"].contains { path.contains($0) }
            && path.contains("{id}")
    }
}

extension Faults {
    fileprivate var mayBeStale: Bool {
        (api.odds[.stale] ?? 0) > 0 || api.ordered.contains(.stale)
    }
}
