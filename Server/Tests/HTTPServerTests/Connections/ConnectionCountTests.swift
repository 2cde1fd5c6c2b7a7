import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPServer

@Suite struct ConnectionCountTests {
    @Test func `the connections of each address are limited separately`() {
        var limits = ConnectionLimits()
        limits.connectionsOfAddressMax = 2
        let counts = ConnectionCounts(limits)
        #expect((0..<3).map { _ in counts.admit("192.0.2.7") } == [true, true, false])
        #expect(counts.admit("192.0.2.8"))
        #expect(counts.refusedCount == 1)
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
        let counts = ConnectionCounts(limits)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        func admits(_ channel: EmbeddedChannel) -> Bool {
            counts.admit(channel, exempt: ["192.0.2.9"], logger)
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
