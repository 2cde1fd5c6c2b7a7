import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP2
import NIOHTTPTypesHTTP1

/// One connection with HTTP/2. Each request is a stream of the connection. A stream has the same
/// handlers, and so the same limits, as a connection with HTTP/1.1 that serves one request. It also
/// counts as a connection: see ``ConnectionCounts``.
struct MultiplexedChannel: Sendable {
    /// The maximum number of streams of a connection that may be open at one time.
    static let streamsMax = 100
    /// The flow control window of a stream, in bytes. Before a body is read, at most two windows of
    /// it are received: the first is passed on to the handlers, and the second waits.
    static let windowBytes = 65_535
    /// The maximum number of streams that a client may reset, and of frames that carry no request,
    /// in ``countedSeconds``. A client that exceeds one of these numbers is disconnected.
    static let resetsMax = 200
    static let controlFramesMax = 200
    static let countedSeconds: Int64 = 30
    /// The maximum number of frames that continue a head.
    static let continuationsMax = 5

    struct Value: Sendable {
        let channel: any Channel
        fileprivate let streams: NIOHTTP2Handler.AsyncStreamMultiplexer<HTTP1Channel.Value>
    }

    let http1: ConnectionChannel

    private static var configuration: NIOHTTP2Handler.Configuration {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: streamsMax),
            HTTP2Setting(parameter: .maxHeaderListSize, value: PerennialServer.headerBytesMax),
            HTTP2Setting(parameter: .initialWindowSize, value: windowBytes),
        ]
        connection.maximumSequentialContinuationFrames = continuationsMax
        connection.maximumRecentlyResetStreams = streamsMax
        connection.controlFrameRateLimit.maximumCount = controlFramesMax
        connection.controlFrameRateLimit.windowLength = .seconds(countedSeconds)
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.targetWindowSize = windowBytes
        stream.streamResetFrameRateLimit.maximumCount = resetsMax
        stream.streamResetFrameRateLimit.windowLength = .seconds(countedSeconds)
        return NIOHTTP2Handler.Configuration(connection: connection, stream: stream)
    }

    /// Adds the parser, and the handlers around it, to the end of the pipeline. Call this on the
    /// channel's event loop.
    func addHandlers(to channel: any Channel, logger: Logger) throws -> Value {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(FrameWatch(http1.server.headTimer(of: channel)))
        let connection = MultiplexedConnectionHandler(idleSecondsMax: PerennialServer.idleSeconds)
        let loopBound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
        let streams = try pipeline.configureAsyncHTTP2Pipeline(
            mode: .server, configuration: Self.configuration
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                try addHandlers(to: stream, of: loopBound.value, logger: logger)
            }
        }
        try pipeline.addHandler(connection)
        return Value(channel: channel, streams: streams)
    }

    private func addHandlers(
        to stream: any Channel, of connection: MultiplexedConnectionHandler, logger: Logger
    ) throws -> HTTP1Channel.Value {
        guard let options = stream.syncOptions else {
            preconditionFailure("A stream's options can be read on its event loop.")
        }
        try connection.open(stream, id: options.getOption(HTTP2StreamChannelOptions.streamID))
        let isRefused = !http1.server.admits(stream: stream)
        let idle = Duration.seconds(PerennialServer.idleSeconds)
        try stream.pipeline.syncOperations.addHandlers([
            StreamHandler(isRefused: isRefused), HTTP2FramePayloadToHTTP1ServerCodec(),
            http1.connectionHandler(isStream: true), HTTP1ToHTTPServerCodec(secure: true),
            HTTPConnectionStateHandler(idleTimeout: idle, logger: logger),
        ])
        return try HTTP1Channel.Value(wrappingChannelSynchronously: stream)
    }

    /// Answers the requests of the connection until it is closed.
    func handle(value: Value, logger: Logger) async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                do {
                    for try await stream in value.streams.inbound {
                        group.addTask { await http1.handle(value: stream, logger: logger) }
                    }
                } catch {
                    // The connection has failed. Any client can cause this, so it is not logged.
                    value.channel.close(promise: nil)
                }
            }
        } onCancel: {
            value.channel.close(promise: nil)
        }
    }
}
