import AppStoreFormats

/// Calls the App Store Server API for one app. With a team key, calls the App Store Connect API
/// instead.
///
/// Only `send` uses the network. A call waits only if `pacing` waits. The client repeats a call
/// only once, and only if its token expired on the way. If a call is not allowed yet, or was
/// refused temporarily, the client throws an error that says when to try again. The caller repeats
/// the call, because only the caller knows what else is due. All queries are idempotent.
package struct AppStoreClient: Sendable {
    /// The maximum length of an id. Apple's have up to 20 characters; the token of a test
    /// notification has 50.
    static let idLengthMax = 128

    let credentials: AppStoreCredentials
    let now: @Sendable () -> AppStoreDate
    private let pacing: RateLimiter
    private let tokens: BearerTokens
    private let send: @Sendable (AppStoreRequest) async throws -> AppStoreResponse

    /// - Parameters:
    ///   - now: the clock for signing tokens and measuring rate limits.
    ///   - pacing: consulted before each call.
    ///   - send: sends a request to the App Store, such as ``httpSender(_:hosts:timeout:)``. If
    ///     `send` throws an error other than an ``AppStoreFailure``, the App Store counts as
    ///     unavailable.
    package init(
        _ credentials: AppStoreCredentials, now: @escaping @Sendable () -> AppStoreDate,
        pacing: RateLimiter = .unlimited,
        send: @escaping @Sendable (AppStoreRequest) async throws -> AppStoreResponse
    ) {
        self.credentials = credentials
        self.now = now
        self.pacing = pacing
        self.send = send
        tokens = BearerTokens(credentials)
    }

    /// Makes a call. Returns the body of the successful response, which is empty if the call has no
    /// result.
    ///
    /// The steps of every call: check the rate limit, add the token, send the request, and
    /// interpret the response.
    func perform(
        _ endpoint: Endpoint, _ path: String, query: [(String, String)] = [], body: JSON? = nil,
        in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> [UInt8] {
        try await exchange(endpoint, path, query: query, body: body, in: environment).body
    }

    /// Makes a call, as ``perform(_:_:query:body:in:)`` does, and returns the whole response.
    ///
    /// - Parameters:
    ///   - accept: the media type of the response.
    ///   - returned: HTTP statuses that are returned instead of thrown, because the caller
    ///     interprets them.
    func exchange(
        _ endpoint: Endpoint, _ path: String, query: [(String, String)], body: JSON? = nil,
        in environment: StoreEnvironment, accept: String? = nil, returned: Set<Int> = []
    ) async throws(AppStoreFailure) -> AppStoreResponse {
        func call() async throws(AppStoreFailure) -> (AppStoreRequest, AppStoreResponse) {
            try await consumeBudget(endpoint, environment)
            var request = AppStoreRequest(
                method: endpoint.method, path: path, query: query,
                authorization: try tokens.authorization(at: now()), body: body?.bytes,
                environment: environment)
            request.accept = accept ?? request.accept
            return (request, try await self.response(to: request))
        }
        var (request, response) = try await call()
        // If the process was suspended before the request arrived, the token may have expired. That
        // does not mean that the key is invalid.
        if response.status == 401, !tokens.isCurrent(request.authorization, at: now()) {
            (request, response) = try await call()
        }
        if returned.contains(response.status) { return response }
        guard let failure = AppStoreFailure(response, keyID: credentials.keyID, now: now()) else {
            return response
        }
        switch failure {
        case .rateLimited(let until): try await pauseCalls(endpoint, environment, until: until)
        case .unauthorized: tokens.discard(request.authorization, at: now())
        case .unknownID, .unavailable, .refused, .unreadable: break
        }
        throw failure
    }

    /// Makes a call, and parses the body of the successful response as JSON.
    func json(
        _ endpoint: Endpoint, _ path: String, query: [(String, String)] = [], body: JSON? = nil,
        in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> JSON {
        let bytes = try await perform(endpoint, path, query: query, body: body, in: environment)
        do { return try JSON(parsing: bytes) } catch {
            throw .unreadable("\(endpoint): the response is not valid JSON: \(error)")
        }
    }

    private func consumeBudget(
        _ endpoint: Endpoint, _ environment: StoreEnvironment
    ) async throws(AppStoreFailure) {
        let until: AppStoreDate?
        do { until = try await pacing.turn(endpoint, environment, now()) } catch {
            throw .unavailable("the call budget cannot be read: \(error)")
        }
        if let until { throw .rateLimited(until: until) }
    }

    private func pauseCalls(
        _ endpoint: Endpoint, _ environment: StoreEnvironment, until: AppStoreDate
    ) async throws(AppStoreFailure) {
        do { try await pacing.rest(endpoint, environment, until) } catch {
            throw .unavailable("the call budget cannot be saved: \(error)")
        }
    }

    private func response(
        to request: AppStoreRequest
    ) async throws(AppStoreFailure) -> AppStoreResponse {
        do { return try await send(request) } catch let failure as AppStoreFailure {
            throw failure
        } catch {
            throw .unavailable("\(error)")
        }
    }
}

extension AppStoreClient {
    /// Returns an id that can be put into a path without encoding.
    ///
    /// - Throws: ``AppStoreFailure/refused(code:message:)`` for any other id. Apple would refuse
    ///   such an id too, so no request is made.
    static func validated(
        _ id: String, else code: ErrorCode = .invalidTransactionID
    ) throws(AppStoreFailure) -> String {
        let isPlain = id.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isPlain, !id.isEmpty, id.utf8.count <= idLengthMax else {
            throw .refused(code: code.rawValue, message: "“\(id.prefix(40))” is no App Store id.")
        }
        return id
    }
}
