import ArgumentParser
import NIOCore
import NIOHTTP1
import NIOPosix

/// The minimum cost of a request with the library that handles all of the server's sockets:
/// SwiftNIO with its HTTP parser, and a handler that ignores the input.
struct LibraryServer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "library-server",
        abstract: "Respond to every request with the same bytes, with SwiftNIO.")

    @Option(help: "The port to listen on.") var port: Int
    @Option(help: "The size of the response's body, in bytes.") var bytes: Int

    private static let backlog: Int32 = 256

    func run() async throws {
        let body = ByteBuffer(repeating: UInt8(ascii: "x"), count: bytes)
        let listening = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.backlog, value: Self.backlog)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(ConstantResponse(body))
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        try await listening.closeFuture.get()
    }
}

private final class ConstantResponse: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let body: ByteBuffer
    private let head: HTTPResponseHead

    init(_ body: ByteBuffer) {
        self.body = body
        head = HTTPResponseHead(
            version: .http1_1, status: .ok,
            headers: ["content-length": String(body.readableBytes)])
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
