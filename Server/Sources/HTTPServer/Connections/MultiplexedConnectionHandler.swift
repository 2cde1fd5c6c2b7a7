import NIOCore
import NIOHTTP2

/// The error with which a stream is refused that begins while its connection ends.
struct ConnectionEnding: Error {}

/// Ends a connection with HTTP/2. The handler is placed right behind the parser of frames.
///
/// - If no request was in progress for some time, or if the server shuts down, the client is told
///   by GOAWAY which request is the last one that is answered. The connection is closed when no
///   request is in progress. A client can repeat later requests on another connection.
/// - If the client violates the protocol or exceeds a limit of the parser, the parser has sent
///   GOAWAY with the reason, and this handler closes the connection. It does so even if the error
///   concerns one stream, because no correct client causes such an error.
/// - If the client closes its half of the connection, the whole connection is closed, because a
///   client that still waits for responses keeps its half open.
final class MultiplexedConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let idleSecondsMax: Int64
    private var context: ChannelHandlerContext?
    private var streamCount = 0
    private var newestStream = HTTP2StreamID.rootStream
    /// Whether the client was told that no further request is answered.
    private var isEnding = false
    /// The timer that runs while no request is in progress.
    private var idleTimer: Scheduled<Void>?

    /// - Parameter idleSecondsMax: how long the connection stays open without a request.
    init(idleSecondsMax: Int64) { self.idleSecondsMax = idleSecondsMax }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        startIdleTimer(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        stopIdleTimer()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        stopIdleTimer()
        isEnding = true
        context.fireChannelInactive()
    }

    // MARK: - Streams

    /// Counts a stream until it is closed. Call this on the connection's event loop.
    ///
    /// - Throws: ``ConnectionEnding`` if the stream begins too late.
    func open(_ stream: any Channel, id: HTTP2StreamID) throws {
        guard !isEnding else { throw ConnectionEnding() }
        stopIdleTimer()
        streamCount += 1
        newestStream = max(newestStream, id)
        stream.closeFuture.assumeIsolated().whenComplete { [self] _ in
            streamCount -= 1
            guard streamCount == 0, let context, context.channel.isActive else { return }
            if isEnding { close(context) } else { startIdleTimer(context) }
        }
    }

    // MARK: - Ends

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { refuseFurtherStreams(context) }
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        isEnding = true
        context.close(promise: nil)
    }

    private func refuseFurtherStreams(_ context: ChannelHandlerContext) {
        guard !isEnding else { return }
        isEnding = true
        stopIdleTimer()
        guard streamCount > 0 else { return close(context) }
        context.writeAndFlush(goAway, promise: nil)
    }

    /// Closes the connection after everything that was written before has been sent, or when the
    /// client has not read it for too long.
    private func close(_ context: ChannelHandlerContext) {
        let channel = context.channel
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { _ in channel.close(promise: nil) }
        let timer = context.eventLoop.scheduleTask(in: .seconds(idleSecondsMax)) {
            channel.close(promise: nil)
        }
        channel.closeFuture.whenComplete { _ in timer.cancel() }
        context.writeAndFlush(goAway, promise: written)
    }

    private var goAway: NIOAny {
        wrapOutboundOut(
            HTTP2Frame(
                streamID: .rootStream,
                payload: .goAway(
                    lastStreamID: newestStream, errorCode: .noError, opaqueData: nil)))
    }

    private func startIdleTimer(_ context: ChannelHandlerContext) {
        idleTimer = context.eventLoop.assumeIsolated().scheduleTask(
            in: .seconds(idleSecondsMax)
        ) { [self] in
            idleTimer = nil
            refuseFurtherStreams(context)
        }
    }

    private func stopIdleTimer() {
        idleTimer?.cancel()
        idleTimer = nil
    }
}
