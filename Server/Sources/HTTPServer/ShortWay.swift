import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Answers on the thread that has read it what need not go to its route: plain questions about a
/// customer, and notifications as Apple writes them. To carry a question to its route and back
/// takes as long as to answer it.
///
/// All else goes on to the routes, and so does what is refused here: they know why. What is
/// answered here they would answer with the same fields and the same body.
final class ShortWay: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private enum Stage {
        /// What comes goes on to the routes.
        case passing
        /// The request's end has not come yet.
        case reading(PlainRequest)
        /// For the answer; and so does whatever comes after the request.
        case waiting
    }

    private enum Arrival {
        case part(HTTPRequestPart)
        case event(Any)
        case failure(any Error)
    }

    /// So many of those that a connection has sent one after the other, without waiting for
    /// answers, are answered here. The routes let others on the thread have their turn meanwhile.
    private static let rowMax = 64

    private let cohort: Cohort
    private var context: ChannelHandlerContext?
    private var stage = Stage.passing
    /// Once there is something, nothing is read until the answer, but for what a connection has
    /// received when it ends.
    private var later = CircularBuffer<Arrival>()
    /// Answers given one after the other while more waited.
    private var row = 0
    private var isReadHeld = false
    /// Requests that went on to the routes and are not answered yet: answers keep their order.
    private var underWay = 0

    init(with cohort: Cohort) { self.cohort = cohort }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        later.removeAll()
    }

    // MARK: - What comes

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        take(.part(unwrapInboundIn(data)), context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        take(.event(event), context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        take(.failure(error), context)
    }

    func read(context: ChannelHandlerContext) {
        if later.isEmpty { context.read() } else { isReadHeld = true }
    }

    private func take(_ arrival: Arrival, _ context: ChannelHandlerContext) {
        switch (stage, arrival) {
        case (.waiting, _): later.append(arrival)
        case (.passing, .part(.head(let request))):
            guard isReady(context), let plain = PlainRequest(request, within: cohort.bodyTime)
            else { return pass(arrival, context) }
            stage = .reading(plain)
        case (.reading(var plain), .part(.body(let bytes))):
            stage = .passing
            guard plain.add(bytes) else { return passOn(plain, arrival, context) }
            stage = .reading(plain)
        case (.reading(let plain), .part(.end)):
            stage = .waiting
            guard cohort.join(self, plain) else { return passOn(plain, arrival, context) }
        case (.reading(let plain), _): passOn(plain, arrival, context)
        case (.passing, _): pass(arrival, context)
        }
    }

    /// Who does not read their answers gets no more of them: the routes wait for that.
    private func isReady(_ context: ChannelHandlerContext) -> Bool {
        underWay == 0 && row < Self.rowMax && context.channel.isWritable
    }

    private func pass(_ arrival: Arrival, _ context: ChannelHandlerContext) {
        switch arrival {
        case .part(let part):
            if case .head = part { underWay += 1 }
            context.fireChannelRead(wrapInboundOut(part))
        case .event(let event): context.fireUserInboundEventTriggered(event)
        case .failure(let error): context.fireErrorCaught(error)
        }
    }

    /// What has come of a request, and then the rest of it.
    private func passOn(
        _ plain: PlainRequest, _ rest: Arrival, _ context: ChannelHandlerContext
    ) {
        stage = .passing
        pass(.part(.head(plain.request)), context)
        if let body = plain.body { pass(.part(.body(body)), context) }
        pass(rest, context)
    }

    // MARK: - Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            underWay -= 1
            if underWay == 0 { row = 0 }
        }
        context.write(data, promise: promise)
    }

    func answer(_ head: HTTPResponse, _ body: ByteBuffer) {
        guard let context else { return }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        stage = .passing
        goOn(context)
    }

    /// Lets the routes answer.
    func leave(_ plain: PlainRequest) {
        guard let context else { return }
        passOn(plain, .part(.end(nil)), context)
        context.fireChannelReadComplete()
        goOn(context)
    }

    private var isWaiting: Bool {
        if case .waiting = stage { true } else { false }
    }

    /// With what came while the answer was waited for.
    private func goOn(_ context: ChannelHandlerContext) {
        row = later.isEmpty ? 0 : row + 1
        guard !later.isEmpty else { return }
        while !isWaiting, let arrival = later.popFirst() { take(arrival, context) }
        context.fireChannelReadComplete()
        guard isReadHeld, later.isEmpty else { return }
        isReadHeld = false
        context.read()
    }
}
