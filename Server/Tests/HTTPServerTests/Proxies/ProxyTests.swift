import Engine
import Eventually
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// The server behind real proxies. A test is skipped if its proxy is not installed.
@Suite struct ProxyTests {
    private static let secret = "authorization: Bearer sk_test_birds\r\n"
    /// The time limit of a test, which passes long before a comment or the end of a stream is due.
    private static let soonSeconds = 60.0

    /// Runs a server with a secret key. The server's streams send nothing but events.
    private static func run(
        waits: WaitLimits = WaitLimits(),
        _ body: @escaping @Sendable (ListeningServer) async throws -> Void
    ) async throws {
        var streams = EventStreamLimits()
        streams.commentPause = .hours(1)
        try await ListeningServer.run(streams: streams, waits: waits) { server in
            try await server.engine.keys.add(
                key: "sk_test_birds", app: "birds", kind: .secret, name: "test")
            try await body(server)
        }
    }

    private static func get(_ path: String, _ fields: String) -> String {
        RequestText.get(path, fields).replacing("host: birds", with: "host: localhost")
    }

    /// Opens a stream through a proxy. Expects each of two events as soon as it happens, and the
    /// end of the stream when the client disconnects.
    private func expectStream(
        through proxy: ProxyProgram, _ configuration: (@Sendable (Int, Int) -> String)? = nil,
        _ fields: String = ""
    ) async throws {
        try await Self.run { server in
            try await proxy.run(before: server, configuration) { port in
                do {
                    let connection = try Connection(to: port)
                    try connection.sendAll(Self.get(Paths.eventStream, Self.secret + fields))
                    _ = try await connection.received(until: "retry: 1000")
                    for customer in ["anna", "ben"] as [CustomerID] {
                        _ = try await server.engine.grants.add(
                            NewGrant(entitlement: "pro", reason: "sorry"), to: customer,
                            app: "birds", environment: .production)
                        _ = try await connection.received(until: #""customer_id":"\#(customer)""#)
                    }
                    #expect(server.streams.openCount == 1)
                }
                // These two proxies notice that the client has disconnected only when they send
                // more to it.
                guard ![.apache2, .varnishd].contains(proxy) else { return }
                try await eventually("a free place", within: Self.soonSeconds) {
                    server.streams.openCount == 0
                }
            }
        }
    }

    // MARK: - As documented

    @Test(arguments: ProxyClaimTests.installed, ["", "accept-encoding: gzip"])
    func `events pass immediately through each proxy as documented`(
        proxy: ProxyProgram, field: String
    ) async throws {
        try await expectStream(through: proxy, nil, field.isEmpty ? "" : field + "\r\n")
    }

    // MARK: - nginx

    private static let hasNginx = ProxyProgram.nginx.path != nil

    /// By default, nginx uses HTTP/1.0 and buffers, unless the response forbids it.
    @Test(.enabled(if: hasNginx, ProxyProgram.absence))
    func `events pass immediately through nginx with its default settings`() async throws {
        try await expectStream(through: .nginx) { port, backend in
            ProxyProgram.nginx("location / { proxy_pass http://127.0.0.1:\(backend); }", port)
        }
    }

    private static let patience = 30
    private static let hold: WaitLimits = {
        var limits = WaitLimits()
        limits.holdMax = .seconds(2)
        return limits
    }()

    /// Shortens the time limits of server and proxy to keep the test short. Another test checks
    /// that the default wait is shorter than the proxies' default limits.
    private func expectWait(
        through proxy: ProxyProgram, _ configuration: @escaping @Sendable (Int, Int) -> String
    ) async throws {
        try await Self.run(waits: Self.hold) { server in
            try await proxy.run(before: server, configuration) { port in
                for _ in 0..<3 {
                    let answers = try await Connection(to: port).answers(
                        to: Self.get("/v1/events?wait=60", Self.secret), count: 1)
                    #expect(answers.map(\.status) == [200])
                }
            }
        }
    }

    @Test(.enabled(if: hasNginx, ProxyProgram.absence))
    func `a wait ends before nginx ends the request`() async throws {
        try await expectWait(through: .nginx) { port, backend in
            ProxyProgram.nginx(
                "location / { proxy_pass http://127.0.0.1:\(backend); "
                    + "proxy_read_timeout \(Self.patience)s; }", port)
        }
    }

    // MARK: - HAProxy

    private static let hasHAProxy = ProxyProgram.haproxy.path != nil

    @Test(.enabled(if: hasHAProxy, ProxyProgram.absence))
    func `a wait ends before the time limit of HAProxy`() async throws {
        try await expectWait(through: .haproxy) { port, backend in
            """
            defaults
                mode http
                timeout connect 5s
                timeout client \(Self.patience)s
                timeout server \(Self.patience)s
            listen perennial
                bind 127.0.0.1:\(port)
                server one 127.0.0.1:\(backend)

            """
        }
    }
}
