import AppStoreTrust
import Ledger
import Logging
import Storage
import StorageSQLite
import Synchronization
import Testing

@testable import Engine

/// An engine with two apps and a clock that the test moves. Password hashes are cheap.
final class OperatorStage: Sendable {
    static let start = Instant(milliseconds: 1_700_000_000_000)
    static let place = SignInPlace(address: "192.0.2.7", agent: "Browser")
    static let password = "correct horse battery"

    private let moment = Mutex(OperatorStage.start)
    private let database: SQLiteDriver

    init() throws { database = try SQLiteDriver.inMemory() }

    /// Another engine on the same database, as after a restart.
    func engine() async throws -> Engine {
        let apps = ["bees", "birds"].map {
            AppSettings(id: AppID(rawValue: $0), bundleID: "com.example.\($0)", entitlements: [:])
        }
        let engine = Engine(
            database: database, apps: apps,
            verifiers: ["bees": Verifier(roots: .apple), "birds": Verifier(roots: .apple)],
            now: { self.moment.withLock { $0 } },
            operators: OperatorSettings(passwordCost: .init(rounds: 4, blockSize: 8, passes: 1)),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await engine.prepare()
        return engine
    }

    func pass(_ duration: Duration) { moment.withLock { $0 = $0 + duration } }

    /// An engine with one admin, mira, and the token of a session of mira.
    func withMira() async throws -> (Engine, String) {
        let engine = try await engine()
        let link = try #require(try await engine.operators.firstLink())
        let result = try await engine.operators.accept(
            linkToken: link, name: "Mira", password: Self.password, from: Self.place)
        return (engine, try #require(result.token))
    }
}

extension Engine {
    func signIn(
        _ name: String, _ password: String = OperatorStage.password,
        from address: String = OperatorStage.place.address
    ) async throws -> SignInResult {
        try await sessions.signIn(
            as: name, password: password, from: SignInPlace(address: address, agent: ""))
    }

    /// The token of the session that begins with a link.
    func sessionToken(
        byLink link: String, _ password: String = OperatorStage.password
    ) async throws -> String {
        let result = try await operators.accept(
            linkToken: link, name: "", password: password, from: OperatorStage.place)
        return try #require(result.token)
    }

    func sessionToken(of name: String) async throws -> String {
        guard case .session(let token) = try await signIn(name) else {
            Issue.record("\(name) cannot sign in.")
            return ""
        }
        return token
    }
}
