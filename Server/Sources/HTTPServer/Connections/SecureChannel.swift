import HummingbirdCore
import Logging
import NIOCore
import NIOSSL
import NIOTLS

/// One connection with TLS. The client and the server agree on HTTP/1.1 or HTTP/2 in the handshake
/// (ALPN). Clients that name no protocol speak HTTP/1.1.
struct SecureChannel: ServerChildChannel {
    /// The protocols that are offered, the preferred one first.
    static let protocols = ["h2", "http/1.1"]
    /// The maximum time for a handshake, in seconds. It is short, because nobody types meanwhile.
    static let handshakeSecondsMax: Int64 = 10

    enum Negotiated: Sendable {
        case http1(HTTP1Channel.Value)
        case http2(HTTP2Channel.Value)
    }

    struct Value: ServerChildChannelValue {
        let channel: any Channel
        fileprivate let negotiated: EventLoopFuture<Negotiated>
    }

    let http1: ConnectionChannel
    let http2: HTTP2Channel
    let certificate: LiveCertificate

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try http1.limitReads(of: channel)
            try pipeline.addHandler(NIOSSLServerHandler(context: certificate.current.context))
            let opening = OpeningHandler(secondsMax: Self.handshakeSecondsMax)
            try pipeline.addHandler(opening)
            let loopBound = NIOLoopBound(opening, eventLoop: channel.eventLoop)
            let negotiation = NIOTypedApplicationProtocolNegotiationHandler<Negotiated> {
                result, channel in
                channel.pipeline.syncOperations.removeHandler(loopBound.value).flatMap {
                    negotiated(result, channel, logger)
                }
            }
            try pipeline.addHandler(negotiation)
            if !http1.server.admits(channel) { channel.close(promise: nil) }
            return Value(channel: channel, negotiated: negotiation.protocolNegotiationResult)
        }
    }

    private func negotiated(
        _ result: ALPNResult, _ channel: any Channel, _ logger: Logger
    ) -> EventLoopFuture<Negotiated> {
        switch result {
        case .negotiated("h2"):
            http2.setup(channel: channel, logger: logger).map { .http2($0) }
        case .negotiated, .fallback:
            http1.addHandlers(to: channel, logger: logger).map { .http1($0) }
        }
    }

    func handle(value: Value, logger: Logger) async {
        // It fails if the client leaves before the handshake has ended, or speaks no TLS.
        switch try? await value.negotiated.get() {
        case .http1(let connection)?: await http1.handle(value: connection, logger: logger)
        case .http2(let connection)?: await http2.handle(value: connection, logger: logger)
        case nil:
            value.channel.close(promise: nil)
            try? await value.channel.closeFuture.get()
        }
    }
}

/// Closes a connection whose handshake takes too long, and one that is still in its handshake when
/// the server shuts down. It is removed after the handshake.
final class OpeningHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let secondsMax: Int64
    private var timer: Scheduled<Void>?

    init(secondsMax: Int64) { self.secondsMax = secondsMax }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: .seconds(secondsMax)) {
            channel.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    /// A failed handshake closes the connection. It is not logged, because any client can cause it.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
