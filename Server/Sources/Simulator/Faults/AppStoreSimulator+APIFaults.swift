import AppStoreFormats

/// The last responses of the API with the requests they belong to. Stale responses are taken from
/// here.
struct RememberedAnswers: Sendable {
    /// Maximum number that is stored; the oldest is removed first.
    static let keptMax = 1000

    private struct Remembered: Sendable {
        let question: String
        let answer: APIAnswer
        let at: AppStoreDate
    }

    private var kept: [Remembered] = []

    mutating func keep(_ answer: APIAnswer, to question: String, at now: AppStoreDate) {
        kept.removeAll { $0.question == question }
        if kept.count >= Self.keptMax { kept.removeFirst() }
        kept.append(Remembered(question: question, answer: answer, at: now))
    }

    func answer(to question: String, since moment: AppStoreDate) -> APIAnswer? {
        kept.last { $0.question == question && $0.at >= moment }?.answer
    }
}

extension APIRequest {
    /// Identifies what is requested, independent of caller and time. Nil for requests that change
    /// something.
    fileprivate var question: String? {
        guard method == .get else { return nil }
        let query = query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        return "\(environment.rawValue) \(path.joined(separator: "/"))?\(query)"
    }

    /// Whether the request has a page token, known or not.
    fileprivate var hasPageToken: Bool { query.contains { $0.name == "paginationToken" } }
}

extension AppStoreSimulator {
    /// The response that faults cause. Nil if the true one is to be sent.
    func faultyAnswer(to request: APIRequest, _ endpoint: APIEndpoint) async -> APIAnswer? {
        if let outage = faults.apiOutage, outage.includes(clock.now) {
            note(.fault, [("api", "outage"), ("endpoint", .string(endpoint.name))])
            return APIAnswer(503)
        }
        let before = request.question.flatMap { earlierAnswer(to: $0) }
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
            note(
                .fault, [("api", .string(fault.rawValue)), ("endpoint", .string(endpoint.name))])
        }
        if striking.contains(.slow) { await waitAsFaultsWant() }
        return striking.lazy.compactMap { self.answer(of: $0, before) }.first
    }

    private func answer(of fault: APIFault, _ before: APIAnswer?) -> APIAnswer? {
        switch fault {
        case .unauthorized: return APIAnswer(401)
        case .notFound: return APIAnswer(.transactionIDNotFound)
        case .rateLimit:
            var answer = APIAnswer(.rateLimitExceeded)
            let wait = faults.retryAfterSeconds * 1000
            answer.retryAfter = AppStoreDate(milliseconds: clock.milliseconds + wait)
            return answer
        case .error: return APIAnswer(.generalInternal)
        case .retryableError: return APIAnswer(.generalInternalRetryable)
        case .stale: return before
        case .expiredToken: return APIAnswer(.paginationTokenExpired)
        case .slow: return nil
        }
    }

    /// Waits as the fault `slow` requires. If the client disconnects meanwhile, the request is
    /// still processed.
    func waitAsFaultsWant() async {
        try? await Task.sleep(for: .seconds(faults.slowSeconds))
    }

    func earlierAnswer(to question: String) -> APIAnswer? {
        let since = AppStoreDate(milliseconds: clock.milliseconds - faults.staleSeconds * 1000)
        return answersGiven.answer(to: question, since: since)
    }

    /// Stores a successful response for as long as a stale one may be needed.
    func remember(_ answer: APIAnswer, to request: APIRequest) {
        guard answer.status == 200, let question = request.question else { return }
        remember(answer, to: question)
    }

    func remember(_ answer: APIAnswer, to question: String) {
        if faults.mayBeStale { answersGiven.keep(answer, to: question, at: clock.now) }
    }
}

extension APIEndpoint {
    /// Whether its path contains a transaction's id.
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
