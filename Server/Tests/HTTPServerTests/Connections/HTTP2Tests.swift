import AsyncHTTPClient
import Engine
import Eventually
import HTTPTypes
import Ledger
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import NIOSSL
import PerennialContract
import Testing

@testable import HTTPServer

/// Requests over HTTP/2 keep the rules of those over HTTP/1.1.
@Suite struct HTTP2Tests {
    private static let key = ("authorization", "Bearer pk_test_birds")
    private static let secret = ("authorization", "Bearer sk_test_birds")

    /// Runs a server with a certificate, and a client that trusts it.
    private static func run(
        bodies: BodyBudgetLimits = BodyBudgetLimits(),
        connections: ConnectionLimits = ConnectionLimits(),
        _ body: @escaping @Sendable (ListeningServer, HTTPClient) async throws -> Void
    ) async throws {
        let authority = try HostAuthority()
        let live = LiveCertificate(try authority.pair().certificate)
        var streams = EventStreamLimits()
        streams.commentPause = .hours(1)
        try await ListeningServer.run(
            bodies: bodies, streams: streams, connections: connections, certificate: live
        ) { server in
            try await server.engine.keys.add(
                key: "sk_test_birds", app: "birds", kind: .secret, name: "test")
            var configuration = HTTPClient.Configuration()
            configuration.tlsConfiguration = .makeClientConfiguration()
            configuration.tlsConfiguration?.trustRoots = try authority.trusted
            try await HTTPClient.withHTTPClient(configuration: configuration) { client in
                try await body(server, client)
            }
        }
    }

    private static func request(
        _ path: String, to server: ListeningServer, _ fields: (String, String)...
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: "https://localhost:\(server.port)\(path)")
        for (name, value) in fields { request.headers.add(name: name, value: value) }
        return request
    }

    private static func text(_ answer: HTTPClientResponse) async throws -> String {
        String(buffer: try await answer.body.collect(upTo: 1_048_576))
    }

    @Test func `many requests at once share a connection, and each gets its own answer`()
        async throws
    {
        try await Self.run { server, client in
            try await withThrowingTaskGroup { group in
                for number in 1...200 {
                    group.addTask {
                        let answer = try await client.execute(
                            Self.request("/v1/customers/c\(number)", to: server, Self.key),
                            timeout: .seconds(60))
                        #expect(answer.version == .http2 && answer.status == .ok)
                        let text = try await Self.text(answer)
                        #expect(text.contains("\"customer_id\":\"c\(number)\""))
                    }
                }
                try await group.waitForAll()
            }
            try await eventually("the end of all streams") {
                server.connections.streamsCount == 0
            }
        }
    }

    @Test func `a body without a length counts against the budget`() async throws {
        var limits = BodyBudgetLimits()
        limits.bytesWithoutKeyMax = 1_000
        limits.reservedBytes = 0
        try await Self.run(bodies: limits) { server, client in
            let body = RequestText.body(try ListeningServer.notification(1))
            for isAnnounced in [true, false] {
                var request = Self.request(
                    "/apple/notifications", to: server, ("content-type", "application/json"))
                request.method = .POST
                let buffer = ByteBuffer(string: body)
                request.body =
                    isAnnounced
                    ? .bytes(buffer)
                    : .stream(
                        AsyncStream {
                            $0.yield(buffer)
                            $0.finish()
                        }, length: .unknown)
                let answer = try await client.execute(request, timeout: .seconds(60))
                #expect(answer.status == .serviceUnavailable && answer.version == .http2)
            }
            #expect(server.bodies.usage.refusedWithoutKey == 2)
        }
    }

    @Test func `a notification is recorded, with and without its length`() async throws {
        try await Self.run { server, client in
            for number in 1...2 {
                var request = Self.request(
                    "/apple/notifications", to: server, ("content-type", "application/json"))
                request.method = .POST
                let text = RequestText.body(try ListeningServer.notification(number))
                let buffer = ByteBuffer(string: text)
                request.body =
                    number == 1
                    ? .bytes(buffer)
                    : .stream(
                        AsyncStream {
                            $0.yield(buffer)
                            $0.finish()
                        }, length: .unknown)
                let answer = try await client.execute(request, timeout: .seconds(60))
                #expect(answer.status == .ok && answer.version == .http2)
            }
            #expect(try await server.documents(of: "birds").count == 2)
            #expect(server.bodies.usage.bytesWithoutKey == 0)
        }
    }

    @Test func `an event arrives at once, and the stream ends with its client`() async throws {
        try await Self.run { server, client in
            let stream = Task {
                let answer = try await client.execute(
                    Self.request(Paths.eventStream, to: server, Self.secret),
                    timeout: .seconds(120))
                var text = ""
                for try await part in answer.body {
                    text += String(buffer: part)
                    if text.contains("\"customer_id\":\"anna\"") { return text }
                }
                return text
            }
            try await eventually("a stream") { server.streams.openCount == 1 }
            _ = try await server.engine.grants.add(
                NewGrant(entitlement: "pro", reason: "sorry"), to: "anna", app: "birds",
                environment: .production)
            #expect(try await stream.value.contains("\"customer_id\":\"anna\""))
            // The client has left the loop, and resets the stream.
            try await eventually("a free place") { server.streams.openCount == 0 }
        }
    }

    @Test func `beyond the number of streams, requests are answered with 503`() async throws {
        var limits = ConnectionLimits()
        limits.streamsMax = 2
        try await Self.run(connections: limits) { server, client in
            let waits = (1...2).map { number in
                Task {
                    try await client.execute(
                        Self.request(
                            "/v1/customers/c\(number)?wait=60", to: server, Self.key,
                            ("if-none-match", "*")),
                        timeout: .seconds(120))
                }
            }
            try await eventually("two waits") { server.waits.waitingCount == 2 }
            let refused = try await client.execute(
                Self.request("/health", to: server), timeout: .seconds(60))
            #expect(refused.status == .serviceUnavailable)
            #expect(try await Self.text(refused).contains("server_busy"))
            for wait in waits { wait.cancel() }
            try await eventually("the end of the waits") {
                server.waits.waitingCount == 0 && server.connections.streamsCount == 0
            }
            let accepted = try await client.execute(
                Self.request("/health", to: server), timeout: .seconds(60))
            #expect(accepted.status == .ok)
        }
    }

    @Test func `too many bytes of header fields are refused`() async throws {
        try await Self.run { server, client in
            let long = String(repeating: "a", count: PerennialServer.headerBytesMax + 1)
            await #expect(throws: (any Error).self) {
                _ = try await client.execute(
                    Self.request("/health", to: server, ("x-long", long)), timeout: .seconds(60))
            }
            let answer = try await client.execute(
                Self.request("/health", to: server), timeout: .seconds(60))
            #expect(answer.status == .ok)
        }
    }

    // MARK: - One stream

    private static let secondsMax: Int64 = 30

    private static func channel() throws -> EmbeddedChannel {
        let handler = StreamHandler(bodySecondsMax: secondsMax, isAdmitted: true) { _ in
            (HTTPResponse(status: .badRequest), ByteBuffer())
        }
        let channel = EmbeddedChannel(handler: handler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private static func head(authority: String? = "birds") -> HTTPRequestPart {
        .head(
            HTTPRequest(
                method: .post, scheme: "https", authority: authority, path: "/apple/notifications"))
    }

    @Test func `a body that does not end in time is an error`() throws {
        let channel = try Self.channel()
        try channel.writeInbound(Self.head())
        try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "{")))
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        channel.pipeline.triggerUserOutboundEvent(BodyWanted(), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(Self.secondsMax - 1))
        try channel.throwIfErrorCaught()
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(throws: BodyTooSlow.self) { try channel.throwIfErrorCaught() }
    }

    @Test func `a body that ends in time is none`() throws {
        let channel = try Self.channel()
        try channel.writeInbound(Self.head())
        channel.pipeline.triggerUserOutboundEvent(BodyWanted(), promise: nil)
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        try channel.throwIfErrorCaught()
    }

    @Test(arguments: [nil, "", "a b", "birds/x"])
    func `a request without a valid host is refused`(authority: String?) throws {
        let channel = try Self.channel()
        try channel.writeInbound(Self.head(authority: authority))
        #expect(try channel.readInbound(as: HTTPRequestPart.self) == nil)
        let answer = try channel.readOutbound(as: HTTPResponsePart.self)
        #expect(answer == .head(HTTPResponse(status: .badRequest)))
    }
}
