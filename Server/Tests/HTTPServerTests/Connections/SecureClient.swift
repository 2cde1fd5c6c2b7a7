import Eventually
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization

/// A client with TLS that can send any bytes.
final class SecureClient: Sendable {
    private struct State {
        var text = ""
        var negotiated: String?
        var hasHandshaken = false
        var hasEnded = false
        var failure: (any Error)?
    }

    /// Collects what a connection receives.
    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        let state = Mutex(State())

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let buffer = unwrapInboundIn(data)
            state.withLock { $0.text += String(buffer: buffer) }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case TLSUserEvent.handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
                state.withLock {
                    $0.negotiated = negotiated
                    $0.hasHandshaken = true
                }
            }
            if case ChannelEvent.inputClosed? = event as? ChannelEvent {
                state.withLock { $0.hasEnded = true }
            }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            state.withLock { $0.failure = error }
            context.close(promise: nil)
        }
    }

    private let channel: any Channel
    private let collector = Collector()
    /// The certificate that the server has shown, in DER.
    let certificate: [UInt8]

    /// Connects, and waits for the end of the handshake.
    init(
        to port: Int, trusting roots: NIOSSLTrustRoots, protocols: [String] = ["http/1.1"],
        versionMax: TLSVersion? = nil
    ) async throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = roots
        configuration.applicationProtocols = protocols
        configuration.minimumTLSVersion = .tlsv1
        configuration.maximumTLSVersion = versionMax
        let context = try NIOSSLContext(configuration: configuration)
        let collector = collector
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        try NIOSSLClientHandler(context: context, serverHostname: "localhost"),
                        collector,
                    ])
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        let isOpen = channel
        try await eventually("the handshake") {
            collector.state.withLock { $0.hasHandshaken || $0.failure != nil }
                || !isOpen.isActive
        }
        if let failure = collector.state.withLock({ $0.failure }) { throw failure }
        let shown = try await channel.nioSSL_peerCertificate().get()
        certificate = try shown?.toDERBytes() ?? []
    }

    deinit { channel.close(promise: nil) }

    var isOpen: Bool { channel.isActive }
    var negotiated: String? { collector.state.withLock { $0.negotiated } }

    func send(_ text: String) { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }

    /// Ends the connection's input for the server. Answers can still be read.
    func endInput() { channel.close(mode: .output, promise: nil) }

    func close() { channel.close(promise: nil) }

    /// Waits until the text was received, and returns everything received since the last call.
    @discardableResult
    func received(until wanted: String) async throws -> String {
        let collector = collector
        try await eventually(wanted) { collector.state.withLock { $0.text.contains(wanted) } }
        return collector.state.withLock { state in
            defer { state.text = "" }
            return state.text
        }
    }

    /// Waits until the server closes the connection.
    func awaitEnd() async throws {
        let (channel, collector) = (channel, collector)
        try await eventually("the end of the connection") {
            !channel.isActive || collector.state.withLock { $0.hasEnded }
        }
    }
}
