import AppStoreTrust
import Engine
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Ledger
import Logging
import PerennialContract
import PostgresCluster
import Storage
import StoragePostgres
import StorageSQLite
import Testing

@testable import HTTPServer

/// A server with one app, an app key and a secret key. The server's clock stands still. Each test
/// runs twice: on SQLite and on PostgreSQL.
struct TestServer {
    static let now = Instant(milliseconds: 1_795_248_000_000)
    static let key = "pk_test_birds"
    static let secret = "sk_test_birds"

    let client: any TestClientProtocol
    let engine: Engine
    let http: PerennialServer
    let database: any DatabaseDriver
    let app: AppSettings

    typealias Change = @Sendable (inout AppSettings) -> Void

    /// - Parameter change: changes the configuration.
    /// - Parameter waitsMax: how many requests may wait for a change.
    /// - Parameter streams: the limits of event streams.
    /// - Parameter clock: returns the server's time.
    static func run(
        _ change: @escaping Change = { _ in }, waitsMax: Int = WaitLimits().waitsMax,
        streams: EventStreamLimits = EventStreamLimits(),
        clock: @escaping @Sendable () -> Instant = { now },
        _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        try await run(over: try SQLiteDriver.inMemory(), change, waitsMax, streams, clock, body)
        let url = try await PostgresCluster.shared.preparedDatabase()
        let database = try PostgresDriver(url: url)
        try await run(over: database, change, waitsMax, streams, clock, body)
        database.close()
        try await PostgresCluster.shared.drop(url)
    }

    private static func run(
        over database: any DatabaseDriver, _ change: Change, _ waitsMax: Int,
        _ streams: EventStreamLimits, _ clock: @escaping @Sendable () -> Instant,
        _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        var birds = AppSettings(
            id: "birds", bundleID: "com.example.birds", entitlements: ["pro": ["pro.monthly"]],
            wallets: WalletRules(credits: ["gems.100": ["gems": 100]]),
            content: ContentSettings(
                items: [
                    .init(
                        Publication(
                            id: "first", publishedAt: now, entitlement: "pro", products: ["p"]),
                        title: "First", file: "first.txt")
                ],
                place: .elsewhere(
                    url: "https://files.example.com/issues", secret: Array("secret".utf8))))
        change(&birds)
        let engine = engine(of: birds, over: database, clock)
        let settings = birds
        try await engine.prepare()
        try await engine.keys.add(key: key, app: "birds", kind: .app, name: "test")
        try await engine.keys.add(key: secret, app: "birds", kind: .secret, name: "test")
        var waits = WaitLimits()
        waits.waitsMax = waitsMax
        let http = PerennialServer(
            engine: engine, logger: logger, waitLimits: waits, streamLimits: streams)
        try await http.application(host: "127.0.0.1", port: 0).test(.router) { client in
            let server = TestServer(
                client: client, engine: engine, http: http, database: database, app: settings)
            try await body(server)
        }
    }

    private static var logger: Logger {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return logger
    }

    private static func engine(
        of app: AppSettings, over database: any DatabaseDriver,
        _ clock: @escaping @Sendable () -> Instant
    ) -> Engine {
        Engine(
            database: database, apps: [app], verifiers: [app.id: Verifier(roots: .apple)],
            now: clock, logger: logger)
    }

    /// The engine of another server that uses the same database.
    var otherEngine: Engine { Self.engine(of: app, over: database) { Self.now } }

    func send(
        _ method: HTTPRequest.Method, _ path: String, key: String? = Self.key, body: String? = nil,
        headers: HTTPFields = [:]
    ) async throws -> Answer {
        var headers = headers
        if let key { headers[.authorization] = "Bearer \(key)" }
        let response = try await client.execute(
            uri: path, method: method, headers: headers, body: body.map { ByteBuffer(string: $0) })
        return Answer(
            status: response.status.code, headers: response.headers,
            text: String(buffer: response.body))
    }

    struct Answer {
        var status: Int
        var headers: HTTPFields
        var text: String

        func decoded<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try JSONDecoder().decode(type, from: Data(text.utf8))
        }

        var problem: Problem { get throws { try decoded() } }
    }
}

extension HTTPField.Name {
    static var requestID: Self {
        get throws { try #require(Self("x-request-id")) }
    }
}
