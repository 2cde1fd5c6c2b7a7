import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPServer

/// Where the input of a connection with HTTP/2 is incomplete. The tests move the clock.
@Suite struct FrameWatchTests {
    private static let secondsMax: Int64 = 20
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private static func frame(_ type: UInt8, flags: UInt8 = 0, bytes: Int) -> [UInt8] {
        [0, UInt8(bytes >> 8), UInt8(bytes & 255), type, flags, 0, 0, 0, 1]
            + [UInt8](repeating: 0, count: bytes)
    }

    private static let wholeHead = frame(1, flags: 4, bytes: 300)
    private static let splitHead = frame(1, bytes: 40) + frame(9, flags: 4, bytes: 40)
    private static let settings = frame(4, bytes: 6)

    private static func isIncomplete(after bytes: some Collection<UInt8>) -> Bool {
        var boundaries = FrameBoundaries()
        boundaries.read(ByteBuffer(bytes: preface + Array(bytes)).readableBytesView)
        return boundaries.isIncomplete
    }

    @Test func `input counts as complete only after a whole frame and a whole head`() {
        for input in [Self.wholeHead, Self.splitHead, Self.settings] {
            #expect(!Self.isIncomplete(after: input))
            for count in 1..<input.count {
                #expect(Self.isIncomplete(after: input.prefix(count)), "\(count)")
            }
        }
    }

    @Test func `a body that arrives in parts does not count as an incomplete head`() {
        let body = Self.frame(0, bytes: 500)
        for count in 9...body.count { #expect(!Self.isIncomplete(after: body.prefix(count))) }
        #expect(Self.isIncomplete(after: body.prefix(8)))
    }

    @Test func `frames are recognised however the input is split`() {
        let input = Self.preface + Self.settings + Self.splitHead + Self.frame(0, bytes: 30)
        var divided = FrameBoundaries()
        for (index, byte) in input.enumerated() {
            divided.read(ByteBuffer(bytes: [byte]).readableBytesView)
            var whole = FrameBoundaries()
            whole.read(ByteBuffer(bytes: input[...index]).readableBytesView)
            #expect(divided.isIncomplete == whole.isIncomplete, "\(index)")
            #expect(divided.frameCount == whole.frameCount, "\(index)")
        }
        #expect(divided.frameCount == 3)
    }

    /// A connection, and the number of its heads that count as incomplete.
    private final class Line {
        let channel = EmbeddedChannel()
        private(set) var halfSent = 0
        var isFull = false

        init() throws {
            let timer = HeadTimer(
                secondsMax: FrameWatchTests.secondsMax,
                reserve: { [unowned self] in
                    guard !isFull else { return false }
                    halfSent += 1
                    return true
                }, release: { [unowned self] in halfSent -= 1 })
            try channel.pipeline.syncOperations.addHandler(FrameWatch(timer))
            channel.connect(to: try SocketAddress(ipAddress: "192.0.2.7", port: 1), promise: nil)
        }

        func receive(_ bytes: some Collection<UInt8>) throws {
            try channel.writeInbound(ByteBuffer(bytes: Array(bytes)))
        }

        func pass(_ seconds: Int64) {
            channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
        }
    }

    @Test func `a head that takes too long closes the connection, even if parts keep arriving`()
        throws
    {
        let line = try Line()
        try line.receive(Self.preface + Self.wholeHead.prefix(9))
        for _ in 1..<Self.secondsMax {
            line.pass(1)
            try line.receive([0])
            #expect(line.channel.isActive && line.halfSent == 1)
        }
        line.pass(1)
        #expect(!line.channel.isActive && line.halfSent == 0)
    }

    @Test
    func `a head that ends in time, or a silent client, does not count as an incomplete head`()
        throws
    {
        let line = try Line()
        line.pass(Self.secondsMax * 2)
        #expect(line.channel.isActive && line.halfSent == 0)
        try line.receive(Self.preface + Self.splitHead.prefix(60))
        #expect(line.halfSent == 1)
        line.pass(Self.secondsMax - 1)
        try line.receive(Self.splitHead.dropFirst(60))
        #expect(line.halfSent == 0)
        line.pass(Self.secondsMax * 2)
        #expect(line.channel.isActive)
    }

    @Test func `beyond the limit of incomplete heads, a connection is closed at once`() throws {
        let line = try Line()
        line.isFull = true
        try line.receive(Self.preface + Self.wholeHead)
        #expect(line.channel.isActive)
        try line.receive(Self.wholeHead.prefix(20))
        #expect(!line.channel.isActive && line.halfSent == 0)
    }
}
