import AppStoreFormats

/// Calls of the App Store Server API, for one app.
///
/// It decides and reads; `send` alone reaches out. It waits for nothing but what its pacing waits
/// for, and repeats nothing but, once, what it asked with a token that ran out on its way: a call
/// that may not go yet, or was refused for now, throws when to come back, and the caller, who knows
/// what else is due, comes back then. All its questions are harmless to repeat.
package struct AppStoreClient: Sendable {
    /// Characters of an id that is asked about. Apple's have up to 20; a token of a test
    /// notification has 50.
    static let idLengthMax = 128

    let credentials: AppStoreCredentials
    let now: @Sendable () -> AppStoreDate
    private let pacing: Pacing
    private let tokens: BearerTokens
    private let send: @Sendable (AppStoreRequest) async throws -> AppStoreResponse

    /// - Parameters:
    ///   - now: the time that tokens are signed with, and windows are measured by.
    ///   - pacing: asked before each call.
    ///   - send: carries a request to the store, such as ``httpSender(_:hosts:timeout:)``. What it
    ///     throws counts as the store being unavailable, unless it is an ``AppStoreFailure``.
    package init(
        _ credentials: AppStoreCredentials, now: @escaping @Sendable () -> AppStoreDate,
        pacing: Pacing = .unlimited,
        send: @escaping @Sendable (AppStoreRequest) async throws -> AppStoreResponse
    ) {
        self.credentials = credentials
        self.now = now
        self.pacing = pacing
        self.send = send
        tokens = BearerTokens(credentials)
    }

    /// The body of a good answer; empty where the call has no result.
    ///
    /// The way of every call: whether it may go, a token, the store, and what its answer means.
    func answer(
        _ endpoint: Endpoint, _ path: String, query: [(String, String)] = [], body: JSON? = nil,
        in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> [UInt8] {
        func call() async throws(AppStoreFailure) -> (AppStoreRequest, AppStoreResponse) {
            try await takeTurn(endpoint, environment)
            let request = AppStoreRequest(
                method: endpoint.method, path: path, query: query,
                authorization: try tokens.authorization(at: now()), body: body?.bytes,
                environment: environment)
            return (request, try await self.response(to: request))
        }
        var (request, response) = try await call()
        // Whoever was put to sleep in between comes too late, which says nothing of the key.
        if response.status == 401, !tokens.holds(request.authorization, at: now()) {
            (request, response) = try await call()
        }
        guard let failure = AppStoreFailure(response, keyID: credentials.keyID, now: now()) else {
            return response.body
        }
        switch failure {
        case .tooMany(let until): try await rest(endpoint, environment, until: until)
        case .unauthorized: tokens.refused(request.authorization, at: now())
        case .unknownThere, .unavailable, .refused, .unreadable: break
        }
        throw failure
    }

    /// The same as JSON.
    func json(
        _ endpoint: Endpoint, _ path: String, query: [(String, String)] = [], body: JSON? = nil,
        in environment: StoreEnvironment
    ) async throws(AppStoreFailure) -> JSON {
        let bytes = try await answer(endpoint, path, query: query, body: body, in: environment)
        do { return try JSON(parsing: bytes) } catch {
            throw .unreadable("\(endpoint): the answer is no JSON: \(error)")
        }
    }

    private func takeTurn(
        _ endpoint: Endpoint, _ environment: StoreEnvironment
    ) async throws(AppStoreFailure) {
        let until: AppStoreDate?
        do { until = try await pacing.turn(endpoint, environment, now()) } catch {
            throw .unavailable("the budget of calls cannot be read: \(error)")
        }
        if let until { throw .tooMany(until: until) }
    }

    private func rest(
        _ endpoint: Endpoint, _ environment: StoreEnvironment, until: AppStoreDate
    ) async throws(AppStoreFailure) {
        do { try await pacing.rest(endpoint, environment, until) } catch {
            throw .unavailable("the budget of calls cannot be written: \(error)")
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
    /// An id that may stand in a path as it is.
    ///
    /// - Throws: ``AppStoreFailure/refused(code:message:)`` as Apple would, without asking.
    static func checked(
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
            throw .refused(code: code.rawValue, message: "“\(id.prefix(40))” is no id of Apple's.")
        }
        return id
    }
}
