import HummingbirdCore
import Logging
import NIOCore
import NIOSSL
import NIOTLS

/// One connection with TLS. In the handshake, the client chooses HTTP/2 or HTTP/1.1 (ALPN), if the
/// certificate's ``ServerCertificate/offersHTTP2`` is true. A client that chooses no protocol uses
/// HTTP/1.1.
struct SecureChannel: ServerChildChannel {
    /// The name of HTTP/2 in a handshake.
    static let http2Protocol = "h2"
    /// The maximum time for a handshake, in seconds. A short time suffices, because no person types
    /// during a handshake.
    static let handshakeSecondsMax: Int64 = 10

    struct Value: ServerChildChannelValue {
        let channel: any Channel
        fileprivate let negotiated: EventLoopFuture<Negotiated>
    }

    fileprivate enum Negotiated: Sendable {
        case http1(HTTP1Channel.Value)
        case http2(MultiplexedChannel.Value)
    }

    let http1: ConnectionChannel
    let certificate: LiveCertificate

    private var http2: MultiplexedChannel { MultiplexedChannel(http1: http1) }

    /// The protocols that are offered in a handshake; the first one is preferred.
    static func protocols(offersHTTP2: Bool) -> [String] {
        (offersHTTP2 ? [http2Protocol] : []) + ["http/1.1"]
    }

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
                    addHandlers(to: channel, after: result, logger: logger)
                }
            }
            try pipeline.addHandler(negotiation)
            if !http1.server.admits(channel) { channel.close(promise: nil) }
            return Value(channel: channel, negotiated: negotiation.protocolNegotiationResult)
        }
    }

    private func addHandlers(
        to channel: any Channel, after result: ALPNResult, logger: Logger
    ) -> EventLoopFuture<Negotiated> {
        guard case .negotiated(Self.http2Protocol) = result else {
            return http1.addHandlers(to: channel, logger: logger).map { .http1($0) }
        }
        return channel.eventLoop.makeCompletedFuture {
            Negotiated.http2(try http2.addHandlers(to: channel, logger: logger))
        }
    }

    func handle(value: Value, logger: Logger) async {
        // The handshake fails if the client leaves before its end, or does not use TLS.
        switch try? await value.negotiated.get() {
        case .http1(let connection)?: await http1.handle(value: connection, logger: logger)
        case .http2(let connection)?: await http2.handle(value: connection, logger: logger)
        case nil: value.channel.close(promise: nil)
        }
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
