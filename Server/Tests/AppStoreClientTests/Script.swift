import AppStoreFormats
import Crypto
import Synchronization

@testable import AppStoreClient

/// A store with scripted responses, which records its requests.
final class Script: Sendable {
    struct Ended: Error {}

    private struct State {
        var answers: [Result<AppStoreResponse, any Error>]
        var requests: [AppStoreRequest] = []
    }

    private let state: Mutex<State>

    init(_ answers: [AppStoreResponse]) {
        state = Mutex(State(answers: answers.map { .success($0) }))
    }

    init(failing error: any Error & Sendable) {
        state = Mutex(State(answers: [.failure(error)]))
    }

    var requests: [AppStoreRequest] { state.withLock { $0.requests } }

    @Sendable func send(_ request: AppStoreRequest) async throws -> AppStoreResponse {
        let answer: Result<AppStoreResponse, any Error>? = state.withLock { state in
            state.requests.append(request)
            return state.answers.isEmpty ? nil : state.answers.removeFirst()
        }
        guard let answer else { throw Ended() }
        return try answer.get()
    }
}

/// A clock that the test sets.
final class Clock: Sendable {
    private let moment: Mutex<Int64>

    init(_ milliseconds: Int64 = 1_767_268_800_000) { moment = Mutex(milliseconds) }

    @Sendable func now() -> AppStoreDate { AppStoreDate(milliseconds: moment.withLock { $0 }) }

    func advance(seconds: Int64) { moment.withLock { $0 += seconds * 1000 } }
}

/// A client of the App Store, with its own key, whose store is a script.
struct Bench {
    let key = P256.Signing.PrivateKey()
    let clock = Clock()
    let script: Script
    let client: AppStoreClient

    init(_ script: Script, pacing: RateLimiter = .unlimited) throws {
        let credentials = try AppStoreCredentials(
            keyID: "KEY1", issuerID: "57246542-96fe-1a63-e053-0824d011072a",
            bundleID: "com.example.birds", privateKey: key.pemRepresentation)
        self.script = script
        client = AppStoreClient(
            credentials, now: clock.now, pacing: pacing, send: script.send)
    }

    init(_ answers: AppStoreResponse..., pacing: RateLimiter = .unlimited) throws {
        try self.init(Script(answers), pacing: pacing)
    }
}

extension AppStoreResponse {
    static func ok(_ json: JSON) -> Self { Self(status: 200, body: json.bytes) }

    static func error(_ code: Int64, retryAfter: String? = nil) -> Self {
        let body: JSON = ["errorCode": .integer(code), "errorMessage": "Because."]
        return Self(status: Int(code / 10_000), retryAfter: retryAfter, body: body.bytes)
    }

    static let transaction = ok(["signedTransactionInfo": "a.b.c"])
}
