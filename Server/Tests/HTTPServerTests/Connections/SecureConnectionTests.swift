import AsyncHTTPClient
import Eventually
import NIOCore
import NIOEmbedded
import NIOSSL
import PerennialContract
import Testing

@testable import HTTPServer

/// The rules of connections also hold for connections with TLS.
@Suite struct SecureConnectionTests {
    private static let question = RequestText.get("/v1/customers/anna")

    /// Runs a server whose certificate was issued by an authority made for this server.
    private static func run(
        _ body:
            @escaping @Sendable (ListeningServer, LiveCertificate, HostAuthority) async throws ->
            Void
    ) async throws {
        let authority = try HostAuthority()
        let live = LiveCertificate(try authority.pair().certificate)
        var streams = EventStreamLimits()
        streams.commentPause = .hours(1)
        try await ListeningServer.run(streams: streams, certificate: live) { server in
            try await server.engine.keys.add(
                key: "sk_test_birds", app: "birds", kind: .secret, name: "test")
            try await body(server, live, authority)
        }
    }

    @Test func `a client gets answers to several requests over one TLS connection`() async throws {
        try await Self.run { server, _, authority in
            let client = try await SecureClient(to: server.port, trusting: try authority.trusted)
            #expect(client.negotiated == "http/1.1")
            for _ in 1...3 {
                client.send(Self.question)
                let answer = try await client.received(until: #""customer_id":"anna""#)
                #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
            }
            #expect(client.isOpen)
        }
    }

    @Test func `TLS 1.2 is accepted, and TLS 1.1 is refused`() async throws {
        try await Self.run { server, _, authority in
            let roots = try authority.trusted
            _ = try await SecureClient(to: server.port, trusting: roots, versionMax: .tlsv12)
            await #expect(throws: (any Error).self) {
                _ = try await SecureClient(to: server.port, trusting: roots, versionMax: .tlsv11)
            }
        }
    }

    @Test func `a client that speaks no TLS is disconnected`() async throws {
        try await Self.run { server, _, authority in
            let plain = try Connection(to: server.port)
            try plain.sendAll(Self.question)
            try await plain.awaitEnd()
            _ = try await SecureClient(to: server.port, trusting: try authority.trusted)
        }
    }

    @Test func `a renewed certificate is shown to new connections, and open connections stay open`()
        async throws
    {
        try await Self.run { server, live, authority in
            let roots = try authority.trusted
            let former = try await SecureClient(to: server.port, trusting: roots)
            live.replace(try authority.pair().certificate)
            let later = try await SecureClient(to: server.port, trusting: roots)
            #expect(former.certificate != later.certificate)
            for client in [former, later] {
                client.send(Self.question)
                try await client.received(until: #""customer_id":"anna""#)
            }
        }
    }

    @Test func `a wait ends with an answer when the client ends its half of the connection`()
        async throws
    {
        try await Self.run { server, _, authority in
            let client = try await SecureClient(to: server.port, trusting: try authority.trusted)
            client.send(
                RequestText.get(
                    "/v1/customers/anna?wait=60", RequestText.key + "if-none-match: *\r\n"))
            try await eventually("a wait") { server.waits.waitingCount == 1 }
            client.endInput()
            try await client.received(until: "HTTP/1.1 304 ")
            #expect(server.waits.waitingCount == 0)
        }
    }

    @Test func `an event stream ends when the client closes the connection`() async throws {
        try await Self.run { server, _, authority in
            let client = try await SecureClient(to: server.port, trusting: try authority.trusted)
            client.send(
                RequestText.get(Paths.eventStream, "authorization: Bearer sk_test_birds\r\n"))
            try await client.received(until: "retry: 1000")
            #expect(server.streams.openCount == 1)
            client.close()
            try await eventually("a free place") { server.streams.openCount == 0 }
        }
    }

    @Test func `too many bytes of header fields are refused`() async throws {
        try await Self.run { server, _, authority in
            let client = try await SecureClient(to: server.port, trusting: try authority.trusted)
            let long = String(repeating: "a", count: PerennialServer.headerBytesMax + 1)
            client.send(RequestText.get("/health", "x-long: \(long)\r\n"))
            let answer = try await client.received(until: "request_not_understood")
            #expect(answer.hasPrefix("HTTP/1.1 400 "))
            try await client.awaitEnd()
        }
    }

    @Test func `the server shuts down although a client stays connected`() async throws {
        try await Self.run { server, _, authority in
            let client = try await SecureClient(to: server.port, trusting: try authority.trusted)
            client.send(Self.question)
            try await client.received(until: #""customer_id":"anna""#)
            await server.shutDown()
            try await client.awaitEnd()
        }
    }

    // MARK: - Handshakes

    private static func opening() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(
            handler: OpeningHandler(secondsMax: SecureChannel.handshakeSecondsMax))
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        return channel
    }

    @Test func `a TLS handshake that takes too long ends the connection`() throws {
        let channel = try Self.opening()
        let limit = SecureChannel.handshakeSecondsMax
        channel.embeddedEventLoop.advanceTime(by: .seconds(limit - 1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `once a TLS handshake is complete, its time limit no longer ends the connection`()
        throws
    {
        let channel = try Self.opening()
        let opening = try channel.pipeline.syncOperations.handler(type: OpeningHandler.self)
        channel.pipeline.syncOperations.removeHandler(opening, promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
    }
}
