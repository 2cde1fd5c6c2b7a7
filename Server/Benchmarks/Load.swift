import Foundation

/// Sends requests over persistent connections. Each connection sends its next request after it has
/// received a response. Uses one thread and no library, to leave the machine to the server.
final class Load {
    private static let readBytes = 65_536
    private static let timeoutMilliseconds: Int32 = 30_000
    /// The number of attempts per server to send a request again.
    private static let attemptsMax = 1000

    private struct Link {
        var socket: Int32
        /// The part of the response received so far.
        var answer: [UInt8] = []
        var isWaiting = false
        var request: [UInt8] = []
    }

    private let ports: [UInt16]
    private var links: [Link] = []
    /// Whether a request is sent again, to the next server, if its connection is lost. Requests
    /// must be idempotent then.
    var survivesKills = false
    /// The number of responses with another status than 200, if ``survivesKills``. Their requests
    /// are sent again.
    private(set) var refusals = 0
    /// The first of these responses.
    private(set) var firstRefusal = ""

    convenience init(port: UInt16, connections: Int) throws {
        try self.init(ports: [port], connections: connections)
    }

    /// Opens connections to several servers in turn.
    init(ports: [UInt16], connections: Int) throws {
        self.ports = ports
        for number in 0..<connections {
            let port = ports[number % ports.count]
            links.append(Link(socket: try Sockets.connected(to: port)))
        }
    }

    deinit { for link in links { close(link.socket) } }

    /// Sends requests and waits for all responses. Every response must have status 200.
    ///
    /// - Parameter request: returns the bytes of a request by its number.
    /// - Returns: the last response.
    @discardableResult
    func exchange(_ count: Int, _ request: (Int) -> [UInt8]) throws -> [UInt8] {
        var (sent, answered) = (0, 0)
        var last: [UInt8] = []
        for index in links.indices where sent < count {
            try write(request(sent), to: index)
            sent += 1
        }
        while answered < count {
            for index in try ready() {
                let answer: [UInt8]?
                do { answer = try read(index) } catch {
                    try sendAgain(index, after: error)
                    continue
                }
                guard let answer else { continue }
                last = answer
                answered += 1
                links[index].isWaiting = false
                if sent < count {
                    try write(request(sent), to: index)
                    sent += 1
                }
            }
        }
        return last
    }

    private func write(_ bytes: [UInt8], to index: Int) throws {
        links[index].request = bytes
        do { try send(bytes, to: index) } catch { try sendAgain(index, after: error) }
    }

    /// Opens a connection to the next server that accepts one, and sends the last request again.
    private func sendAgain(_ index: Int, after failure: any Error) throws {
        guard survivesKills else { throw failure }
        close(links[index].socket)
        for attempt in 1...ports.count * Self.attemptsMax {
            let port = ports[(index + attempt) % ports.count]
            guard let socket = try? Sockets.connected(to: port) else { continue }
            links[index].socket = socket
            if (try? send(links[index].request, to: index)) != nil { return }
            close(socket)
        }
        throw failure
    }

    private func send(_ bytes: [UInt8], to index: Int) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(
                    links[index].socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw BenchFailure("the server accepted no request: \(errno)") }
            rest = rest.dropFirst(count)
        }
        links[index].isWaiting = true
        links[index].answer = []
    }

    private func ready() throws -> [Int] {
        let waiting = links.indices.filter { links[$0].isWaiting }
        var polled = waiting.map {
            pollfd(fd: links[$0].socket, events: Int16(POLLIN), revents: 0)
        }
        guard poll(&polled, nfds_t(polled.count), Self.timeoutMilliseconds) > 0 else {
            throw BenchFailure("the server does not respond")
        }
        return zip(waiting, polled).filter { $0.1.revents != 0 }.map(\.0)
    }

    /// Returns the whole response once it is complete, or nil.
    private func read(_ index: Int) throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: Self.readBytes)
        let count = recv(links[index].socket, &buffer, buffer.count, 0)
        guard count > 0 else { throw BenchFailure("the server closed a connection") }
        links[index].answer += buffer[..<count]
        let answer = links[index].answer
        guard let length = HTTPResponseBytes.length(answer), answer.count >= length else {
            return nil
        }
        guard HTTPResponseBytes.status(answer) == 200 else {
            let text = String(decoding: answer, as: UTF8.self)
            if refusals == 0 { firstRefusal = text }
            refusals += 1
            throw BenchFailure("status is not 200: \(text)")
        }
        return answer
    }
}

/// The parts of HTTP/1.1 that our own responses need: a status, and a content length.
enum HTTPResponseBytes {
    private static let end = Array("\r\n\r\n".utf8)

    static func status(_ bytes: [UInt8]) -> Int? {
        Int(String(decoding: bytes.dropFirst(9).prefix(3), as: UTF8.self))
    }

    /// Returns the size of header and body in bytes. Nil while the header is not complete.
    static func length(_ bytes: [UInt8]) -> Int? {
        guard let head = head(bytes) else { return nil }
        let lines = String(decoding: bytes[..<head], as: UTF8.self).lowercased()
        guard let field = lines.range(of: "content-length: ") else { return nil }
        return Int(lines[field.upperBound...].prefix { $0.isNumber }).map { head + $0 }
    }

    static func body(_ bytes: [UInt8]) -> ArraySlice<UInt8> { bytes.dropFirst(head(bytes) ?? 0) }

    /// Returns the size of the header in bytes, including the empty line.
    private static func head(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= end.count else { return nil }
        return (0...(bytes.count - end.count)).first {
            bytes[$0..<$0 + end.count].elementsEqual(end)
        }.map { $0 + end.count }
    }
}

enum HTTPRequestBytes {
    static func get(_ path: String, key: String = "none") -> [UInt8] {
        get(path, host: "127.0.0.1", field: "authorization: Bearer \(key)")
    }

    /// A request for a page of the dashboard.
    static func page(_ path: String, port: UInt16) -> [UInt8] {
        get(
            path, host: "127.0.0.1:\(port)",
            field: "\(Programs.operatorField): \(Programs.operatorName)")
    }

    private static func get(_ path: String, host: String, field: String) -> [UInt8] {
        Array("GET \(path) HTTP/1.1\r\nhost: \(host)\r\n\(field)\r\n\r\n".utf8)
    }

    static func notification(_ jws: String) -> [UInt8] {
        let body = "{\"signedPayload\":\"\(jws)\"}"
        return Array(
            ("POST /apple/notifications HTTP/1.1\r\nhost: 127.0.0.1\r\n"
                + "content-type: application/json\r\ncontent-length: \(body.utf8.count)\r\n\r\n"
                + body).utf8)
    }
}

enum Sockets {
    /// Opens a connection to this machine.
    static func connected(to port: UInt16) throws -> Int32 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = local(port)
        let outcome = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard outcome == 0 else {
            close(socket)
            throw BenchFailure("nothing listens on port \(port)")
        }
        return socket
    }

    /// Opens a socket that programs on this machine can connect to.
    static func listening(at port: UInt16) throws -> Int32 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = local(port)
        guard bind(socket, to: &address), listen(socket, backlog) == 0 else {
            close(socket)
            throw BenchFailure("cannot listen on port \(port): \(errno)")
        }
        return socket
    }

    private static let backlog: Int32 = 128

    /// Returns a port that is not in use at the moment.
    static func freePort() throws -> UInt16 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = local(0)
        guard bind(socket, to: &address) else { throw BenchFailure("no port is free") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Binds to an address, and sets it to the address that was assigned.
    private static func bind(_ socket: Int32, to address: inout sockaddr_in) -> Bool {
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.bind(socket, $0, length) == 0
                    && getsockname(socket, $0, &length) == 0
            }
        }
    }

    private static func local(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }
}
