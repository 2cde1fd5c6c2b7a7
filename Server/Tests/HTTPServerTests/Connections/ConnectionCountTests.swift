import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPServer

@Suite struct ConnectionCountTests {
    private static var refusals: LimitRefusals {
        LimitRefusals(Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test func `the incomplete heads of each address are limited separately`() {
        var limits = ConnectionLimits()
        limits.halfSentRequestsOfAddressMax = 1
        let refusals = Self.refusals
        let counts = ConnectionCounts(limits, refusals)
        #expect(counts.admitHalfSent(from: "192.0.2.7"))
        #expect(!counts.admitHalfSent(from: "192.0.2.7"))
        #expect(counts.admitHalfSent(from: "192.0.2.8"))
        #expect(counts.admit("192.0.2.7"), "connections are counted separately")
        counts.releaseHalfSent(from: "192.0.2.7")
        #expect(counts.admitHalfSent(from: "192.0.2.7"))
        #expect(refusals.counts == [.halfSentRequestsOfAddress: 1])
        limits.halfSentRequestsOfAddressMax = 0
        let unlimited = ConnectionCounts(limits, refusals)
        for _ in 0..<1_000 { #expect(unlimited.admitHalfSent(from: "192.0.2.7")) }
    }

    @Test func `the connections of each address are limited separately`() {
        var limits = ConnectionLimits()
        limits.connectionsOfAddressMax = 2
        let refusals = Self.refusals
        let counts = ConnectionCounts(limits, refusals)
        #expect((0..<3).map { _ in counts.admit("192.0.2.7") } == [true, true, false])
        #expect(counts.admit("192.0.2.8"))
        #expect(refusals.counts == [.connectionsOfAddress: 1])
        counts.release("192.0.2.7")
        #expect(counts.admit("192.0.2.7"))
        #expect(!counts.admit("192.0.2.7"))
    }

    private func connection(from address: String) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        channel.remoteAddress = try SocketAddress(ipAddress: address, port: 1)
        return channel
    }

    @Test
    func `a closed connection makes room, and trusted proxies and this machine have no limit`()
        throws
    {
        var limits = ConnectionLimits()
        limits.connectionsOfAddressMax = 1
        let counts = ConnectionCounts(limits, Self.refusals)
        func admits(_ channel: EmbeddedChannel) -> Bool {
            counts.admit(
                channel, from: ConnectionCounts.network(of: channel, exempt: ["192.0.2.9"]))
        }
        let first = try connection(from: "2001:db8::1")
        #expect(admits(first))
        #expect(
            try !admits(connection(from: "2001:db8::2")),
            "addresses of the same network count together")
        #expect(try admits(connection(from: "2001:db8:0:1::1")))
        first.close(promise: nil)
        first.embeddedEventLoop.run()
        #expect(try admits(connection(from: "2001:db8::2")))
        for address in ["127.0.0.1", "::1", "192.0.2.9", "::ffff:192.0.2.9"] {
            for _ in 1...3 { #expect(try admits(connection(from: address)), "\(address)") }
        }
    }

    @Test func `a stream counts towards the limit of its address and the limit of all streams`()
        throws
    {
        var limits = ConnectionLimits()
        limits.connectionsOfAddressMax = 2
        limits.streamsMax = 3
        let counts = ConnectionCounts(limits, Self.refusals)
        func admits(_ stream: EmbeddedChannel) -> Bool {
            counts.admit(stream: stream, from: ConnectionCounts.network(of: stream, exempt: []))
        }
        #expect(counts.admit("192.0.2.7"))
        let first = try connection(from: "192.0.2.7")
        #expect(admits(first))
        #expect(try !admits(connection(from: "192.0.2.7")), "the address has two already")
        #expect(counts.streamCount == 1, "a refused stream is not counted")
        let local = try (1...2).map { _ in try connection(from: "127.0.0.1") }
        for stream in local { #expect(admits(stream)) }
        #expect(try !admits(connection(from: "127.0.0.1")), "there are three streams already")
        for stream in [first] + local {
            stream.close(promise: nil)
            stream.embeddedEventLoop.run()
        }
        #expect(counts.streamCount == 0)
        #expect(try admits(connection(from: "192.0.2.7")))
    }

    @Test func `one address cannot use up all connections`() {
        #expect(ConnectionLimits().connectionsOfAddressMax < PerennialServer.connectionsMax)
    }

    @Test(
        arguments: [
            ("127.0.0.1", true), ("127.8.9.10", true), ("::1", true), ("::ffff:127.0.0.1", true),
            ("192.0.2.7", false), ("::2", false), ("2001:db8::1", false), ("12.7.0.1", false),
        ])
    func `addresses of this machine are recognized`(address: String, isThisMachine: Bool) throws {
        #expect(try #require(CanonicalAddress(address)).isLoopback == isThisMachine)
    }
}
