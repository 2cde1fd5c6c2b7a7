import ArgumentParser
import Foundation

/// The minimum cost of a request: its bytes are read from the socket, and a fixed response is
/// written. Uses one thread and no library, and parses only enough to find the end of the request.
struct BareServer: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bare-server", abstract: "Respond to every request with the same bytes.")

    @Option(help: "The port to listen on.") var port: UInt16
    @Option(help: "The size of the response's body, in bytes.") var bytes: Int

    func run() throws {
        var loop = try BareLoop(port: port, bodyBytes: bytes)
        while true { try loop.step() }
    }
}

private struct BareLoop {
    private static let readBytes = 65_536
    private static let socketsMax = 1024
    private static let headEnd = "\r\n\r\n"
    private static let lengthField = "content-length: "

    private let answer: [UInt8]
    /// The sockets. The first one listens.
    private var sockets: [pollfd]
    /// For each socket, the number of bytes of the current request that are still missing. Nil if
    /// the socket has no current request.
    private var missing: [Int?] = [nil]
    private var buffer = [UInt8](repeating: 0, count: readBytes + 1)

    init(port: UInt16, bodyBytes: Int) throws {
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: bodyBytes)
        answer = Array("HTTP/1.1 200 OK\r\ncontent-length: \(bodyBytes)\r\n\r\n".utf8) + body
        sockets = [pollfd(fd: try Sockets.listening(at: port), events: Int16(POLLIN), revents: 0)]
    }

    /// Waits for input and responds to complete requests.
    mutating func step() throws {
        guard poll(&sockets, nfds_t(sockets.count), -1) > 0 else {
            throw BenchFailure("poll: \(errno)")
        }
        for index in sockets.indices.dropFirst().reversed() where sockets[index].revents != 0 {
            if try !serve(index) {
                close(sockets[index].fd)
                sockets.remove(at: index)
                missing.remove(at: index)
            }
        }
        if sockets[0].revents != 0 { try accept() }
    }

    private mutating func accept() throws {
        let socket = Foundation.accept(sockets[0].fd, nil, nil)
        guard socket >= 0, sockets.count < Self.socketsMax else {
            throw BenchFailure("accept: \(errno)")
        }
        sockets.append(pollfd(fd: socket, events: Int16(POLLIN), revents: 0))
        missing.append(nil)
    }

    /// Reads from a socket, and responds if the request is complete. Returns false if the client
    /// has closed the connection.
    private mutating func serve(_ index: Int) throws -> Bool {
        let socket = sockets[index].fd
        let count = recv(socket, &buffer, Self.readBytes, 0)
        guard count > 0 else { return false }
        buffer[count] = 0
        let rest = (missing[index] ?? Self.length(buffer, count)) - count
        missing[index] = rest > 0 ? rest : nil
        guard rest <= 0 else { return true }
        return send(socket, answer, answer.count, Int32(MSG_NOSIGNAL)) == answer.count
    }

    /// Returns the size of the request in a buffer that ends with a zero byte. If the request's
    /// header is not complete, returns the number of received bytes.
    private static func length(_ bytes: [UInt8], _ count: Int) -> Int {
        bytes.withUnsafeBytes { bytes in
            guard let start = bytes.assumingMemoryBound(to: CChar.self).baseAddress,
                let end = strstr(start, headEnd)
            else { return count }
            let head = start.distance(to: end) + headEnd.utf8.count
            guard let field = strstr(start, lengthField), field < end else { return head }
            return head + strtol(field.advanced(by: lengthField.utf8.count), nil, 10)
        }
    }
}
