import AppStoreTrust
import Engine
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Ledger
import Logging
import PerennialContract
import Storage
import StorageSQLite
import Synchronization
import Testing

@testable import HTTPServer

/// A server with a dashboard for operators at `https://localhost`, and browsers that use it.
struct OperatorServer: Sendable {
    static let password = "correct horse battery"
    static let cookie = "__Host-perennial"

    let client: any TestClientProtocol
    let engine: Engine
    let database: WatchedDatabase
    let clock: OperatorClock

    func pass(_ duration: Duration) { clock.moment.withLock { $0 = $0 + duration } }

    /// - Parameter proxy: a trusted proxy.
    /// - Parameter access: who may see the dashboard; nil for a sign-in with passwords at the URL.
    /// - Parameter passkeys: nil if nobody can use a passkey.
    /// - Parameter setup: `live` if the server must listen, so that a test can send a request in
    ///   parts.
    static func run(
        at url: String = "https://localhost", behind proxy: TrustedProxy? = nil,
        on setup: TestingSetup = .router, clock: OperatorClock = OperatorClock(),
        access: DashboardAccess? = nil, passkeys: PasskeySettings? = nil,
        _ body: @escaping @Sendable (OperatorServer) async throws -> Void
    ) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let apps = ["bees", "birds"].map { name in
            AppSettings(
                id: AppID(rawValue: name), bundleID: "com.example.\(name)",
                entitlements: ["pro": ["pro.monthly"]])
        }
        let database = WatchedDatabase(try SQLiteDriver.inMemory())
        let engine = Engine(
            database: database, apps: apps,
            verifiers: ["bees": Verifier(roots: .apple), "birds": Verifier(roots: .apple)],
            now: { clock.moment.withLock { $0 } },
            operators: OperatorSettings(
                passwordCost: .init(rounds: 4, blockSize: 8, passes: 1), passkeys: passkeys),
            logger: logger)
        try await engine.prepare()
        for app in apps {
            try await engine.keys.add(
                key: "\(TestServer.secret)_\(app.id)", app: app.id, kind: .secret, name: "test")
        }
        var server = PerennialServer(engine: engine, logger: logger)
        server.dashboard =
            try access
            ?? DashboardAccess(for: #require(PageOrigin(url: url)), behind: proxy)
        try await server.application(host: "127.0.0.1", port: 0).test(setup) { client in
            try await body(
                OperatorServer(
                    client: client, engine: engine, database: database, clock: clock))
        }
    }

    /// A browser without a session.
    var browser: OperatorBrowser { OperatorBrowser(server: self) }

    /// A browser with the session of an operator who has these roles.
    func browser(
        of name: String, _ roles: OperatorRoles = OperatorRoles(everywhere: .admin)
    ) async throws -> OperatorBrowser {
        let link = try await engine.operators.invite(name, as: roles, by: "test")
        let result = try await engine.operators.accept(
            linkToken: link, name: name, password: Self.password,
            from: SignInPlace(address: "", agent: "Browser"))
        let token = try #require(result.token)
        return OperatorBrowser(server: self, session: token)
    }

    /// Sends a request to the HTTP API, as the server of an app does.
    func api<Value: Decodable>(
        _ path: String, of app: String = "birds", _ type: Value.Type = Value.self
    ) async throws -> Value {
        let answer = try await send(
            .get, path, [.authorization: "Bearer \(TestServer.secret)_\(app)"])
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decoded()
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPFields, body: String? = nil
    ) async throws -> TestServer.Answer {
        let response = try await client.execute(
            uri: path, method: method, headers: headers, body: body.map { ByteBuffer(string: $0) })
        return TestServer.Answer(
            status: response.status.code, headers: response.headers,
            text: String(buffer: response.body))
    }
}

/// A clock that the test sets.
final class OperatorClock: Sendable {
    let moment = Mutex(TestServer.now)
}

/// What a browser remembers of a server and sends to it.
struct OperatorBrowser: Sendable {
    let server: OperatorServer
    var session: String?
    var app: String? = "birds"
    /// The ticket of a request to an authenticator.
    var ticket: String?
    var headers: HTTPFields = [:]

    func get(_ path: String) async throws -> TestServer.Answer {
        try await server.send(.get, path, fields)
    }

    /// Sends a form with the form token of this browser's session.
    ///
    /// - Parameter token: another token to send instead.
    func post(
        _ path: String, _ values: [String: String] = [:], token: String? = nil,
        headers: HTTPFields = [:]
    ) async throws -> TestServer.Answer {
        var values = values
        values["csrf"] =
            token
            ?? session.map {
                SessionService.formToken(ofSession: $0, app: AppID(rawValue: app ?? "bees"))
            }
        let form = values.map { "\($0)=\(Paths.percentEncoded($1))" }.joined(separator: "&")
        var fields = fields
        fields[.contentType] = "application/x-www-form-urlencoded"
        for field in headers { fields[field.name] = field.value }
        return try await server.send(.post, path, fields, body: form)
    }

    private var fields: HTTPFields {
        var cookies: [String] = []
        if let session { cookies.append("\(OperatorServer.cookie)=\(session)") }
        if let app { cookies.append("app=\(app)") }
        if let ticket { cookies.append("\(PasskeyServer.cookie)=\(ticket)") }
        var fields = headers
        fields[.cookie] = cookies.joined(separator: "; ")
        return fields
    }
}

extension TestServer.Answer {
    /// The token of the session that starts with this response.
    var session: String? {
        headers[values: .setCookie].first { $0.hasPrefix("\(OperatorServer.cookie)=") }
            .map { String($0.dropFirst(OperatorServer.cookie.count + 1).prefix { $0 != ";" }) }
    }
}
