import Foundation
import Glibc
import Synchronization

/// Forwards connections to a server, and cuts all of them on request.
final class FlakyProxy: Sendable {
    /// The largest number of simultaneous connections.
    static let backlog: Int32 = 64
    static let chunkBytes = 65_536

    let url: URL
    private let listener: Int32
    private let target: UInt16
    private let state = Mutex(State())

    private struct State {
        var open: Set<Int32> = []
        var connections = 0
    }

    /// The number of connections so far.
    var connections: Int { state.withLock { $0.connections } }

    init(to server: URL) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        listener = socket
        target = UInt16(server.port ?? 80)
        var address = Self.address(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                let result = Glibc.bind(socket, $0, length) + listen(socket, Self.backlog)
                getsockname(socket, $0, &length)
                return result
            }
        }
        let port = UInt16(bigEndian: address.sin_port)
        guard bound == 0, let url = URL(string: "http://127.0.0.1:\(port)") else {
            throw URLError(.cannotConnectToHost)
        }
        self.url = url
        Thread.detachNewThread { self.acceptAll() }
    }

    /// Breaks all connections.
    func cut() {
        state.withLock { for socket in $0.open { shutdown(socket, Int32(SHUT_RDWR)) } }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        cut()
    }

    private func acceptAll() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { break }
            let server = connect()
            state.withLock { state in
                state.open.formUnion([client, server])
                state.connections += 1
            }
            let both = Mutex(2)
            for (from, to) in [(client, server), (server, client)] {
                Thread.detachNewThread {
                    Self.copy(from, to)
                    let left = both.withLock { left in
                        left -= 1
                        return left
                    }
                    if left == 0 { self.closeBoth(client, server) }
                }
            }
        }
        close(listener)
    }

    private func closeBoth(_ client: Int32, _ server: Int32) {
        state.withLock { state in
            state.open.subtract([client, server])
            close(client)
            close(server)
        }
    }

    private static func copy(_ from: Int32, _ to: Int32) {
        var buffer = [UInt8](repeating: 0, count: chunkBytes)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0, send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else {
                break
            }
        }
        shutdown(from, Int32(SHUT_RDWR))
        shutdown(to, Int32(SHUT_RDWR))
    }

    private func connect() -> Int32 {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(port: target)
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = Glibc.connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return server
    }

    private static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }
}
