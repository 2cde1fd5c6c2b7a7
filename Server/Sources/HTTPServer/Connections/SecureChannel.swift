import HummingbirdCore
import Logging
import NIOCore
import NIOSSL
import NIOTLS

/// One connection with TLS. In the handshake, the server offers HTTP/1.1 (ALPN).
struct SecureChannel: ServerChildChannel {
    /// The protocols that are offered.
    static let protocols = ["http/1.1"]
    /// The maximum time for a handshake, in seconds. A short time suffices, because no person types
    /// during a handshake.
    static let handshakeSecondsMax: Int64 = 10

    struct Value: ServerChildChannelValue {
        let channel: any Channel
        fileprivate let negotiated: EventLoopFuture<HTTP1Channel.Value>
    }

    let http1: ConnectionChannel
    let certificate: LiveCertificate

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            try http1.limitReads(of: channel)
            try pipeline.addHandler(NIOSSLServerHandler(context: certificate.current.context))
            let opening = OpeningHandler(secondsMax: Self.handshakeSecondsMax)
            try pipeline.addHandler(opening)
            let loopBound = NIOLoopBound(opening, eventLoop: channel.eventLoop)
            let negotiation = NIOTypedApplicationProtocolNegotiationHandler<HTTP1Channel.Value> {
                _, channel in
                channel.pipeline.syncOperations.removeHandler(loopBound.value).flatMap {
                    http1.addHandlers(to: channel, logger: logger)
                }
            }
            try pipeline.addHandler(negotiation)
            if !http1.server.admits(channel) { channel.close(promise: nil) }
            return Value(channel: channel, negotiated: negotiation.protocolNegotiationResult)
        }
    }

    func handle(value: Value, logger: Logger) async {
        // The handshake fails if the client leaves before its end, or does not use TLS.
        if let connection = try? await value.negotiated.get() {
            return await http1.handle(value: connection, logger: logger)
        }
        value.channel.close(promise: nil)
        try? await value.channel.closeFuture.get()
    }
}

/// Closes a connection whose handshake takes too long, or that is still in its handshake when the
/// server shuts down. The handler is removed after the handshake.
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

    /// A failed handshake closes the connection. A failed handshake is not logged, because any
    /// client can cause it.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
