import Foundation

/// A client that can send any bytes, and a request before the answer to the previous one.
final class Connection: Sendable {
    private static let answerSeconds = 120

    struct Answer {
        var text: String
        var status: Int { Int(text.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0 }
        var requestID: String? {
            text.firstMatch(of: /x-request-id: (\S+)/).map { String($0.1) }
        }
        var says100: Bool { text == "HTTP/1.1 100 Continue\r\n\r\n" }
        var closes: Bool { text.contains(/(?i)\r\nconnection: close\r\n/) }
        var body: Substring {
            text.firstRange(of: "\r\n\r\n").map { text[$0.upperBound...] } ?? ""
        }
        /// The lines of the answer, sorted, without the lines that differ in each answer.
        var lasting: [String] {
            text.split(separator: "\r\n").filter { line in
                !line.hasPrefix("x-request-id") && !line.hasPrefix("Date")
            }.map { String($0).replacing(/"request_id": ?"[^"]*"/, with: "") }.sorted()
        }
    }

    struct Failure: Error {
        var call: String
        var code = errno
    }

    private let descriptor: Int32

    init(to port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = in_port_t(port).bigEndian
        let descriptor = descriptor
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw Failure(call: "connect") }
        var limit = timeval(tv_sec: Self.answerSeconds, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// Sends all requests before it reads the first answer.
    ///
    /// - Parameter closing: whether the client ends its input after the requests.
    func answers(
        to requests: String, count: Int, closing: Bool = false
    ) async throws -> [Answer] {
        try await Self.awaited { [self] in
            try sendAll(requests)
            if closing { shutdown(descriptor, Int32(SHUT_WR)) }
            return try read(count)
        }
    }

    /// Ends the connection's input for the server. The client can still read answers.
    func endInput() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Reads until the server closes the connection. Returns all text received.
    func receivedUntilEnd() async throws -> String {
        try await Self.awaited { [self] in
            var text = ""
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while true {
                let received = recv(descriptor, &chunk, chunk.count, 0)
                guard received >= 0 else { throw Failure(call: "recv") }
                guard received > 0 else { return text }
                text += String(decoding: chunk[..<received], as: UTF8.self)
            }
        }
    }

    /// Waits until the server closes the connection.
    ///
    /// - Throws: ``Failure`` if the server sends more before that, or nothing for `answerSeconds`.
    func awaitEnd() async throws {
        try await Self.awaited { [self] in
            var byte: UInt8 = 0
            guard recv(descriptor, &byte, 1, 0) == 0 else { throw Failure(call: "recv") }
        }
    }

    /// Reads until the client has received the text. Returns all text received.
    func received(until wanted: String) async throws -> String {
        try await Self.awaited { [self] in
            var text = ""
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while !text.contains(wanted) {
                let received = recv(descriptor, &chunk, chunk.count, 0)
                guard received > 0 else { throw Failure(call: "recv") }
                text += String(decoding: chunk[..<received], as: UTF8.self)
            }
            return text
        }
    }

    /// Runs blocking code on its own thread.
    private static func awaited<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    func sendAll(_ requests: String) throws {
        var rest = Array(requests.utf8)[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0) }
            guard sent > 0 else { throw Failure(call: "send") }
            rest = rest.dropFirst(sent)
        }
    }

    /// Sends the text repeatedly, until the server has accepted nothing for a second.
    ///
    /// - Returns: the number of bytes sent.
    func sendWhatIsTaken(of text: String, times: Int) async throws -> Int {
        let bytes = Array(text.utf8)
        let total = bytes.count * times
        var sent = 0
        while sent < total {
            let start = sent % bytes.count
            let count = bytes.withUnsafeBytes {
                send(
                    descriptor, $0.baseAddress?.advanced(by: start), bytes.count - start,
                    Int32(MSG_DONTWAIT))
            }
            if count > 0 {
                sent += count
            } else {
                guard errno == EAGAIN else { throw Failure(call: "send") }
                guard try canSendSoon() else { break }
            }
        }
        return sent
    }

    /// Whether the server accepts more bytes within a second.
    private func canSendSoon() throws -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let found = poll(&wanted, 1, Self.patienceMilliseconds)
        guard found >= 0 else { throw Failure(call: "poll") }
        return found > 0
    }

    private static let patienceMilliseconds: Int32 = 1_000

    private func read(_ count: Int) throws -> [Answer] {
        var answers: [Answer] = []
        var text = ""
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while answers.count < count {
            if let answer = Self.first(of: &text) {
                answers.append(answer)
                continue
            }
            let received = recv(descriptor, &chunk, chunk.count, 0)
            guard received > 0 else { throw Failure(call: "recv") }
            text += String(decoding: chunk[..<received], as: UTF8.self)
        }
        return answers
    }

    /// Removes the first answer from the text, if the answer is complete.
    private static func first(of text: inout String) -> Answer? {
        guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
        // An answer with status 100 has no body; the final answer follows.
        if text.hasPrefix("HTTP/1.1 100 ") {
            defer { text = String(text[end.upperBound...]) }
            return Answer(text: String(text[..<end.upperBound]))
        }
        guard let length = text[..<end.lowerBound].firstMatch(of: /(?i)content-length: (\d+)/),
            let count = Int(length.1), text[end.upperBound...].utf8.count >= count
        else { return nil }
        let rest = text.utf8.index(end.upperBound, offsetBy: count)
        defer { text = String(text[rest...]) }
        return Answer(text: String(text[..<rest]))
    }
}
