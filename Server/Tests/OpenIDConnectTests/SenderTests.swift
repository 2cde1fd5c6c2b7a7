import AsyncHTTPClient
import Eventually
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import Synchronization
import Testing

@testable import OpenIDConnect

/// The requests over a real connection.
@Suite struct SenderTests {
    private static func send(
        _ path: String, max bytes: Int = 1_000, timeout: Duration = .seconds(10),
        after end: @escaping @Sendable () -> Void = {},
        _ answer: @escaping @Sendable (Request) async throws -> Response
    ) async throws -> (Result<OpenIDResponse, any Error>, requests: Int) {
        let count = Counter()
        let router = Router()
        for path in ["/start", "/end"] {
            for method in [HTTPRequest.Method.get, .post] {
                router.on(RouterPath(path), method: method) { request, _ in
                    count.number.withLock { $0 += 1 }
                    return try await answer(request)
                }
            }
        }
        let configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        let app = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        return try await app.test(.live) { server in
            let port = try #require(server.port)
            return try await HTTPClient.withHTTPClient(configuration: configuration) { client in
                let send = OpenIDClient.sender(client, timeout: timeout)
                let url = try #require(ProviderURL("http://127.0.0.1:\(port)\(path)"))
                let result: Result<OpenIDResponse, any Error>
                do {
                    result = .success(
                        try await send(
                            OpenIDRequest(url: url, form: "a=b", answerBytesMax: bytes)))
                } catch { result = .failure(error) }
                end()
                return (result, count.number.withLock { $0 })
            }
        }
    }

    private final class Counter: Sendable {
        let number = Mutex(0)
    }

    @Test func `a form is posted, and the response is read`() async throws {
        let (result, _) = try await Self.send("/start") { request in
            let body = try await request.body.collect(upTo: 100)
            let type = request.headers[.contentType] ?? ""
            let text = "\(type) \(String(buffer: body))"
            return Response(
                status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
        }
        let text = String(decoding: try result.get().body, as: UTF8.self)
        #expect(text == "application/x-www-form-urlencoded a=b")
    }

    @Test func `a redirect is not followed`() async throws {
        let (result, requests) = try await Self.send("/start") { _ in
            Response(status: .found, headers: [.location: "/end"])
        }
        #expect(try result.get().status == 302 && requests == 1)
    }

    @Test func `a response over the size limit is refused, even without a Content-Length`()
        async throws
    {
        for isAnnounced in [true, false] {
            let (result, _) = try await Self.send("/start") { _ in
                let bytes = ByteBuffer(repeating: UInt8(ascii: " "), count: 1_001)
                guard !isAnnounced else {
                    return Response(status: .ok, body: ResponseBody(byteBuffer: bytes))
                }
                return Response(
                    status: .ok,
                    body: ResponseBody { writer in
                        try await writer.write(bytes)
                        try await writer.finish(nil)
                    })
            }
            #expect(throws: OpenIDFailure.unreadable("it has more than 1000 bytes")) {
                try result.get()
            }
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a request fails at the time limit if the provider's response never ends`() async throws {
        let (gate, opening) = AsyncStream<Void>.makeStream()
        let (result, _) = try await Self.send(
            "/start", timeout: .milliseconds(50), after: { opening.finish() }
        ) { _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "{"))
                    for await _ in gate { break }
                    try await writer.finish(nil)
                })
        }
        #expect(throws: OpenIDFailure.unavailable("it did not respond within 0.05 seconds")) {
            try result.get()
        }
    }
}
