import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2
import NIOHTTPTypes
import NIOHTTPTypesHTTP2

/// One connection of HTTP/2, with a ``StreamHandler`` for each request. A connection without a
/// request is closed as in HTTP/1.1. On shutdown, the client is told to open no further stream
/// (GOAWAY), and the connection ends with its last response.
struct HTTP2Channel: ServerChildChannel {
    /// The maximum number of requests of one connection at one time.
    static let streamsMax = 100
    /// The number of bytes of a body that a client may send before the server reads it. It is the
    /// same as what a connection of HTTP/1.1 holds.
    static let windowBytes = 65_535
    /// The maximum number of streams that a client may reset within ``resetSeconds``, before its
    /// connection is closed.
    static let resetsMax = 200
    static let resetSeconds: Int64 = 30

    typealias Stream = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    struct Value: ServerChildChannelValue {
        let channel: any Channel
        fileprivate let multiplexer: NIOHTTP2Handler.AsyncStreamMultiplexer<Stream>
    }

    /// Answers the requests: a stream behaves like a connection with one request.
    let http1: ConnectionChannel

    private static var settings: NIOHTTP2Handler.Configuration {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: streamsMax),
            HTTP2Setting(parameter: .maxHeaderListSize, value: PerennialServer.headerBytesMax),
            HTTP2Setting(parameter: .initialWindowSize, value: windowBytes),
        ]
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.targetWindowSize = windowBytes
        stream.streamResetFrameRateLimit.maximumCount = resetsMax
        stream.streamResetFrameRateLimit.windowLength = .seconds(resetSeconds)
        return NIOHTTP2Handler.Configuration(connection: connection, stream: stream)
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            // The framework's own timer starts with the first request.
            let silence = channel.eventLoop.scheduleTask(in: .seconds(PerennialServer.idleSeconds))
            { channel.close(promise: nil) }
            channel.closeFuture.whenComplete { _ in silence.cancel() }
            let multiplexer = try channel.pipeline.syncOperations.configureAsyncHTTP2Pipeline(
                mode: .server,
                connectionManagerConfiguration: .init(
                    maxIdleTime: .seconds(PerennialServer.idleSeconds), maxAge: nil,
                    maxGraceTime: nil, keepalive: nil),
                http2HandlerConfiguration: Self.settings
            ) { stream in
                silence.cancel()
                return addHandlers(to: stream)
            }
            return Value(channel: channel, multiplexer: multiplexer)
        }
    }

    private func addHandlers(to stream: any Channel) -> EventLoopFuture<Stream> {
        stream.eventLoop.makeCompletedFuture {
            let pipeline = stream.pipeline.syncOperations
            try pipeline.addHandler(HTTP2FramePayloadToHTTPServerCodec())
            let server = http1.server
            let isAdmitted = server.admitsStream(stream)
            try pipeline.addHandler(
                StreamHandler(
                    bodySecondsMax: server.bodies.limits.secondsMax,
                    isAdmitted: isAdmitted, refusal: server.refusal(of:)))
            return try Stream(wrappingChannelSynchronously: stream)
        }
    }

    func handle(value: Value, logger: Logger) async {
        do {
            try await withThrowingDiscardingTaskGroup { group in
                for try await stream in value.multiplexer.inbound {
                    group.addTask { await http1.handle(value: stream, logger: logger) }
                }
            }
        } catch {
            logger.trace("a connection of HTTP/2 failed", metadata: ["error": "\(error)"])
        }
        try? await value.channel.closeFuture.get()
    }
}
