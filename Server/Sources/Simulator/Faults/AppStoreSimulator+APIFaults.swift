import AppStoreFormats

/// The last answers of the API, each for the question that it answered: what a stale answer is
/// taken from.
struct RememberedAnswers: Sendable {
    /// Kept; the oldest goes first.
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
    /// What is asked, without by whom and when; nil for what changes something.
    fileprivate var question: String? {
        guard method == .get else { return nil }
        let query = query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        return "\(environment.rawValue) \(path.joined(separator: "/"))?\(query)"
    }

    /// Of no known page, or of any.
    fileprivate var hasPageToken: Bool { query.contains { $0.name == "paginationToken" } }
}

extension AppStoreSimulator {
    /// The answer as faults want it, or nothing where the true one is to be given.
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

    /// A client that hangs up meanwhile is answered all the same.
    func waitAsFaultsWant() async {
        try? await Task.sleep(for: .seconds(faults.slowSeconds))
    }

    func earlierAnswer(to question: String) -> APIAnswer? {
        let since = AppStoreDate(milliseconds: clock.milliseconds - faults.staleSeconds * 1000)
        return answersGiven.answer(to: question, since: since)
    }

    /// Keeps a good answer for as long as a stale one may be asked for.
    func remember(_ answer: APIAnswer, to request: APIRequest) {
        guard answer.status == 200, let question = request.question else { return }
        remember(answer, to: question)
    }

    func remember(_ answer: APIAnswer, to question: String) {
        if faults.mayBeStale { answersGiven.keep(answer, to: question, at: clock.now) }
    }
}

extension APIEndpoint {
    /// Whether its path has a transaction's id.
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
