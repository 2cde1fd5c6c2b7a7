import HTTPTypes
import Hummingbird
import NIOCore
import PerennialContract
import Synchronization

/// Indents JSON for people, if the query of any route contains `pretty`.
enum Indentation {
    static let parameter = "pretty"
}

extension Request {
    /// Whether the query contains `pretty` with any value except `false` and `0`.
    var asksForIndentation: Bool {
        guard uri.query != nil, let value = uri.queryParameters[Indentation.parameter[...]] else {
            return false
        }
        return value != "false" && value != "0"
    }
}

extension Response {
    /// Returns the response with its JSON indented by two spaces for each level.
    func indented() async throws -> Response {
        guard headers[.contentType] == "application/json" else { return self }
        let written = WrittenBody()
        try await body.write(written)
        var json = ByteBuffer(bytes: ContractEncoder.indented(written.bytes))
        json.writeString("\n")
        var response = self
        response.body = ResponseBody(byteBuffer: json)
        return response
    }
}

/// Collects a body in memory, because a body cannot be read, but only written to a destination.
private final class WrittenBody: ResponseBodyWriter, Sendable {
    private let buffer = Mutex(ByteBuffer())

    var bytes: ByteBufferView { buffer.withLock { $0.readableBytesView } }

    func write(_ part: ByteBuffer) {
        buffer.withLock { _ = $0.writeImmutableBuffer(part) }
    }

    func finish(_ trailingHeaders: HTTPFields?) {}
}
