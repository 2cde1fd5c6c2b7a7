import FoundationNetworking
import Glibc
import Synchronization

/// Reads the body of an answer as it arrives, from a separate socket.
///
/// Uses a socket instead of `URLSession`. On Linux, `URLSession` blocks a thread after a stream was
/// cancelled, and does not close the connection at once. The socket must be closed immediately,
/// because otherwise the simulator marks undelivered events as delivered.
final class EventStream: Sendable {
    /// The time without data after which the connection counts as broken, in seconds. The simulator
    /// sends a comment every 15 seconds.
    static let silenceSecondsMax = 45
    /// The maximum number of bytes of one read.
    static let chunkBytes = 65_536

    enum Piece: Equatable, Sendable {
        /// The answer has begun.
        case opened
        case bytes(Data)
    }

    private struct State {
        var socket: Int32?
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// The pieces of an answer. If the answer is an error, there are no pieces. The stream ends
    /// when the connection ends. The connection closes when the stream has no reader any more.
    static func pieces(of request: URLRequest) -> AsyncStream<Piece> {
        AsyncStream { continuation in
            let stream = EventStream()
            continuation.onTermination = { _ in stream.cancel() }
            Thread.detachNewThread {
                stream.read(request) { continuation.yield($0) }
                continuation.finish()
            }
        }
    }

    private func cancel() {
        state.withLock { state in
            state.isCancelled = true
            if let socket = state.socket { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    private func read(_ request: URLRequest, _ yield: (Piece) -> Void) {
        guard let url = request.url, let socket = Self.connect(to: url) else { return }
        let isWanted = state.withLock { state in
            if !state.isCancelled { state.socket = socket }
            return !state.isCancelled
        }
        defer {
            state.withLock { $0.socket = nil }
            close(socket)
        }
        guard isWanted, Self.send(Self.head(of: request, url), to: socket) else { return }
        var body = ResponseBody()
        var buffer = [UInt8](repeating: 0, count: Self.chunkBytes)
        while !body.isOver {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            for piece in body.pieces(in: buffer[..<count]) { yield(piece) }
        }
    }

    private static func head(of request: URLRequest, _ url: URL) -> [UInt8] {
        let fields = (request.allHTTPHeaderFields ?? [:]).map { "\($0.key): \($0.value)\r\n" }
        let query = url.query.map { "?\($0)" } ?? ""
        let host = "\(url.host ?? ""):\(url.port ?? 80)"
        return Array(
            ("GET \(url.path)\(query) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n"
                + "Accept: text/event-stream\r\n\(fields.joined())\r\n").utf8)
    }

    private static func send(_ bytes: [UInt8], to socket: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Connects to a server. Returns nil if no server responds at the address.
    private static func connect(to url: URL) -> Int32? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(url.host ?? "", "\(url.port ?? 80)", &hints, &found) == 0 else {
            return nil
        }
        defer { freeaddrinfo(found) }
        var next = found
        while let address = next?.pointee {
            next = address.ai_next
            let socket = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
            guard socket >= 0 else { continue }
            var silence = timeval(tv_sec: silenceSecondsMax, tv_usec: 0)
            setsockopt(
                socket, SOL_SOCKET, SO_RCVTIMEO, &silence,
                socklen_t(MemoryLayout<timeval>.size))
            if Glibc.connect(socket, address.ai_addr, address.ai_addrlen) == 0 { return socket }
            close(socket)
        }
        return nil
    }
}
