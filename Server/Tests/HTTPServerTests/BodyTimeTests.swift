import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPServer

/// How long a connection waits for the end of a body. The test moves the clock.
@Suite struct BodyTimeTests {
    private static let secondsMax: Int64 = 30

    private static func handler() -> ConnectionHandler {
        ConnectionHandler(bodySecondsMax: secondsMax) { _ in
            ConnectionHandler.Refusal(
                head: HTTPResponseHead(version: .http1_1, status: .badRequest),
                body: ByteBuffer())
        }
    }

    private static func channel(
        _ handler: ConnectionHandler = handler()
    ) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handler: handler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    /// Receives the header and a part of the body.
    private static func begin(_ channel: EmbeddedChannel) throws {
        let head = HTTPRequestHead(
            version: .http1_1, method: .POST, uri: "/apple/notifications",
            headers: ["host": "birds", "content-length": "1000"])
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(string: "{")))
    }

    private static func want(_ channel: EmbeddedChannel) {
        channel.pipeline.triggerUserOutboundEvent(BodyWanted(), promise: nil)
    }

    private static func respond(_ channel: EmbeddedChannel) throws {
        let head = HTTPResponseHead(
            version: .http1_1, status: .unauthorized, headers: ["content-length": "0"])
        try channel.writeOutbound(HTTPServerResponsePart.head(head))
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    }

    @Test func `a body that takes too long is refused, and then the connection closes`()
        throws
    {
        let channel = try Self.channel()
        try Self.begin(channel)
        // The server has not asked for the body yet.
        channel.embeddedEventLoop.advanceTime(by: .seconds(2 * Self.secondsMax))
        try channel.throwIfErrorCaught()
        Self.want(channel)
        channel.embeddedEventLoop.advanceTime(by: .seconds(Self.secondsMax - 1))
        // The arrival of more bytes does not extend the time.
        try channel.writeInbound(HTTPServerRequestPart.body(ByteBuffer(string: "}")))
        try channel.throwIfErrorCaught()
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(throws: BodyTooSlow.self) { try channel.throwIfErrorCaught() }
        #expect(channel.isActive)
        try Self.respond(channel)
        channel.embeddedEventLoop.advanceTime(by: ConnectionHandler.lingerMax)
        #expect(!channel.isActive)
    }

    @Test func `the timer of a body stops when the body ends, and starts again for the next body`()
        throws
    {
        let channel = try Self.channel()
        for _ in 0..<2 {
            try Self.begin(channel)
            Self.want(channel)
            channel.embeddedEventLoop.advanceTime(by: .seconds(Self.secondsMax - 1))
            try channel.writeInbound(HTTPServerRequestPart.end(nil))
            channel.embeddedEventLoop.advanceTime(by: .seconds(2 * Self.secondsMax))
            try Self.respond(channel)
        }
        try channel.throwIfErrorCaught()
        #expect(channel.isActive)
    }

    @Test func `a connection closes if the rest of a discarded body takes too long`() throws {
        let channel = try Self.channel()
        try Self.begin(channel)
        try Self.respond(channel)
        channel.embeddedEventLoop.advanceTime(by: .seconds(Self.secondsMax - 1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1) + ConnectionHandler.lingerMax)
        #expect(!channel.isActive)
    }

    @Test func `the timer of a body is released when its connection closes`() throws {
        weak var kept: ConnectionHandler?
        let channel: EmbeddedChannel
        do {
            let handler = Self.handler()
            kept = handler
            channel = try Self.channel(handler)
        }
        try Self.begin(channel)
        Self.want(channel)
        try channel.close().wait()
        channel.embeddedEventLoop.run()
        #expect(kept == nil)
    }
}
