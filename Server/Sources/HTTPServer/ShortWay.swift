import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Answers what need not wait for anything on the thread that has read it: plain questions about a
/// customer. To carry them to their route and back takes longer than to answer them.
///
/// All else goes on to the routes, and so does what is refused here: they know why. What is
/// answered here they would answer with the same fields and the same body.
final class ShortWay: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let cohort: Cohort
    private var context: ChannelHandlerContext?
    /// Of which the end has not come yet, or which waits for its answer.
    private var held: PlainQuestion?
    private var waits = false
    /// Requests that went on to the routes and are not answered yet: answers keep their order.
    private var underWay = 0

    init(with cohort: Cohort) { self.cohort = cohort }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: - Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let request):
            if waits { cohort.answer() }
            held = isReady(context) ? PlainQuestion(request) : nil
            if held != nil { return }
            underWay += 1
        case .body: break
        case .end:
            if let question = held, !waits {
                waits = true
                return cohort.join(self, question)
            }
        }
        context.fireChannelRead(data)
    }

    /// Who does not read their answers gets no more of them: the routes wait for that.
    private func isReady(_ context: ChannelHandlerContext) -> Bool {
        underWay == 0 && context.channel.isWritable
    }

    // What ends the connection must not come before the question.

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if waits { cohort.answer() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if waits { cohort.answer() }
        context.fireErrorCaught(error)
    }

    // MARK: - Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { underWay -= 1 }
        context.write(data, promise: promise)
    }

    func answer(_ head: HTTPResponse, _ body: ByteBuffer) {
        held = nil
        waits = false
        guard let context else { return }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Lets the routes answer.
    func goOn() {
        waits = false
        guard let context, let question = held else { return }
        held = nil
        underWay += 1
        context.fireChannelRead(wrapInboundOut(.head(question.request)))
        context.fireChannelRead(wrapInboundOut(.end(nil)))
        context.fireChannelReadComplete()
    }
}
