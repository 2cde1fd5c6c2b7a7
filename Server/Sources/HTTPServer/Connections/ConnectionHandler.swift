import NIOCore
import NIOHTTP1

/// An event sent down a connection's pipeline before the body of the current request is read.
struct BodyWanted: Sendable {}

/// An event sent down a connection's pipeline while the current request waits for something. The
/// closure is called once when the client no longer waits for the response. This is the case if the
/// client has closed the connection, has closed its sending direction, or has sent another request
/// behind this one. If one of these has happened already, the closure is called at once. If the
/// response ends first, the closure is never called.
struct DepartureWatch: Sendable {
    var onDeparture: @Sendable () -> Void
}

extension Channel {
    /// Calls a closure when the client no longer waits for the current response: see
    /// ``DepartureWatch``.
    package func onDeparture(_ body: @escaping @Sendable () -> Void) {
        triggerUserOutboundEvent(DepartureWatch(onDeparture: body), promise: nil)
    }
}

/// The error that is sent up a connection's pipeline in place of the missing rest of a body.
struct BodyTooSlow: Error {
    var secondsMax: Int64
}

/// Implements the parts of HTTP/1.x that the framework lacks, for one connection. The handler is
/// placed right behind the parser. A stream of HTTP/2 also has this handler, and is treated as a
/// connection with one request: see ``MultiplexedChannel``.
///
/// - After an HTTP/1.0 request, a request with `Connection: close`, or a response with that
/// header, the connection is closed. Anything that arrives after such a request is discarded.
/// - A client that sends `Expect: 100-continue` gets 100 when the body is wanted. If the response
///   comes first, the connection is closed, because it is unknown whether the body follows.
/// - Nothing more is read from the connection while other requests wait behind the current one, or
///   until the body is wanted. So TCP holds back data that a client sends too early.
/// - When a body is read or discarded, a timer starts. If the body has not ended in time, the
///   reader gets ``BodyTooSlow`` and responds, and the connection is closed. Without a timer a
///   silent client would hold its part of ``BodyBudget``.
/// - For a request that cannot be parsed, the framework writes an empty 400 response, in order.
///   This handler replaces it with a problem. A request without exactly one `Host` is treated the
///   same way (RFC 9112, section 3.2).
/// - For a response of unknown length to HTTP/1.0, the end of the connection marks the end of the
///   response, because HTTP/1.0 has no chunks.
/// - It reports when a client leaves while its request waits: see ``DepartureWatch``.
/// - If a head is not sent in time, the connection is closed: see ``HeadWatch``. The requests that
///   were sent completely before it are still answered.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// The time for the client to read the last response before the connection is closed
    /// completely. If a connection with unread input is closed, the client loses the response.
    static let lingerMax = TimeAmount.seconds(2)

    /// The response to a request that cannot be parsed.
    struct Refusal {
        var head: HTTPResponseHead
        var body: ByteBuffer
    }

    /// A request that has begun, until its response has ended.
    private struct Exchange {
        var closes: Bool
        /// Whether the client does not support chunks.
        let isOld: Bool
        var awaitsContinue: Bool
        /// Whether a part of the body has arrived.
        var hasBody = false
        /// Whether the body is being read or discarded.
        var isBodyWanted = false

        init(_ head: HTTPRequestHead, isStream: Bool) {
            isOld = head.version.major < 1 || head.version == .http1_0
            closes = !isStream && (isOld || !head.isKeepAlive)
            awaitsContinue =
                !isOld && head.headers["expect"].contains { $0.lowercased() == "100-continue" }
        }
    }

    private let bodySecondsMax: Int64
    private let heads: HeadWatch?
    private let isStream: Bool
    private let refusal: (any Error) -> Refusal
    private var exchanges = CircularBuffer<Exchange>()
    /// Whether the newest request has not ended yet.
    private var isReading = false
    /// Whether no further request is accepted.
    private var ignoresInput = false
    /// Whether the last response has been written.
    private var isClosing = false
    private var isReadHeld = false
    /// The timer that runs while the handler waits for the end of a body.
    private var bodyTimer: Scheduled<Void>?
    private var failure: (any Error)?
    /// The closures to call when the client leaves while the first exchange waits.
    private var watches: [@Sendable () -> Void] = []
    /// Whether the client has closed its half of the connection.
    private var isInputClosed = false

    /// - Parameter bodySecondsMax: how long to wait for the end of a body.
    /// - Parameter heads: the handler before the parser.
    /// - Parameter isStream: whether this is one stream of a connection with HTTP/2.
    /// - Parameter refusal: returns the response to a request that cannot be parsed.
    init(
        bodySecondsMax: Int64, heads: HeadWatch? = nil, isStream: Bool = false,
        refusal: @escaping (any Error) -> Refusal
    ) {
        self.bodySecondsMax = bodySecondsMax
        self.heads = heads
        self.isStream = isStream
        self.refusal = refusal
    }

    // MARK: - Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !ignoresInput else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            heads?.recordHead()
            if let wrong = WrongHost(of: head) { return refuseHead(context, wrong) }
            exchanges.append(Exchange(head, isStream: isStream))
            isReading = true
            if exchanges.count > 1 { callWatches() }
        case .body:
            updateNewest { exchange in
                exchange.hasBody = true
                // The client sends the body without waiting for the response 100.
                exchange.awaitsContinue = false
            }
        case .end:
            heads?.recordEnd()
            updateNewest { $0.awaitsContinue = false }
            isReading = false
            stopBodyTimer()
            ignoresInput = exchanges.last?.closes ?? false
        }
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        if isFull { isReadHeld = true } else { context.read() }
    }

    /// Whether so much input of this connection waits in memory that reading must stop. A single
    /// request without another one behind it is not enough, because stopping and resuming reads
    /// costs system calls.
    private var isFull: Bool {
        guard !ignoresInput, let newest = exchanges.last else { return false }
        return isReading ? newest.hasBody && !newest.isBodyWanted : exchanges.count > 1
    }

    private func resumeReading(_ context: ChannelHandlerContext) {
        guard isReadHeld, !isFull else { return }
        isReadHeld = false
        context.read()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !ignoresInput else { return }
        if error is HeadNotEnded { return refuseFurtherInput(context) }
        if error is HTTPParserError {
            failure = error
            closeInput(context)
        }
        context.fireErrorCaught(error)
    }

    /// Responds to a head that is parsed but not valid, and ends the connection.
    private func refuseHead(_ context: ChannelHandlerContext, _ wrong: WrongHost) {
        failure = wrong
        closeInput(context)
        context.fireErrorCaught(HTTPParserError.unknown)
    }

    /// Accepts no further request. Closes the connection after the response to the newest one.
    private func refuseFurtherInput(_ context: ChannelHandlerContext) {
        ignoresInput = true
        guard !exchanges.isEmpty else { return context.close(promise: nil) }
        updateNewest { $0.closes = true }
    }

    /// Accepts no further input. If a request is in progress, its response is the last one.
    private func closeInput(_ context: ChannelHandlerContext) {
        ignoresInput = true
        stopBodyTimer()
        updateNewest { if isReading { $0.closes = true } }
        if isReading, exchanges.isEmpty { closeOutput(of: context.channel) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        stopBodyTimer()
        callWatches()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent {
            isInputClosed = true
            callWatches()
            if isClosing { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func updateNewest(_ change: (inout Exchange) -> Void) {
        guard !exchanges.isEmpty else { return }
        change(&exchanges[exchanges.index(before: exchanges.endIndex)])
    }

    // MARK: - Departures

    private func add(_ watch: DepartureWatch, _ context: ChannelHandlerContext) {
        watches.append(watch.onDeparture)
        if isInputClosed || exchanges.count > 1 || !context.channel.isActive { callWatches() }
    }

    private func callWatches() {
        let called = watches
        watches = []
        for watch in called { watch() }
    }

    // MARK: - Bodies

    /// Records that the body of the first exchange is being read or discarded.
    private func wantBody(_ context: ChannelHandlerContext) {
        exchanges[exchanges.startIndex].isBodyWanted = true
        // If other requests wait behind the first one, its body has already ended.
        guard isReading, exchanges.count == 1, bodyTimer == nil, !ignoresInput else { return }
        bodyTimer = context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(bodySecondsMax)) {
            [self] in
            bodyTimer = nil
            guard !ignoresInput else { return }
            closeInput(context)
            context.fireErrorCaught(BodyTooSlow(secondsMax: bodySecondsMax))
        }
    }

    private func stopBodyTimer() {
        bodyTimer?.cancel()
        bodyTimer = nil
    }

    // MARK: - Responses

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
        switch event {
        case is BodyWanted: continueBody(context)
        case let watch as DepartureWatch: add(watch, context)
        default: return context.triggerUserOutboundEvent(event, promise: promise)
        }
        promise?.succeed()
    }

    private func continueBody(_ context: ChannelHandlerContext) {
        guard let exchange = exchanges.first else { return }
        wantBody(context)
        exchanges[exchanges.startIndex].awaitsContinue = false
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
                ignoresInput = true
            }
            if exchanges[first].isOld, !head.headers.contains(name: "content-length") {
                head.version = .http1_0
            }
            // The rest of the body is discarded.
            wantBody(context)
            context.write(wrapOutboundOut(.head(head)), promise: promise)
            resumeReading(context)
        case .body: context.write(data, promise: promise)
        case .end:
            let exchange = exchanges.popFirst()
            watches = []
            guard exchange?.closes ?? true else {
                context.write(data, promise: promise)
                return resumeReading(context)
            }
            close(context, after: data, promise)
            resumeReading(context)
        }
    }

    /// Replaces the framework's empty response to a request that cannot be parsed.
    private func refuse(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        var answer = refusal(failure ?? HTTPParserError.unknown)
        answer.head.headers.replaceOrAdd(name: "connection", value: "close")
        context.write(wrapOutboundOut(.head(answer.head)), promise: promise)
        context.write(wrapOutboundOut(.body(.byteBuffer(answer.body))), promise: nil)
    }

    private func close(
        _ context: ChannelHandlerContext, after end: NIOAny, _ promise: EventLoopPromise<Void>?
    ) {
        let channel = context.channel
        let written = promise ?? context.eventLoop.makePromise()
        context.writeAndFlush(end, promise: written)
        closeOutput(of: channel, after: written.futureResult)
    }

    private func closeOutput(
        of channel: any Channel, after written: EventLoopFuture<Void>? = nil
    ) {
        (isClosing, ignoresInput) = (true, true)
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
