import Foundation
import Synchronization

/// Another backend on a port of this machine. This backend receives what is posted and responds as
/// the test says.
final class Receiver: Sendable {
    struct Arrival: Hashable, Sendable {
        var path: String
        var contentType: String?
        var body: [UInt8]
    }

    enum Reply: Sendable {
        case status(Int)
        case redirect(to: String)
        case answer(Int, headers: [String: String], body: String)
        /// Returns a reply that depends on the request.
        case chosen(@Sendable (Arrival) -> Int)
        /// Keeps the connection open and never responds.
        case nothing
        /// Sends a head with status 200, keeps the connection open, and never sends the body.
        case headOnly
    }

    private struct State {
        var listener: Int32 = -1
        var replies: [Reply]
        var arrivals: [Arrival] = []
        var heads: [[String: String]] = []
    }

    struct Unusable: Error {}

    private let state: Mutex<State>
    private let port: UInt16
    /// A socket that is bound but never listens. The socket reserves the port, so that no other
    /// process gets the port while the receiver is stopped.
    private let keeper: Int32

    /// - Parameter replies: used one after the other; the last reply is used for all further
    ///   requests.
    init(_ replies: Reply...) throws {
        state = Mutex(State(replies: replies.isEmpty ? [.status(200)] : replies))
        (keeper, port) = try Self.bound(to: 0)
        try listen()
    }

    deinit {
        stop()
        close(keeper)
    }

    var url: String { origin + "/apple" }
    /// The address as the server shows it, without the path.
    var origin: String { "http://127.0.0.1:\(port)" }
    var arrivals: [Arrival] { state.withLock { $0.arrivals } }
    /// The header fields of each request, with names in lower case.
    var heads: [[String: String]] { state.withLock { $0.heads } }

    func reply(_ replies: Reply...) { state.withLock { $0.replies = replies } }

    /// A socket of this machine and its port: the given port, or any free port if the given one is
    /// 0.
    private static func bound(to port: UInt16) throws -> (socket: Int32, port: UInt16) {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard isBound else {
            close(socket)
            throw Unusable()
        }
        return (socket, UInt16(bigEndian: address.sin_port))
    }

    /// Listens at the same port as before.
    func listen() throws {
        let listener = try Self.bound(to: port).socket
        guard Foundation.listen(listener, 128) == 0 else {
            close(listener)
            throw Unusable()
        }
        state.withLock { $0.listener = listener }
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0, let receiver = self else { return }
                Thread.detachNewThread { receiver.serve(connection) }
            }
        }
    }

    /// Refuses connections from now on.
    func stop() {
        let listener = state.withLock { state in
            defer { state.listener = -1 }
            return state.listener
        }
        guard listener >= 0 else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    // MARK: - One connection, one request

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        guard let (arrival, head) = Self.arrival(on: connection) else { return }
        let reply = state.withLock { state in
            state.arrivals.append(arrival)
            state.heads.append(head)
            return state.replies.count > 1 ? state.replies.removeFirst() : state.replies[0]
        }
        switch reply {
        case .status(let code): Self.send("HTTP/1.1 \(code) Told\r\n", to: connection)
        case .chosen(let status):
            Self.send("HTTP/1.1 \(status(arrival)) Told\r\n", to: connection)
        case .answer(let code, let headers, let body):
            let fields = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
            Self.send("HTTP/1.1 \(code) Told\r\n" + fields, body, to: connection)
        case .redirect(let url):
            Self.send("HTTP/1.1 302 Told\r\nLocation: \(url)\r\n", to: connection)
        case .headOnly:
            let head = Array("HTTP/1.1 200 Told\r\nContent-Length: 10\r\n\r\n".utf8)
            _ = Foundation.send(connection, head, head.count, Int32(MSG_NOSIGNAL))
            fallthrough
        case .nothing:
            // Reads until the other side has closed the connection.
            var byte: UInt8 = 0
            while read(connection, &byte, 1) > 0 {}
        }
    }

    private static func send(_ head: String, _ body: String = "", to connection: Int32) {
        let length = "Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
        let bytes = Array((head + length + body).utf8)
        _ = Foundation.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    private static func fields(_ lines: ArraySlice<String>) -> [String: String] {
        var fields: [String: String] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[line[..<colon].lowercased()] = line[line.index(after: colon)...]
                .trimmingCharacters(in: .whitespaces)
        }
        return fields
    }

    private static func arrival(
        on connection: Int32
    ) -> (Arrival, head: [String: String])? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let head = bytes.firstRange(of: end) {
                let lines = String(decoding: bytes[..<head.lowerBound], as: UTF8.self)
                    .components(separatedBy: "\r\n")
                func header(_ name: String) -> String? {
                    lines.first { $0.lowercased().hasPrefix(name + ":") }?
                        .dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
                }
                let length = header("content-length").flatMap { Int($0) } ?? 0
                if bytes.count >= head.upperBound + length {
                    let path = lines[0].split(separator: " ").dropFirst().first ?? ""
                    let arrival = Arrival(
                        path: String(path), contentType: header("content-type"),
                        body: Array(bytes[head.upperBound..<head.upperBound + length]))
                    return (arrival, Self.fields(lines.dropFirst()))
                }
            }
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }
}
