import ArgumentParser
import Foundation

/// The least that a request can cost: its bytes are read from the socket, and others are written.
/// One thread, and no library; nothing is looked at but where the request ends.
struct BareServer: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bare-server", abstract: "Answer every request with the same bytes.")

    @Option(help: "The port to listen at.") var port: UInt16
    @Option(help: "Bytes of the body of the answer.") var bytes: Int

    func run() throws {
        var loop = try BareLoop(port: port, bodyBytes: bytes)
        while true { try loop.turn() }
    }
}

private struct BareLoop {
    private static let readBytes = 65_536
    private static let socketsMax = 1024
    private static let headEnd = "\r\n\r\n"
    private static let lengthField = "content-length: "

    private let answer: [UInt8]
    /// The first listens.
    private var sockets: [pollfd]
    /// Of the request that is coming, for each socket; nil where none is.
    private var missing: [Int?] = [nil]
    private var buffer = [UInt8](repeating: 0, count: readBytes + 1)

    init(port: UInt16, bodyBytes: Int) throws {
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: bodyBytes)
        answer = Array("HTTP/1.1 200 OK\r\ncontent-length: \(bodyBytes)\r\n\r\n".utf8) + body
        sockets = [pollfd(fd: try Sockets.listening(at: port), events: Int16(POLLIN), revents: 0)]
    }

    /// Waits until something comes, and answers what is whole.
    mutating func turn() throws {
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

    /// False where the other side has closed.
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

    /// Bytes of a request whose header has come whole, in a buffer that ends with a zero.
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
