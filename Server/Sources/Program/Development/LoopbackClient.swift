import AppStoreFormats
import AsyncHTTPClient
import OutgoingHTTP

/// Sends requests to one of the two servers of a ``LocalStack`` over HTTP, as any program on this
/// machine could.
struct LoopbackClient: Sendable {
    /// The maximum size of an answer, in bytes. A thousand notifications have about fifteen million
    /// bytes.
    static let answerBytesMax = 134_217_728
    /// The time limit of the whole answer. The simulator needs long to move its clock by
    /// years.
    static let timeout = Duration.seconds(120)

    let client: HTTPClient
    /// The server's URL, for example `http://127.0.0.1:8090`.
    let url: String
    var key: String?

    /// An answer, and how long it took.
    struct Answer: Sendable {
        var status: Int
        var body: [UInt8]
        var milliseconds: Int64

        var isSuccess: Bool { (200..<300).contains(status) }
        /// The body as JSON; null if the body is not JSON.
        var json: JSON {
            do { return try JSON(parsing: body) } catch { return .null }
        }
        /// The problem and its remedy if the answer contains them, otherwise the status.
        var complaint: String {
            let problem = json
            let words = [problem["detail"]?.string ?? problem["title"]?.string]
            let text = (words + [problem["remedy"]?.string]).compactMap { $0 }
            return text.isEmpty ? "The answer was \(status)." : text.joined(separator: " ")
        }
    }

    func get(_ path: String) async throws -> Answer { try await send(.get, path, nil) }

    func post(_ path: String, _ body: JSON = [:]) async throws -> Answer {
        try await send(.post, path, body)
    }

    func delete(_ path: String) async throws -> Answer { try await send(.delete, path, nil) }

    func replace(_ path: String, with body: JSON) async throws -> Answer {
        try await send(.put, path, body)
    }

    private func send(
        _ method: Method, _ path: String, _ body: JSON?
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url + path)
        request.method = .init(rawValue: method.rawValue)
        if let key { request.headers.add(name: "authorization", value: "Bearer \(key)") }
        if let body {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(body.bytes)
        }
        let start = ContinuousClock.now
        let answer = try await request.wholeResponse(
            by: client, within: Self.timeout, bodyBytesMax: Self.answerBytesMax)
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return Answer(
            status: answer.status, body: answer.body,
            milliseconds: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }

    private enum Method: String {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }
}
