import NIOCore

/// Reads the input of a connection with HTTP/2 only as far as needed to know where a frame ends
/// (RFC 9113, sections 3.4 and 4.1).
struct FrameBoundaries {
    /// The number of bytes that every client sends first.
    static let prefaceBytes = 24
    private static let frameHeaderBytes = 9
    private static let data: UInt8 = 0
    private static let headers: UInt8 = 1
    private static let continuation: UInt8 = 9
    private static let endOfHeaders: UInt8 = 4

    private var prefaceBytesLeft = prefaceBytes
    private var frameHeader: [UInt8] = []
    private var payloadBytesLeft = 0
    private var isData = false
    /// Whether the newest head continues in another frame.
    private var continues = false
    /// The number of frames that have begun, without the continuations of heads.
    private(set) var frameCount = 0

    /// Whether the input ends within a head, or within any other frame that is held in memory until
    /// its end. The bytes of a body are passed on as they arrive.
    var isIncomplete: Bool {
        (1..<Self.prefaceBytes).contains(prefaceBytesLeft) || !frameHeader.isEmpty || continues
            || (payloadBytesLeft > 0 && !isData)
    }

    mutating func read(_ bytes: ByteBufferView) {
        var rest = bytes
        Self.skip(&prefaceBytesLeft, of: &rest)
        while !rest.isEmpty {
            if payloadBytesLeft > 0 {
                Self.skip(&payloadBytesLeft, of: &rest)
                continue
            }
            let part = rest.prefix(Self.frameHeaderBytes - frameHeader.count)
            frameHeader.append(contentsOf: part)
            rest = rest.dropFirst(part.count)
            if frameHeader.count == Self.frameHeaderBytes { beginFrame() }
        }
    }

    private static func skip(_ count: inout Int, of bytes: inout ByteBufferView) {
        let skipped = min(count, bytes.count)
        bytes = bytes.dropFirst(skipped)
        count -= skipped
    }

    private mutating func beginFrame() {
        payloadBytesLeft = frameHeader[..<3].reduce(0) { $0 << 8 | Int($1) }
        let (type, flags) = (frameHeader[3], frameHeader[4])
        frameHeader = []
        isData = type == Self.data
        if type != Self.continuation { frameCount += 1 }
        if type == Self.headers || type == Self.continuation {
            continues = flags & Self.endOfHeaders == 0
        }
    }
}

/// Applies the limits of incomplete heads to a connection with HTTP/2: see ``HeadTimer``. The
/// handler is placed right before the parser of frames, and closes the connection if a frame is not
/// sent in time.
final class FrameWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let timer: HeadTimer
    private var boundaries = FrameBoundaries()
    /// The number of frames when the timer was started.
    private var timedFrame = 0

    init(_ timer: HeadTimer) { self.timer = timer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        boundaries.read(unwrapInboundIn(data).readableBytesView)
        context.fireChannelRead(data)
        // The timer measures one frame, not the time since the last pause of the client.
        if !boundaries.isIncomplete || boundaries.frameCount != timedFrame { timer.stop() }
        guard boundaries.isIncomplete, !timer.isRunning, context.channel.isActive else { return }
        timedFrame = boundaries.frameCount
        if !timer.start(on: context.eventLoop, onEnd: { context.close(promise: nil) }) {
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer.stop()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer.stop() }
}
