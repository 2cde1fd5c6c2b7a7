import NIOCore
import NIOHTTP2

/// Adapts one stream of HTTP/2 to handlers that were made for a connection. The handler is the
/// first one of a stream.
///
/// - A stream that exceeds a limit is refused. A client knows from the code that it may repeat the
///   request.
/// - A body without a length is announced, whatever the method, so that its bytes are counted: see
///   ``BodyBudget``.
/// - A stream that is closed after its whole response was written is reset without an error, so
///   that a client that is still sending the body accepts the response (RFC 9113, section 8.1).
/// - A stream does not learn that the server shuts down. The connection ends after its last stream:
///   see ``MultiplexedConnectionHandler``.
final class StreamHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// The methods for which the codec behind this handler announces no body.
    private static let methodsWithoutBody: Set = ["GET", "HEAD", "DELETE", "TRACE"]

    private let isRefused: Bool
    private var isResponseWritten = false

    init(isRefused: Bool) { self.isRefused = isRefused }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return reset(context, .refusedStream, promise: nil) }
        guard case .headers(var head) = unwrapInboundIn(data), !head.endStream,
            !head.headers.contains(name: "content-length"),
            let method = head.headers.first(name: ":method"),
            Self.methodsWithoutBody.contains(method)
        else { return context.fireChannelRead(data) }
        head.headers.add(name: "transfer-encoding", value: "chunked")
        context.fireChannelRead(wrapInboundOut(.headers(head)))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { return }
        context.fireUserInboundEventTriggered(event)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .headers(let head): isResponseWritten = head.endStream
        case .data(let part): isResponseWritten = part.endStream
        default: break
        }
        context.write(data, promise: promise)
    }

    func close(
        context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
    ) {
        guard isResponseWritten else { return context.close(mode: mode, promise: promise) }
        reset(context, .noError, promise: promise)
    }

    private func reset(
        _ context: ChannelHandlerContext, _ code: HTTP2ErrorCode, promise: EventLoopPromise<Void>?
    ) {
        context.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: promise)
    }
}
