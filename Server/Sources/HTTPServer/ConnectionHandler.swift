import NIOCore
import NIOHTTP1

/// Sent down a connection's pipeline before the body of the request under way is read.
struct BodyWanted: Sendable {}

/// What the framework leaves out of HTTP/1.x, for one connection. It stands right behind the
/// parser.
///
/// - After a request of HTTP/1.0, one that says `Connection: close`, or a response that says so,
///   the connection is closed. What arrives behind such a request is thrown away.
/// - A client that sends `Expect: 100-continue` gets 100 when the body is wanted. If the response
///   comes first, the connection is closed, since nobody can know whether the body follows.
/// - Nothing more is read from the connection while requests wait behind another one, or until
///   somebody wants the body: what a client sends ahead stays with the client.
/// - For a request that cannot be parsed the framework writes an empty 400, in its turn. A problem
///   is written in its place.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// For so long the client may read the last response before the connection is gone: to close it
    /// while something unread lies in it would take the response away from the client.
    static let lingerMax = TimeAmount.seconds(2)

    typealias Refusal = (head: HTTPResponseHead, body: ByteBuffer)

    /// A request that has begun, until its response has ended.
    private struct Exchange {
        var closes: Bool
        var awaitsContinue: Bool
        /// Something of the body has come.
        var hasBody = false
        /// Somebody reads the body, or throws it away.
        var isBodyWanted = false

        init(_ head: HTTPRequestHead) {
            let isOld = head.version.major < 1 || head.version == .http1_0
            closes = isOld || !head.isKeepAlive
            awaitsContinue =
                !isOld && head.headers["expect"].contains { $0.lowercased() == "100-continue" }
        }
    }

    private let refusal: (any Error) -> Refusal
    private var exchanges = CircularBuffer<Exchange>()
    /// The end of the newest request has not come yet.
    private var isReading = false
    /// No further request is taken.
    private var isDeaf = false
    /// The last response has been written.
    private var isClosing = false
    private var isReadHeld = false
    private var failure: (any Error)?

    /// - Parameter refusal: the response to a request that cannot be parsed.
    init(refusal: @escaping (any Error) -> Refusal) { self.refusal = refusal }

    // MARK: - Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDeaf else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            exchanges.append(Exchange(head))
            isReading = true
        case .body:
            changeNewest { exchange in
                exchange.hasBody = true
                // It comes without being asked for.
                exchange.awaitsContinue = false
            }
        case .end:
            changeNewest { $0.awaitsContinue = false }
            isReading = false
            isDeaf = exchanges.last?.closes ?? false
        }
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        if isFull { isReadHeld = true } else { context.read() }
    }

    /// Enough of this connection waits in memory. One request without another behind it does not
    /// count: to stop reading and to begin again costs calls into the kernel.
    private var isFull: Bool {
        guard !isDeaf, let newest = exchanges.last else { return false }
        return isReading ? newest.hasBody && !newest.isBodyWanted : exchanges.count > 1
    }

    private func resumeReading(_ context: ChannelHandlerContext) {
        guard isReadHeld, !isFull else { return }
        isReadHeld = false
        context.read()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isDeaf else { return }
        if error is HTTPParserError {
            failure = error
            isDeaf = true
            // Within a request: its response is the last.
            changeNewest { if isReading { $0.closes = true } }
            if isReading, exchanges.isEmpty { endOutput(of: context.channel) }
        }
        context.fireErrorCaught(error)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if isClosing, case ChannelEvent.inputClosed? = event as? ChannelEvent {
            context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func changeNewest(_ change: (inout Exchange) -> Void) {
        guard !exchanges.isEmpty else { return }
        change(&exchanges[exchanges.index(before: exchanges.endIndex)])
    }

    // MARK: - Responses

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
        guard event is BodyWanted else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        promise?.succeed()
        guard let exchange = exchanges.first else { return }
        let first = exchanges.startIndex
        exchanges[first].isBodyWanted = true
        exchanges[first].awaitsContinue = false
        if exchange.awaitsContinue {
            let head = HTTPResponseHead(version: .http1_1, status: .continue)
            context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
        }
        resumeReading(context)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isClosing else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(var head):
            guard !exchanges.isEmpty else { return refuse(context, promise) }
            let first = exchanges.startIndex
            if exchanges[first].awaitsContinue || head.headers.saysClose {
                exchanges[first].closes = true
            }
            if exchanges[first].closes {
                head.headers.replaceOrAdd(name: "connection", value: "close")
                isDeaf = true
            }
            // What still comes of the body is thrown away.
            exchanges[first].isBodyWanted = true
            context.write(wrapOutboundOut(.head(head)), promise: promise)
            resumeReading(context)
        case .body: context.write(data, promise: promise)
        case .end:
            let exchange = exchanges.popFirst()
            guard exchange?.closes ?? true else {
                context.write(data, promise: promise)
                return resumeReading(context)
            }
            close(context, after: data, promise)
            resumeReading(context)
        }
    }

    /// In the place of the framework's empty response.
    private func refuse(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        var (head, body) = refusal(failure ?? HTTPParserError.unknown)
        head.headers.replaceOrAdd(name: "connection", value: "close")
        context.write(wrapOutboundOut(.head(head)), promise: promise)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    }

    private func close(
        _ context: ChannelHandlerContext, after end: NIOAny, _ promise: EventLoopPromise<Void>?
    ) {
        let channel = context.channel
        let written = promise ?? context.eventLoop.makePromise()
        context.writeAndFlush(end, promise: written)
        endOutput(of: channel, after: written.futureResult)
    }

    private func endOutput(
        of channel: any Channel, after written: EventLoopFuture<Void>? = nil
    ) {
        (isClosing, isDeaf) = (true, true)
        let written = written ?? channel.eventLoop.makeSucceededVoidFuture()
        written.whenComplete { _ in
            channel.close(mode: .output, promise: nil)
            channel.eventLoop.scheduleTask(in: Self.lingerMax) { channel.close(promise: nil) }
        }
    }
}

extension HTTPHeaders {
    fileprivate var saysClose: Bool {
        self["connection"].contains { $0.lowercased() == "close" }
    }
}
