import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import PerennialContract
import Testing

@testable import HTTPServer

/// A server that listens at several addresses.
@Suite struct ListenerTests {
    private struct Row: Sendable {
        var path: String
        var key: String?
        /// The statuses of one request at three addresses: the main address, the address for
        /// metrics, and the address for secret keys.
        var statuses: [Int]
    }

    private static let rows = [
        Row(path: Paths.health, statuses: [200, 200, 200]),
        Row(path: Paths.ready, statuses: [200, 200, 200]),
        Row(path: Paths.metrics, statuses: [404, 200, 404]),
        Row(path: Paths.customer("anna"), key: TestServer.key, statuses: [200, 404, 200]),
        Row(path: Paths.customer("anna"), key: TestServer.secret, statuses: [403, 404, 200]),
        // The main address does not reveal whether a secret key is valid.
        Row(path: Paths.customer("anna"), key: "sk_birds_wrong", statuses: [403, 404, 401]),
        Row(path: Paths.customer("anna"), key: "pk_birds_wrong", statuses: [401, 404, 401]),
        Row(path: Paths.events, key: TestServer.secret, statuses: [403, 404, 200]),
        Row(path: Paths.events, key: TestServer.key, statuses: [403, 404, 403]),
        Row(path: Paths.events, statuses: [403, 404, 401]),
        Row(path: Paths.publishedKeys, statuses: [200, 404, 200]),
        Row(path: "/nothing", statuses: [404, 404, 404]),
    ]

    private static let listeners: [Listener] = [
        .main(hasMetrics: false, hasSecretKeys: false), .metrics, .secret(hasMetrics: false),
    ]

    @Test func `metrics and secret keys work only at the addresses configured for them`()
        async throws
    {
        try await TestServer.run { server in
            let live = LiveServer(
                PerennialServer(engine: server.engine, logger: Logger(label: "test")),
                listeners: Set(Self.listeners))
            for (index, listener) in Self.listeners.enumerated() {
                let app = live.application(listener, host: "127.0.0.1", port: 0)
                try await app.test(.router) { client in
                    for row in Self.rows {
                        let fields = row.key.map { key -> HTTPFields in
                            [.authorization: "Bearer \(key)"]
                        }
                        let answer = try await client.execute(
                            uri: row.path, method: .get, headers: fields ?? [:])
                        #expect(
                            answer.status.code == row.statuses[index],
                            "\(row) at \(listener): \(String(buffer: answer.body))")
                    }
                }
            }
        }
    }

    @Test func `if a request is sent to the wrong address, the problem names the right address`()
        async throws
    {
        try await TestServer.run { server in
            let main = Listener.main(hasMetrics: false, hasSecretKeys: false)
            let live = LiveServer(
                PerennialServer(engine: server.engine, logger: Logger(label: "test")),
                listeners: [main])
            try await live.application(main, host: "127.0.0.1", port: 0).test(.router) { client in
                let metrics = try await client.execute(uri: Paths.metrics, method: .get)
                #expect(String(buffer: metrics.body).contains("listen_metrics"))
                let events = try await client.execute(uri: Paths.events, method: .get)
                #expect(String(buffer: events.body).contains("secret_key_at_wrong_address"))
                #expect(String(buffer: events.body).contains("listen_secret"))
            }
        }
    }

    @Test func `after the engine is replaced, the new engine answers requests`() async throws {
        try await TestServer.run { server in
            let live = LiveServer(
                PerennialServer(engine: server.engine, logger: Logger(label: "test")))
            let app = live.application(.only, host: "127.0.0.1", port: 0)
            try await app.test(.router) { client in
                let fields: HTTPFields = [.authorization: "Bearer \(TestServer.key)"]
                let path = Paths.content(of: "anna") + "?all=true"
                let before = try await client.execute(uri: path, method: .get, headers: fields)
                #expect(String(buffer: before.body).contains("First"))
                var settings = server.app
                settings.content.items = []
                live.replace(
                    server.engine.replacing(
                        apps: [settings], verifiers: [settings.id: .init(roots: .apple)],
                        signers: [:], reconciliation: .disabled))
                let after = try await client.execute(uri: path, method: .get, headers: fields)
                #expect(after.status == .ok && !String(buffer: after.body).contains("First"))
            }
        }
    }
}
