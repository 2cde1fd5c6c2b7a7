import Foundation
import Synchronization
import Testing

@testable import Program

struct ServerAddressesTests {
    /// The number of checks. A client that never pauses tries to connect during many of them.
    private static let checks = 300

    /// If the check accepted a connection, no handler would answer it, and the client would wait
    /// until its own time limit.
    @Test func `a check whether an address is free accepts no connection`() async throws {
        let place = try BoundSocket()
        let port = place.port
        place.close()
        let addresses = ServerAddresses(
            try ProcessSettings(flags: ["port": "\(port)"], environment: [:], file: [:]))
        let visitor = Visitor()
        try await withThrowingTaskGroup { group in
            group.addTask { await visitor.connectRepeatedly(to: port) }
            for _ in 1...Self.checks { try await addresses.requireFree() }
            visitor.isOver.store(true, ordering: .relaxed)
            try await group.waitForAll()
        }
        #expect(visitor.accepted.load(ordering: .relaxed) == 0)
    }

    @Test func `an address is not free while another program listens on it`() async throws {
        let taker = try BoundSocket()
        defer { taker.close() }
        taker.listen()
        let addresses = ServerAddresses(
            try ProcessSettings(flags: ["port": "\(taker.port)"], environment: [:], file: [:]))
        await #expect(throws: StartFailure.self) { try await addresses.requireFree() }
    }

    /// After a connection ends, the system remembers the connection for a minute.
    @Test func `an address is free even if connections of an earlier server have just ended`()
        async throws
    {
        let taker = try BoundSocket()
        taker.listen()
        let client = try #require(BoundSocket.connected(to: taker.port))
        let accepted = accept(taker.descriptor, nil, nil)
        close(accepted)
        close(client)
        taker.close()
        let addresses = ServerAddresses(
            try ProcessSettings(flags: ["port": "\(taker.port)"], environment: [:], file: [:]))
        try await addresses.requireFree()
    }
}

/// A client that connects again immediately after each refusal.
private final class Visitor: Sendable {
    let isOver = Atomic(false)
    /// How many connections were accepted.
    let accepted = Atomic(0)

    func connectRepeatedly(to port: UInt16) async {
        while !isOver.load(ordering: .relaxed) {
            if BoundSocket.acceptsConnection(at: port) { accepted.add(1, ordering: .relaxed) }
            await Task.yield()
        }
    }
}

/// A socket bound to a free port of this machine.
private struct BoundSocket {
    let descriptor: Int32
    let port: UInt16

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var isReused: Int32 = 1
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<Int32>.size))
        let descriptor = descriptor
        let code = Self.withAddress(0) { bind(descriptor, $0, $1) }
        try #require(code == 0)
        port = Self.port(of: descriptor)
    }

    func listen() { Foundation.listen(descriptor, 8) }
    func close() { Foundation.close(descriptor) }

    /// Whether a program at this port accepts a connection. While no program listens, the system
    /// may connect the client to itself; such a connection does not count.
    static func acceptsConnection(at port: UInt16) -> Bool {
        guard let client = connected(to: port) else { return false }
        defer { Foundation.close(client) }
        return Self.port(of: client) != port
    }

    static func connected(to port: UInt16) -> Int32? {
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if withAddress(port, { connect(client, $0, $1) }) == 0 { return client }
        Foundation.close(client)
        return nil
    }

    private static func withAddress(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = port.bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func port(of descriptor: Int32) -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &length)
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }
}
