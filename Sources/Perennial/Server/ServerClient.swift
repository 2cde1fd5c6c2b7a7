internal import Foundation
internal import PerennialContract

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// Sends requests to the Perennial server.
struct ServerClient: Sendable {
    /// The maximum size in bytes of an answer that is read.
    static let answerBytesMax = 8 * 1024 * 1024

    var base: URL
    var key: String
    var proof: (@Sendable (String) async throws -> String)?
    /// A function that sends requests instead of the network. Nil except in tests.
    var transport: Transport?
    private let made = Locked<URLSession?>(nil)

    typealias Transport = @Sendable (URLRequest) async throws -> (Data, URLResponse)

    init(
        base: URL, key: String, proof: (@Sendable (String) async throws -> String)? = nil,
        transport: Transport? = nil
    ) {
        self.base = base
        self.key = key
        self.proof = proof
        self.transport = transport
    }

    /// The session. It is created for the first request, because its creation takes as long as the
    /// rest of the app's launch.
    private var session: URLSession {
        made.withLock { made in
            if let made { return made }
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpCookieStorage = nil
            configuration.urlCache = nil
            let session = URLSession(configuration: configuration)
            made = session
            return session
        }
    }

    /// - Parameter request: the request. If `customer` is set, a proof for that customer is sent.
    /// - Throws: ``ServerError`` for any answer but 2xx and 304, and for a 2xx answer that does not
    ///   come from a Perennial server.
    func send(_ request: ServerRequest) async throws(ServerError) -> ServerAnswer {
        var message = try makeMessage(request)
        if let proof, let customer = request.customer {
            message.setValue(
                try await make(proof, for: customer, within: request.timeout),
                forHTTPHeaderField: "Perennial-Customer-Proof")
        }
        let (body, response) = try await exchange(message)
        let answer = ServerAnswer(
            status: response.statusCode, body: body,
            etag: response.value(forHTTPHeaderField: "ETag"),
            serverTime: response.value(forHTTPHeaderField: "Perennial-Server-Time")
                .flatMap { Timestamp($0) })
        if (200..<300).contains(answer.status), !answer.hasExpectedForm {
            throw ServerError(failure: .answerOfAnotherServer)
        }
        if (200..<300).contains(answer.status) || answer.status == 304 { return answer }
        throw ServerError(
            answer, location: response.value(forHTTPHeaderField: "Location"),
            retryAfter: RetryAfter(
                response.value(forHTTPHeaderField: "Retry-After"),
                date: response.value(forHTTPHeaderField: "Date")))
    }

    private func make(
        _ proof: @escaping @Sendable (String) async throws -> String, for customer: String,
        within seconds: TimeInterval
    ) async throws(ServerError) -> String {
        let reason: String
        do {
            return try await Self.value(within: seconds) { try await proof(customer) }
        } catch let error as URLError where error.code == .timedOut {
            reason = "did not return in time"
        } catch {
            reason = "threw \(type(of: error))"
        }
        throw ServerError(
            failure: Perennial.Failure(
                Perennial.Failure.Code(rawValue: "customer_proof_missing"),
                remedy: "Your `proof` closure \(reason).", isTemporary: true))
    }

    private func makeMessage(_ request: ServerRequest) throws(ServerError) -> URLRequest {
        // The path is already percent-encoded.
        var text = base.absoluteString
        while text.hasSuffix("/") { text.removeLast() }
        text += request.path
        if !request.query.isEmpty {
            let pairs = request.query.sorted { $0.key < $1.key }
                .map { "\(Paths.percentEncoded($0.key))=\(Paths.percentEncoded($0.value))" }
            text += "?" + pairs.joined(separator: "&")
        }
        guard let url = URL(string: text) else {
            throw ServerError(
                failure: Perennial.Failure(
                    .serverUnreachable, remedy: "Check the server's address: it is not a URL."))
        }
        var message = URLRequest(url: url, timeoutInterval: request.timeout)
        message.httpMethod = request.method
        message.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization")
        if let body = request.body {
            message.httpBody = body
            message.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        for (name, value) in request.headers { message.setValue(value, forHTTPHeaderField: name) }
        return message
    }

    private func exchange(
        _ message: URLRequest
    ) async throws(ServerError) -> (Data, HTTPURLResponse) {
        do {
            let (body, response) = try await response(to: message)
            guard let response = response as? HTTPURLResponse, body.count <= Self.answerBytesMax
            else { throw URLError(.badServerResponse) }
            return (body, response)
        } catch {
            throw ServerError(
                failure: Perennial.Failure(
                    .serverUnreachable,
                    remedy: "Check the server's address and the network (\(Self.name(of: error))).",
                    isTemporary: true))
        }
    }

    /// Sends a request and waits for the response, at most for the request's time limit.
    /// URLSession's own limit is not sufficient: on Linux it has no effect while nothing arrives,
    /// and on Apple's systems it begins again with each part that arrives. On Linux the request
    /// continues when its caller stops waiting, because cancelling can block URLSession there.
    private func response(to message: URLRequest) async throws -> (Data, URLResponse) {
        if let transport { return try await transport(message) }
        return try await Self.value(within: message.timeoutInterval) { [session] in
            try await session.data(for: message, delegate: RedirectPolicy())
        }
    }

    /// Returns the result of some work. After the time limit, throws `URLError.timedOut` and no
    /// longer waits for the work.
    private static func value<Value: Sendable>(
        within seconds: TimeInterval, of work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let (ends, continuation) = AsyncStream.makeStream(of: Result<Value, any Error>.self)
        let working = Task {
            do { continuation.yield(.success(try await work())) } catch {
                continuation.yield(.failure(error))
            }
        }
        let limit = Task {
            try await Task.sleep(nanoseconds: seconds.nanoseconds)
            continuation.yield(.failure(URLError(.timedOut)))
            #if !os(Linux)
                working.cancel()
            #endif
        }
        // An unstructured task is not cancelled with its parent.
        let first = Task { () -> Result<Value, any Error> in
            for await end in ends { return end }
            return .failure(URLError(.cancelled))
        }
        defer { limit.cancel() }
        return try await first.value.get()
    }

    private static func name(of error: any Error) -> String {
        (error as? URLError).map { "URLError \($0.errorCode)" } ?? "\(type(of: error))"
    }
}

/// A request to the server.
struct ServerRequest: Sendable {
    var method: String
    /// The percent-encoded path: see ``Paths``.
    var path: String
    var query: [String: String] = [:]
    var headers: [String: String] = [:]
    var body: Data?
    /// The customer for whom the request is sent. Nil if the request is about no customer.
    var customer: String?
    /// The time limit in seconds.
    var timeout: TimeInterval

    static func get(
        _ path: String, query: [String: String] = [:], for customer: String? = nil,
        within timeout: TimeInterval
    ) -> Self {
        Self(method: "GET", path: path, query: query, customer: customer, timeout: timeout)
    }

    static func patch(
        _ path: String, _ body: some Encodable, for customer: String?, within timeout: TimeInterval
    ) -> Self {
        Self(
            method: "PATCH", path: path, body: try? JSONEncoder().encode(body), customer: customer,
            timeout: timeout)
    }

    static func post(
        _ path: String, _ body: some Encodable, query: [String: String] = [:],
        for customer: String?, within timeout: TimeInterval
    ) -> Self {
        Self(
            method: "POST", path: path, query: query, body: try? JSONEncoder().encode(body),
            customer: customer, timeout: timeout)
    }
}

/// An answer of the server: 2xx or 304.
struct ServerAnswer: Sendable {
    /// The number of the request. A later request has a greater number.
    var number = 0
    var status: Int
    var body: Data
    var etag: String?
    var serverTime: Timestamp?

    /// Whether the body has the form of a Perennial server's body: a JSON object, or nothing with
    /// the status 204. A network that wants a log-in, or a proxy, may answer with a page and the
    /// status 200.
    var hasExpectedForm: Bool {
        status == 204 || body.first { !Self.whitespace.contains($0) } == UInt8(ascii: "{")
    }

    /// The whitespace of JSON (RFC 8259 §2).
    private static let whitespace: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]

    func decode<Value: Decodable>(_ type: Value.Type) throws(ServerError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: body)
        } catch {
            throw ServerError(
                failure: Perennial.Failure(
                    .serverAnswerNotUnderstood,
                    remedy: "Check that the address is that of a Perennial server."))
        }
    }
}

/// Why a request failed.
struct ServerError: Error, Sendable {
    var failure: Perennial.Failure
    /// The status of the HTTP answer. Nil if no answer arrived.
    var status: Int?
    /// The problem that the server reported. Nil if no answer arrived, or if the answer does not
    /// contain a problem.
    var problem: Problem?
    /// The number of seconds for which no request should be sent. Nil if the server has not said.
    var retryAfter: Int?
    var serverTime: Timestamp?
    /// The request's number, as in ``ServerAnswer``.
    var number = 0
    /// Whether the request was not sent because of the ``RequestBudget``.
    var isHeldBack = false

    /// The error of a request that the budget delayed. No caller waits for the request, and it is
    /// sent later.
    static var heldBack: Self {
        var error = Self(
            failure: Perennial.Failure(
                .serverUnreachable, remedy: "It is sent later: too many were sent in this minute.",
                isTemporary: true))
        error.isHeldBack = true
        return error
    }

    init(failure: Perennial.Failure) { self.failure = failure }

    /// - Parameter location: the address to which the answer redirects.
    init(_ answer: ServerAnswer, location: String? = nil, retryAfter: RetryAfter?) {
        problem = try? JSONDecoder().decode(Problem.self, from: answer.body)
        status = answer.status
        serverTime = answer.serverTime
        self.retryAfter = retryAfter?.seconds
        let isRedirect = (300..<400).contains(answer.status)
        let isTemporary =
            isRedirect || answer.status == 429 || answer.status == 408 || answer.status >= 500
        failure = Perennial.Failure(
            Perennial.Failure.Code(
                rawValue: problem?.code.rawValue
                    ?? (isTemporary ? "server_unreachable" : "server_answer_not_understood")),
            remedy: problem?.remedy
                ?? (isRedirect
                    ? Self.remedy(ofRedirectTo: location)
                    : "The answer had the status \(answer.status) and no explanation."),
            requestID: problem?.requestID, isTemporary: isTemporary)
    }

    /// Names only the host, because the address may contain the request's path with the id of the
    /// customer, and remedies are logged.
    private static func remedy(ofRedirectTo location: String?) -> String {
        let host = location.flatMap { URL(string: $0)?.host }.map { " at \($0)" } ?? ""
        return "The answer was a redirect to another address\(host), which is not followed. "
            + "Perhaps the network wants a log-in. Otherwise configure the server's own address."
    }

    /// Whether the server itself has refused the request, so that it would refuse the same request
    /// again. An answer of a proxy says nothing about the request, and a wrong key or a missing
    /// proof can be corrected later.
    var isRefusal: Bool {
        guard let problem, !failure.isTemporary else { return false }
        return (400..<500).contains(problem.status) && problem.status != 401
    }
}

extension Perennial.Failure {
    fileprivate static var answerOfAnotherServer: Self {
        Self(
            .serverAnswerNotUnderstood,
            remedy: "The answer is not of a Perennial server. Perhaps the network wants a log-in. "
                + "Otherwise check the server's address and its proxy.",
            isTemporary: true)
    }
}
