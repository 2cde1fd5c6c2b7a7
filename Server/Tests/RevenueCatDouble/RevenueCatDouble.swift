import AppStoreFormats
import Synchronization

/// A double of RevenueCat, for tests of everything that reads RevenueCat's REST API.
///
/// It is written from RevenueCat's public documentation, and shares no code with the server. It
/// reads the notifications that the simulated App Store signs, keeps its own opinion about each
/// customer, and answers like the REST API: version 1 for one customer, version 2 for customers,
/// aliases, subscriptions, purchases, entitlements and products. It makes mistakes only on purpose:
/// ``plant(_:seed:)`` chooses customers for faults of opinion, and ``TransportFaults`` describes
/// what goes wrong on the way.
package final class RevenueCatDouble: Sendable {
    private struct State {
        var books: Books
        var faults: TransportFaults
        var counter = RateCounter()
    }

    private let state: Mutex<State>
    private let limits: RateLimits?
    package let project: Project

    /// - Parameters:
    ///   - now: the time of the answers, until ``set(now:)`` is called.
    ///   - limits: the limits of requests. Nil for none.
    package init(
        _ project: Project, now: AppStoreDate, faults: TransportFaults = TransportFaults(),
        limits: RateLimits? = nil
    ) {
        self.project = project
        self.limits = limits
        state = Mutex(State(books: Books(project, now: now), faults: faults))
    }

    // MARK: - Documents and customers

    /// Sets the time of the answers, and of all later notifications.
    package func set(now: AppStoreDate) { change { $0.now = now } }

    package var now: AppStoreDate { state.withLock { $0.books.now } }

    /// Changes the faults of the transport.
    package func set(faults: TransportFaults) { state.withLock { $0.faults = faults } }

    /// Receives the body that the App Store posts. Ignores a body that is not about a purchase.
    ///
    /// - Returns: the original transaction id of the purchase. Nil if the body was ignored.
    @discardableResult
    package func receive(notification body: [UInt8]) -> String? {
        guard let text = try? NotificationBody(parsing: body).signedPayload else { return nil }
        return receive(signedPayload: text)
    }

    /// Receives a signed notification. Ignores it if it is not about a purchase.
    ///
    /// - Returns: the original transaction id of the purchase. Nil if the notification was ignored.
    @discardableResult
    package func receive(signedPayload: String) -> String? {
        change { books in
            guard let notice = AppleFacts(signedPayload: signedPayload, arrived: books.now) else {
                return nil
            }
            books.receive(notice)
            return notice.transaction.originalID
        }
    }

    /// Makes a customer the owner of a purchase, as RevenueCat learns from its SDK. Creates the
    /// customer if needed. Idempotent.
    package func logIn(_ customer: String, purchase originalTransactionID: String) {
        change { $0.logIn(customer, purchase: originalTransactionID) }
    }

    /// Adds an id to a customer, as a log-in does. Creates the customer if needed. If both ids have
    /// customers, the second is merged into the first.
    package func alias(_ customer: String, _ other: String) {
        change { $0.alias(other, to: customer) }
    }

    /// Gives a customer an entitlement from now until a moment.
    package func grant(_ lookupKey: String, to customer: String, until: AppStoreDate) {
        change { books in
            books.grant(
                PromotionalGrant(
                    lookupKey: lookupKey, begins: books.now, ends: until, duration: "custom"),
                to: customer)
        }
    }

    /// Sets a customer's balance of a virtual currency. Creates the customer if needed.
    package func setBalance(_ amount: Int64, of code: String, for customer: String) {
        change { $0.setBalance(amount, of: code, for: customer) }
    }

    // MARK: - Faults of opinion

    /// Makes mistakes about customers chosen by a seed: at most one for each customer, each visible
    /// at the present time. There may be fewer than asked for if too few customers suit.
    ///
    /// - Returns: the mistakes made by this call.
    @discardableResult
    package func plant(_ counts: [PlantedFault.Kind: Int], seed: UInt64) -> [PlantedFault] {
        change { books in
            let before = books.planted.count
            var planter = FaultPlanter(seed: seed)
            for kind in FaultPlanter.rarestFirst {
                planter.plant(kind, counts[kind] ?? 0, in: &books)
            }
            return Array(books.planted.dropFirst(before))
        }
    }

    /// All mistakes so far, which is the double's ground truth.
    package var planted: [PlantedFault] { state.withLock { $0.books.planted } }

    private func change<Value: Sendable>(_ change: (inout Books) -> Value) -> Value {
        state.withLock { change(&$0.books) }
    }
}

// MARK: - Requests

extension RevenueCatDouble {
    /// The response to a request with API version 2.
    ///
    /// - Parameter path: the path with the query, percent-encoded as it was sent.
    package func respond(to path: String, authorization: String?) async -> Answer {
        answer("GET", path, headers: authorization.map { ["authorization": $0] } ?? [:], body: [])
    }

    /// The response to a request. It depends only on what the double knows, on its time, and on the
    /// requests before.
    ///
    /// - Parameter headers: with names in lower case.
    package func answer(
        _ method: String, _ path: String, headers: [String: String], body: [UInt8]
    ) -> Answer {
        state.withLock { state in
            guard let target = RequestTarget(path) else {
                return V2Failure.parameter("path", "The path is not valid.").answer
            }
            let key = headers["authorization"]
            switch target.segments.first {
            case "v1": return v1(method, target, key, &state)
            case "v2":
                do throws(V2Failure) { return try v2(method, path, target, key, &state) } catch {
                    return error.answer
                }
            default: return V2Failure.missing("path").answer
            }
        }
    }

    private func v2(
        _ method: String, _ path: String, _ target: RequestTarget, _ key: String?,
        _ state: inout State
    ) throws(V2Failure) -> Answer {
        let attempt = state.counter.attempt(path)
        let faults = state.faults
        let isExpired = faults.keyExpiresAfter.map { state.counter.total > $0 } ?? false
        guard key == "Bearer " + project.v2Key, !isExpired else { throw .unauthenticated }
        guard method == "GET" else { throw .missing("path") }
        let domain: RateLimits.Domain =
            target.segments.contains("customers") ? .customerInformation : .projectConfiguration
        if faults.isForbidden, domain == .customerInformation { throw .forbidden }
        let rates = try count(domain, &state)
        if let failure = faults.failure(of: path, attempt: attempt) {
            let truth = try V2Answers(books: state.books, faults: faults, target: target).answer()
            return Self.failed(failure, truth)
        }
        if let lost = Self.lostPage(target, faults) { return lost }
        var answer = try V2Answers(books: state.books, faults: faults, target: target).answer()
        answer.headers.merge(rates) { _, rate in rate }
        return answer
    }

    private func count(
        _ domain: RateLimits.Domain, _ state: inout State
    ) throws(V2Failure) -> [String: String] {
        guard let limits else { return [:] }
        switch state.counter.count(domain, limits) {
        case .refused(let milliseconds): throw .tooManyRequests(milliseconds: milliseconds)
        case .allowed(let usage, let limit):
            return [
                "revenuecat-rate-limit-current-usage": "\(usage)",
                "revenuecat-rate-limit-current-limit": "\(limit)",
            ]
        }
    }

    private static func failed(_ failure: TransportFaults.Failure, _ truth: Answer) -> Answer {
        switch failure {
        case .tooManyRequests:
            return V2Failure.tooManyRequests(
                milliseconds: TransportFaults.retryAfterSeconds * 1000
            ).answer
        case .unavailable: return V2Failure.unavailable.answer
        case .htmlPage:
            let page = "<!doctype html><html><body>Please wait.</body></html>"
            return Answer(200, body: Array(page.utf8), type: "text/html")
        case .cutBody:
            var cut = truth
            cut.body = Array(truth.body.prefix(truth.body.count / 2))
            return cut
        case .hugeBody:
            var huge = truth
            huge.body += Array(repeating: UInt8(ascii: " "), count: TransportFaults.hugeBody)
            return huge
        }
    }

    /// The response to a list of customers that is too long. Nil if it is not.
    private static func lostPage(_ target: RequestTarget, _ faults: TransportFaults) -> Answer? {
        guard let most = faults.pageMax, target.segments.count == 4,
            target.segments[3] == "customers",
            target.query["limit"].flatMap(Int.init) ?? 0 > most
        else { return nil }
        var answer = Answer(504, body: Array("upstream request timeout".utf8), type: "text/plain")
        answer.isLost = faults.losesLargePages
        return answer
    }

    // MARK: - Version 1

    /// `GET /v1/subscribers/{app_user_id}` creates an unknown customer, and then answers with 201.
    private func v1(
        _ method: String, _ target: RequestTarget, _ key: String?, _ state: inout State
    ) -> Answer {
        guard let key, key == project.v1Key || key == "Bearer " + project.v1Key else {
            return Answer(401, ["code": 7225, "message": "Invalid API Key."])
        }
        guard method == "GET", target.segments.count == 3, target.segments[1] == "subscribers"
        else { return Answer(404, ["code": 7226, "message": "Not found."]) }
        let id = target.segments[2]
        let known = state.books.place(of: id)
        guard let place = known ?? state.books.ensureCustomer(id) else {
            return Answer(503, ["code": 7110, "message": "There are too many customers."])
        }
        // A lost id belongs to a customer here, but to a new one at RevenueCat.
        guard let shown = state.books.place(of: id) else {
            let stranger = KnownCustomer(id: id, at: state.books.now)
            let nothing = Opinion(project: project, now: state.books.now, lines: [], grants: [])
            return Answer(200, V1Answers(opinion: nothing, customer: stranger).info)
        }
        let info = V1Answers(
            opinion: state.books.opinion(at: shown), customer: state.books.customers[place])
        return Answer(known == nil ? 201 : 200, info.info)
    }
}
