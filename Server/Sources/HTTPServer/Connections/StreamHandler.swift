import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Implements for one stream of HTTP/2, which is one request, what ``ConnectionHandler`` implements
/// for a connection of HTTP/1.x: the time limit of bodies, the response 100, and departures.
///
/// - A body whose length is not announced is marked as one in chunks, because HTTP/2 does not say
///   in the head whether there is a body: see ``Request/meterBody(by:from:)``.
/// - A request without a valid host is refused (RFC 9113, section 8.3.1), and so is one beyond the
///   number of streams that the server admits.
/// - Header fields that exist only in HTTP/1.x are left out of responses.
final class StreamHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// How much of the request has arrived.
    private enum Phase {
        case awaitsHead
        /// The head has arrived, and it is not known yet whether a body follows.
        case holdsHead(HTTPRequest)
        case readsBody
        case ended
    }

    private let bodySecondsMax: Int64
    private let isAdmitted: Bool
    private let refusal: (any Error) -> PerennialServer.Refusal
    private var phase = Phase.awaitsHead
    private var isRefused = false
    private var awaitsContinue = false
    private var bodyTimer: Scheduled<Void>?
    private var watches: [@Sendable () -> Void] = []

    /// - Parameters:
    ///   - bodySecondsMax: how long to wait for the end of a body.
    ///   - isAdmitted: whether the server has a place for this stream.
    ///   - refusal: returns the response to a request that is not passed on.
    init(
        bodySecondsMax: Int64, isAdmitted: Bool,
        refusal: @escaping (any Error) -> PerennialServer.Refusal
    ) {
        self.bodySecondsMax = bodySecondsMax
        self.isAdmitted = isAdmitted
        self.refusal = refusal
    }

    // MARK: - Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            if let error = error(of: head) { return refuse(context, error) }
            awaitsContinue = head.headerFields[.expect]?.lowercased() == "100-continue"
            phase = .holdsHead(head)
        case .body:
            awaitsContinue = false
            passHead(context, hasBody: true)
            context.fireChannelRead(data)
        case .end:
            awaitsContinue = false
            passHead(context, hasBody: false)
            phase = .ended
            stopBodyTimer()
            context.fireChannelRead(data)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // The end of a request without a body arrives together with its head.
        passHead(context, hasBody: true)
        context.fireChannelReadComplete()
    }

    private func passHead(_ context: ChannelHandlerContext, hasBody: Bool) {
        guard case .holdsHead(var head) = phase else { return }
        phase = .readsBody
        if hasBody, head.headerFields[.contentLength] == nil {
            head.headerFields[.transferEncoding] = "chunked"
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    private func error(of head: HTTPRequest) -> (any Error)? {
        guard isAdmitted else { return ProblemError(.tooManyRequestsAtOnce) }
        return WrongHost(authority: head.authority)
    }

    private func refuse(_ context: ChannelHandlerContext, _ error: any Error) {
        isRefused = true
        let (head, body) = refusal(error)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
        let channel = context.channel
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
        written.futureResult.whenComplete { _ in channel.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        stopBodyTimer()
        callWatches()
        context.fireChannelInactive()
    }

    private func callWatches() {
        let called = watches
        watches = []
        for watch in called { watch() }
    }

    // MARK: - Bodies

    /// Starts the timer when the body is read or discarded.
    private func wantBody(_ context: ChannelHandlerContext) {
        guard case .readsBody = phase, bodyTimer == nil else { return }
        bodyTimer = context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(bodySecondsMax)) {
            [self] in
            isRefused = true
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
        case let watch as DepartureWatch:
            watches.append(watch.onDeparture)
            if !context.channel.isActive { callWatches() }
        default: return context.triggerUserOutboundEvent(event, promise: promise)
        }
        promise?.succeed()
    }

    private func continueBody(_ context: ChannelHandlerContext) {
        wantBody(context)
        guard awaitsContinue else { return }
        awaitsContinue = false
        context.writeAndFlush(
            wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            head.headerFields[.connection] = nil
            head.headerFields[.transferEncoding] = nil
            wantBody(context)
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            watches = []
            context.write(data, promise: promise)
        }
    }
}
