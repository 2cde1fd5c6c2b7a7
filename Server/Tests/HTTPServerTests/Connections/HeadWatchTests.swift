import Eventually
import NIOCore
import NIOEmbedded
import NIOHTTP1
import PerennialContract
import Synchronization
import Testing

@testable import HTTPServer

/// How long the head of a request may take. The tests move the clock.
@Suite struct HeadWatchTests {
    private static let secondsMax: Int64 = 20
    private static let request = "GET /health HTTP/1.1\r\nhost: birds\r\n\r\n"

    /// A connection with parser, and the number of its heads that count as incomplete.
    private final class Line {
        let channel = EmbeddedChannel()
        private(set) var halfSent = 0
        var isFull = false

        init() throws {
            let timer = HeadTimer(
                secondsMax: secondsMax,
                reserve: { [unowned self] in
                    guard !isFull else { return false }
                    halfSent += 1
                    return true
                }, release: { [unowned self] in halfSent -= 1 })
            let watch = HeadWatch(timer)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(watch)
            try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
            try pipeline.addHandler(
                ConnectionHandler(bodySecondsMax: 30, heads: watch) { _ in
                    ConnectionHandler.Refusal(
                        head: HTTPResponseHead(version: .http1_1, status: .badRequest),
                        body: ByteBuffer())
                })
            channel.connect(to: try SocketAddress(ipAddress: "192.0.2.7", port: 1), promise: nil)
        }

        func receive(_ text: some StringProtocol) throws {
            try channel.writeInbound(ByteBuffer(substring: Substring(text)))
        }

        func pass(_ seconds: Int64) {
            channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
        }

        func respond() throws {
            let head = HTTPResponseHead(
                version: .http1_1, status: .ok, headers: ["content-length": "0"])
            try channel.writeOutbound(HTTPServerResponsePart.head(head))
            try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        }

        /// The head of the response that was written. Nil if none was.
        func response() throws -> HTTPResponseHead? {
            while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
                if case .head(let head) = part { return head }
            }
            return nil
        }
    }

    @Test func `a head that takes too long closes the connection, even if parts keep arriving`()
        throws
    {
        let line = try Line()
        for byte in Self.request.prefix(Int(Self.secondsMax)) {
            #expect(line.channel.isActive)
            try line.receive(String(byte))
            #expect(line.halfSent == 1)
            line.pass(1)
        }
        #expect(!line.channel.isActive)
        #expect(line.halfSent == 0)
        #expect(try line.response() == nil)
    }

    @Test func `a head that ends in time is answered, and the next head has its own time limit`()
        throws
    {
        let line = try Line()
        for _ in 0..<2 {
            try line.receive(Self.request.prefix(9))
            line.pass(Self.secondsMax - 1)
            #expect(line.halfSent == 1)
            try line.receive(Self.request.dropFirst(9))
            #expect(line.halfSent == 0)
            try line.respond()
            #expect(try line.response()?.status == .ok)
            line.pass(Self.secondsMax * 2)
            #expect(line.channel.isActive)
        }
    }

    @Test func `neither a head in one piece nor a slow body counts as an incomplete head`() throws {
        let line = try Line()
        line.isFull = true
        try line.receive(Self.request)
        try line.respond()
        try line.receive("POST /health HTTP/1.1\r\nhost: birds\r\ncontent-length: 9\r\n\r\n1")
        try line.receive("23")
        line.pass(Self.secondsMax * 2)
        #expect(line.channel.isActive && line.halfSent == 0)
    }

    @Test func `beyond the limit of incomplete heads, a connection is closed at once`() throws {
        let line = try Line()
        line.isFull = true
        try line.receive(Self.request.prefix(9))
        #expect(!line.channel.isActive && line.halfSent == 0)
    }

    @Test func `if the client leaves within a head, the head is no longer counted`() throws {
        let line = try Line()
        try line.receive(Self.request.prefix(9))
        #expect(line.halfSent == 1)
        line.channel.close(promise: nil)
        line.channel.embeddedEventLoop.run()
        #expect(line.halfSent == 0)
    }

    @Test func `a complete request is answered, even if the next request's head times out`() throws
    {
        let line = try Line()
        try line.receive(Self.request)
        try line.receive(Self.request.prefix(9))
        line.pass(Self.secondsMax)
        #expect(line.channel.isActive && line.halfSent == 0)
        try line.respond()
        let head = try #require(try line.response())
        #expect(head.status == .ok && head.headers["connection"] == ["close"])
        line.pass(ConnectionHandler.lingerMax.nanoseconds / 1_000_000_000)
        #expect(!line.channel.isActive)
    }

    @Test func `the server closes a connection that sends its head too slowly`() async throws {
        var limits = ConnectionLimits()
        limits.headSecondsMax = 1
        try await ListeningServer.run(connections: limits) { server in
            let slow = try server.connect()
            try slow.sendAll(String(Self.request.dropLast(2)))
            try await slow.awaitEnd()
            let answers = try await server.connect().answers(to: Self.request, count: 1)
            #expect(answers.map(\.status) == [200])
        }
    }

    @Test func `the default limits leave most connections to heads from other addresses`() {
        let usual = ConnectionLimits()
        #expect(usual.halfSentRequestsOfAddressMax * 8 <= usual.connectionsOfAddressMax)
        #expect(usual.headSecondsMax < PerennialServer.idleSeconds)
    }
}
