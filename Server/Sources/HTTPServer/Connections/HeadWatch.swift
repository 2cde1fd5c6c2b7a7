import NIOCore

/// The error that is sent up a connection's pipeline if the head of a request takes too long, or if
/// its address has begun too many heads. It ends the connection without an answer.
struct HeadNotEnded: Error {}

/// Counts one incomplete head, and limits the time until its end.
///
/// Without these limits, somebody could send heads very slowly, and so occupy many connections and
/// the memory for their heads.
final class HeadTimer {
    private let secondsMax: Int64
    private let reserve: () -> Bool
    private let release: () -> Void
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

    var isRunning: Bool { timer != nil }

    /// Counts a head. Returns false, and starts no timer, if there are too many.
    ///
    /// - Parameter onEnd: called once if the head is still incomplete when its time is over.
    func start(on eventLoop: any EventLoop, onEnd: @escaping () -> Void) -> Bool {
        guard reserve() else { return false }
        timer = eventLoop.assumeIsolated().scheduleTask(in: .seconds(secondsMax)) { [self] in
            stop()
            onEnd()
        }
        return true
    }

    /// Releases the counted head. Idempotent.
    func stop() {
        guard let running = timer else { return }
        running.cancel()
        timer = nil
        release()
    }
}

/// Limits the time in which the head of a request arrives, and the number of incomplete heads of
/// one address. The handler is placed right before the parser of HTTP/1.x.
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

    private let timer: HeadTimer
    private var place = Place.between

    init(_ timer: HeadTimer) { self.timer = timer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if place == .between { place = .head }
        context.fireChannelRead(data)
        guard place == .head, !timer.isRunning else { return }
        if !timer.start(on: context.eventLoop, onEnd: { [self] in giveUp(context) }) {
            giveUp(context)
        }
    }

    /// Records that the parser has found the end of a head.
    func recordHead() {
        place = .rest
        timer.stop()
    }

    /// Records that the parser has found the end of a request.
    func recordEnd() { place = .between }

    private func giveUp(_ context: ChannelHandlerContext) {
        place = .rest
        context.fireErrorCaught(HeadNotEnded())
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer.stop()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer.stop() }
}
