internal import Foundation
internal import Glibc
internal import Synchronization

/// A proxy between devices and the server, which can forward or refuse requests. Each connection
/// has one request.
final class ServerGate: Sendable {
    /// The maximum number of connections that wait until the proxy accepts them.
    static let backlog: Int32 = 64
    static let chunkBytes = 65_536
    /// The maximum size of a request, in bytes.
    static let requestBytesMax = 16 * 1024 * 1024
    /// The maximum number of recorded requests.
    static let requestsMax = 100_000

    let url: URL
    private let listener: Int32
    private let target: UInt16
    /// The prefix of each path. Empty, or the device's part of the path at another proxy.
    private let prefix: String
    private let time: MovingTime
    private let state = Mutex(State())

    private struct State {
        var reach = World.Reach.up
        var requests: [String] = []
        var passed: [Passed] = []
        /// The kill switches, by the device's key, which is the first part of the path.
        var lives: [String: KillSwitch] = [:]
        /// Connections that will never be answered.
        var stuck: [(client: Int32, life: KillSwitch?)] = []
        var isStopped = false
    }

    /// A request that reached the server.
    struct Passed: Sendable {
        var name: String
        var body: Data
    }

    var requests: [String] { state.withLock(\.requests) }
    var passed: [Passed] { state.withLock(\.passed) }

    init(to server: URL, _ time: MovingTime) throws {
        self.time = time
        let socket = Glibc.socket(
            AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        listener = socket
        target = UInt16(server.port ?? 80)
        prefix = server.path == "/" ? "" : server.path
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
            throw WorldFailure("No port is free.")
        }
        self.url = url
        Thread.detachNewThread { self.acceptAll() }
    }

    func set(_ reach: World.Reach) { state.withLock { $0.reach = reach } }

    /// The address of the server for one device.
    func url(for device: String, _ life: KillSwitch) -> URL {
        state.withLock { $0.lives[device] = life }
        return url.appendingPathComponent(device)
    }

    func stop() {
        let stuck = state.withLock { state in
            if !state.isStopped { shutdown(listener, Int32(SHUT_RDWR)) }
            state.isStopped = true
            defer { state.stuck = [] }
            return state.stuck
        }
        for entry in stuck { close(entry.client) }
    }

    /// Closes the connections of an app whose process has ended.
    func breakConnections(of life: KillSwitch) {
        let over = state.withLock { state in
            let over = state.stuck.filter { $0.life === life }
            state.stuck.removeAll { $0.life === life }
            return over
        }
        for entry in over { close(entry.client) }
    }

    // MARK: - Connections

    private func acceptAll() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { break }
            Thread.detachNewThread { self.serve(client) }
        }
        close(listener)
    }

    private func serve(_ client: Int32) {
        guard let request = readRequest(client) else {
            close(client)
            return
        }
        let life = request.life
        guard life?.pass() ?? true else { return leave(client, life) }
        let answer = response(to: request, of: client)
        time.block()
        guard life?.pass() ?? true else { return leave(client, life) }
        Self.sendAll(answer, to: client)
        close(client)
    }

    private func response(to request: Request, of client: Int32) -> [UInt8] {
        switch state.withLock(\.reach) {
        case .up: return pass(request)
        case .down: return []
        case .slow(let seconds):
            // Waits as long as the slow server would, or until the client closes the connection.
            var descriptor = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
            return poll(&descriptor, 1, Int32(seconds * 1000)) == 0 ? pass(request) : []
        case .losingAnswers:
            _ = pass(request)
            return []
        case .answering(let status, let seconds):
            let wait = seconds.map { "Retry-After: \($0)\r\n" } ?? ""
            return Array(
                ("HTTP/1.1 \(status) Ordered\r\n\(wait)Content-Length: 0\r\n"
                    + "Connection: close\r\n\r\n").utf8)
        }
    }

    private func pass(_ request: Request) -> [UInt8] {
        state.withLock { $0.passed.append(Passed(name: request.name, body: request.body)) }
        return forward(request.bytes)
    }

    /// A request in the form that the server expects, without its device's part of the path, and
    /// the kill switch of that device's app.
    private struct Request {
        var name: String
        var bytes: [UInt8]
        var body: Data
        var life: KillSwitch?
    }

    /// Keeps a connection open without ever sending an answer.
    private func leave(_ client: Int32, _ life: KillSwitch?) {
        let isOver = state.withLock { state in
            let isOver = state.isStopped || life?.isBuried == true
            if !isOver { state.stuck.append((client, life)) }
            return isOver
        }
        if isOver { close(client) }
    }

    private func readRequest(_ client: Int32) -> Request? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: Self.chunkBytes)
        var head: (lines: [Substring], end: Int)?
        while bytes.count < Self.requestBytesMax {
            if head == nil, let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound {
                let text = String(decoding: bytes[..<end], as: UTF8.self)
                head = (text.split(separator: "\r\n"), end)
            }
            if let head {
                let length =
                    head.lines.first { $0.lowercased().hasPrefix("content-length:") }
                    .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
                if bytes.count >= head.end + length {
                    return rewrite(head.lines, body: bytes[head.end...])
                }
            }
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
        return nil
    }

    private func rewrite(
        _ lines: [Substring], body: ArraySlice<UInt8>
    ) -> Request? {
        guard let first = lines.first?.split(separator: " "), first.count == 3 else { return nil }
        let parts = first[1].split(separator: "/", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        let path = "/\(parts[1])"
        let life = state.withLock { state in
            if state.requests.count < Self.requestsMax {
                state.requests.append("\(first[0]) \(path)")
            }
            return state.lives[String(parts[0])]
        }
        let headers = lines.dropFirst().filter { !$0.lowercased().hasPrefix("connection:") }
        let head =
            ["\(first[0]) \(prefix)\(path) \(first[2])", "Connection: close"]
            + headers.map(String.init)
        let bytes = Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
        return Request(
            name: "\(first[0]) \(path)", bytes: bytes, body: Data(body), life: life)
    }

    private func forward(_ request: [UInt8]) -> [UInt8] {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(server) }
        var address = Self.address(port: target)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { return [] }
        Self.sendAll(request, to: server)
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: Self.chunkBytes)
        while true {
            let count = recv(server, &buffer, buffer.count, 0)
            guard count > 0 else { return answer }
            answer += buffer[..<count]
        }
    }

    private static func sendAll(_ bytes: [UInt8], to socket: Int32) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    private static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }
}
