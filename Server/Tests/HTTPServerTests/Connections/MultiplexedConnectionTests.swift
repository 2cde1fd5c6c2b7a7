import Eventually
import Foundation
import PerennialContract
import Testing

@testable import HTTPServer

/// HTTP/2, with clients from other projects.
@Suite struct MultiplexedConnectionTests {
    /// Runs a server with TLS. The closure also gets the file with the root that issued the
    /// server's certificate.
    private static func run(
        connections: ConnectionLimits = ConnectionLimits(),
        _ body: @escaping @Sendable (ListeningServer, String) async throws -> Void
    ) async throws {
        let authority = try HostAuthority()
        let live = LiveCertificate(try authority.pair().certificate)
        let file = FileManager.default.temporaryDirectory.appending(
            path: "perennial-root-\(UUID().uuidString).pem")
        try Data(authority.rootPEM.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var streams = EventStreamLimits()
        streams.commentPause = .hours(1)
        try await ListeningServer.run(
            streams: streams, connections: connections, certificate: live
        ) { server in
            try await server.engine.keys.add(
                key: "sk_test_birds", app: "birds", kind: .secret, name: "test")
            try await body(server, file.path)
        }
    }

    /// Asks with curl. Returns the version of HTTP and the status of the response.
    private static func curl(_ url: String, _ arguments: [String]) async throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            [
                "curl", "--silent", "--show-error", "--max-time", "60", "--output", "/dev/null",
                "--header", "authorization: Bearer pk_test_birds",
                "--write-out", "%{http_version} %{http_code}",
            ] + arguments + [url]
        let (_, bytes) = try await process.output(withErrors: true)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func curl(
        _ server: ListeningServer, _ path: String, _ root: String, _ arguments: String...
    ) async throws -> String {
        try await curl("https://127.0.0.1:\(server.port)\(path)", ["--cacert", root] + arguments)
    }

    // MARK: - Requests

    @Test func `curl chooses HTTP/2, and the same port still answers HTTP/1.1`() async throws {
        try await Self.run { server, root in
            let path = "/v1/customers/anna"
            var said: [String] = []
            for arguments in [["--http2"], ["--http2", "--head"], ["--http1.1"], ["--no-alpn"]] {
                let url = "https://127.0.0.1:\(server.port)\(path)"
                said.append(try await Self.curl(url, ["--cacert", root] + arguments))
            }
            #expect(said == ["2 200", "2 200", "1.1 200", "1.1 200"])
        }
    }

    @Test func `an address without TLS answers only HTTP/1.1`() async throws {
        try await ListeningServer.run { server in
            let url = "http://127.0.0.1:\(server.port)/health"
            let said = try await Self.curl(url, ["--http2"])
            #expect(said == "1.1 200")
        }
    }

    @Test func `without the setting http2, a TLS handshake offers only HTTP/1.1`() {
        #expect(SecureChannel.protocols(offersHTTP2: true) == ["h2", "http/1.1"])
        #expect(SecureChannel.protocols(offersHTTP2: false) == ["http/1.1"])
    }

    @Test func `a body is read over HTTP/2, and a body over the limit is refused`() async throws {
        let large = FileManager.default.temporaryDirectory.appending(
            path: "perennial-large-\(UUID().uuidString)")
        try Data(repeating: UInt8(ascii: "a"), count: 1_200_000).write(to: large)
        defer { try? FileManager.default.removeItem(at: large) }
        try await Self.run { [path = large.path] server, root in
            let unreadable = try await Self.curl(
                server, Paths.notifications, root, "--http2", "--data-binary", "{}")
            #expect(unreadable == "2 400")
            let refused = try await Self.curl(
                server, Paths.notifications, root, "--http2", "--data-binary", "@\(path)")
            #expect(refused.contains("2 413"), "\(refused)")
            let bodies = server.bodies
            try await eventually("the release of all bodies") {
                bodies.usage.bytesWithoutKey == 0
            }
        }
    }

    @Test(.enabled(if: HTTP2Client.isPresent, HTTP2Client.absence))
    func `100 simultaneous requests on one connection are all answered`() async throws {
        try await Self.run { server, root in
            let said = try await HTTP2Client.output(
                of: """
                    left = {ask("/v1/customers/anna") for _ in range(100)}
                    for event in events():
                        if isinstance(event, h2.events.ResponseReceived):
                            assert status(event) == "200", event
                        if isinstance(event, h2.events.StreamEnded):
                            left.discard(event.stream_id)
                        if not left:
                            print("all")
                            break
                    """, to: server, trusting: root)
            #expect(said == "all\n")
            let connections = server.connections
            try await eventually("the end of all streams") { connections.streamCount == 0 }
        }
    }

    @Test(.enabled(if: HTTP2Client.isPresent, HTTP2Client.absence))
    func `a waiting request does not block its connection, and a reset ends the wait`()
        async throws
    {
        try await Self.run { server, root in
            let said = try await HTTP2Client.output(
                of: """
                    wait = ask("/v1/customers/anna?wait=60", fields=[("if-none-match", "*")])
                    other = ask("/health")
                    for event in events():
                        if isinstance(event, h2.events.StreamEnded):
                            print("answered", event.stream_id == other)
                            connection.reset_stream(wait, error_code=8)
                            again = ask("/health")
                            break
                    for event in events():
                        if isinstance(event, h2.events.ResponseReceived):
                            print("answered", event.stream_id == again)
                            break
                    """, to: server, trusting: root)
            #expect(said == "answered True\nanswered True\n")
            let waits = server.waits
            try await eventually("the end of the wait") { waits.waitingCount == 0 }
        }
    }

    @Test(.enabled(if: HTTP2Client.isPresent, HTTP2Client.absence))
    func `events of a live stream arrive at once, and the stream ends when its client leaves`()
        async throws
    {
        try await Self.run { server, root in
            let said = try await HTTP2Client.output(
                of: """
                    ask("\(Paths.eventStream)", key="sk_test_birds")
                    for event in events():
                        if isinstance(event, h2.events.DataReceived):
                            print(event.data.decode().split("\\n")[0])
                            break
                    """, to: server, trusting: root)
            #expect(said == "retry: 1000\n")
            let streams = server.streams
            try await eventually("a free place") { streams.openCount == 0 }
        }
    }

    @Test func `on shutdown, a waiting request is answered before its connection ends`()
        async throws
    {
        try await Self.run { server, root in
            async let answer = Self.curl(
                server, "/v1/customers/anna?wait=60", root, "--http2", "--header",
                "if-none-match: *")
            let waits = server.waits
            try await eventually("a wait") { waits.waitingCount == 1 }
            await server.shutDown()
            let said = try await answer
            #expect(said == "2 304")
        }
    }

    // MARK: - Limits

    @Test(.enabled(if: HTTP2Client.isPresent, HTTP2Client.absence))
    func `too many bytes of header fields end the connection`() async throws {
        try await Self.run { server, root in
            let said = try await HTTP2Client.output(
                of: """
                    ask("/health", fields=[("x-long", "a" * \(PerennialServer.headerBytesMax * 2))])
                    print("ended", end() != 0)
                    """, to: server, trusting: root)
            #expect(said == "ended True\n")
        }
    }

    /// Resets requests at once. Then sends one more, and prints whether it is answered.
    private static func resets(_ count: Int) -> String {
        """
        for _ in range(\(count)):
            connection.reset_stream(ask("/health"), error_code=8)
        try:
            wire.sendall(connection.data_to_send())
        except OSError:
            pass
        last = ask("/health")
        for event in events():
            if isinstance(event, h2.events.ConnectionTerminated):
                print("code", int(event.error_code))
                break
            if isinstance(event, h2.events.ResponseReceived) and event.stream_id == last:
                print("answered")
                break
        else:
            print("closed")

        """
    }

    @Test(.enabled(if: HTTP2Client.isPresent, HTTP2Client.absence))
    func `a client that resets too many requests is disconnected`()
        async throws
    {
        try await Self.run { server, root in
            let few = Self.resets(MultiplexedChannel.resetsMax / 2)
            let answered = try await HTTP2Client.output(of: few, to: server, trusting: root)
            #expect(answered == "answered\n")
            let many = try await HTTP2Client.output(
                of: Self.resets(MultiplexedChannel.resetsMax * 2), to: server, trusting: root)
            // 11 is ENHANCE_YOUR_CALM. A client can miss it while it still sends.
            #expect(["code 11\n", "closed\n"].contains(many), "\(many)")
            let connections = server.connections
            try await eventually("the end of all streams") { connections.streamCount == 0 }
        }
    }

    @Test(.enabled(if: HTTP2Client.isPresent, HTTP2Client.absence))
    func `a request over the stream limit is refused, and its connection stays open`()
        async throws
    {
        var limits = ConnectionLimits()
        limits.streamsMax = 1
        try await Self.run(connections: limits) { server, root in
            let said = try await HTTP2Client.output(
                of: """
                    wait = ask("/v1/customers/anna?wait=60", fields=[("if-none-match", "*")])
                    second = ask("/health")
                    for event in events():
                        if isinstance(event, h2.events.StreamReset):
                            print("refused", event.stream_id == second, int(event.error_code))
                            break
                    connection.reset_stream(wait, error_code=8)
                    third = ask("/health")
                    for event in events():
                        if isinstance(event, h2.events.ResponseReceived):
                            print("answered", event.stream_id == third)
                            break
                        if isinstance(event, h2.events.StreamReset):
                            third = ask("/health")
                    """, to: server, trusting: root)
            #expect(said == "refused True 7\nanswered True\n")
        }
    }

    @Test(.enabled(if: HTTP2Client.isPresent, HTTP2Client.absence))
    func `the server closes a connection whose head is not complete in time`() async throws {
        var limits = ConnectionLimits()
        limits.headSecondsMax = 1
        try await Self.run(connections: limits) { server, root in
            let said = try await HTTP2Client.output(
                of: """
                    wire.sendall(connection.data_to_send())
                    ask("/health")
                    wire.sendall(connection.data_to_send()[:-1])
                    # Acknowledging the server's settings would complete the head.
                    while wire.recv(65536):
                        pass
                    print("closed")
                    """, to: server, trusting: root)
            #expect(said == "closed\n")
        }
    }
}
