import NIOCore

/// The error that is sent up a connection's pipeline if the head of a request takes too long, or if
/// its address has begun too many heads. It ends the connection without an answer.
struct HeadNotEnded: Error {}

/// Limits the time in which the head of a request arrives, and the number of incomplete heads of
/// one address. The handler is placed right before the parser.
///
/// Without these limits, somebody could send heads very slowly, and so occupy many connections and
/// the memory for their heads.
///
/// Almost every head arrives in one piece. Such a head is not counted and needs no timer, because
/// the parser reports its end before this handler checks for an incomplete head.
final class HeadWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum Place {
        /// The connection is between two requests.
        case between
        /// The connection is in the head of a request.
        case head
        /// The connection is in the body of a request, or in input that is ignored.
        case rest
    }

    private let secondsMax: Int64
    private let reserve: () -> Bool
    private let release: () -> Void
    private var place = Place.between
    private var timer: Scheduled<Void>?

    /// - Parameter secondsMax: how long a head may take after its first part.
    /// - Parameter reserve: counts a head that has arrived only in part. Returns false if there are
    ///   too many.
    /// - Parameter release: called when a counted head has ended or is given up.
    init(
        secondsMax: Int64, reserve: @escaping () -> Bool = { true },
        release: @escaping () -> Void = {}
    ) {
        (self.secondsMax, self.reserve, self.release) = (secondsMax, reserve, release)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if place == .between { place = .head }
        context.fireChannelRead(data)
        guard place == .head, timer == nil else { return }
        guard reserve() else { return giveUp(context) }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(secondsMax)) {
            [self] in
            stopTimer()
            giveUp(context)
        }
    }

    /// Records that the parser has found the end of a head.
    func recordHead() {
        place = .rest
        stopTimer()
    }

    /// Records that the parser has found the end of a request.
    func recordEnd() { place = .between }

    private func giveUp(_ context: ChannelHandlerContext) {
        place = .rest
        context.fireErrorCaught(HeadNotEnded())
    }

    private func stopTimer() {
        guard let running = timer else { return }
        running.cancel()
        timer = nil
        release()
    }

    func channelInactive(context: ChannelHandlerContext) {
        stopTimer()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stopTimer() }
}
