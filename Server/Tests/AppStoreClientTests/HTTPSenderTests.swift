import AppStoreFormats
import AsyncHTTPClient
import Foundation
import Hummingbird
import Logging
import OutgoingHTTP
import Testing

@testable import AppStoreClient

/// Sends requests over the loopback to a server that misbehaves in a different way on each path.
@Suite(.serialized) struct HTTPSenderTests {
    private typealias Send = @Sendable (AppStoreRequest) async throws -> AppStoreResponse

    private static func request(_ path: String) -> AppStoreRequest {
        AppStoreRequest(
            method: "PUT", path: path, query: [("a", "1"), ("b", "ä/ +&="), ("c[d]", "")],
            authorization: "Bearer t", body: Array("{}".utf8), environment: .sandbox)
    }

    private static var router: Router<BasicRequestContext> {
        let router = Router()
        router.put("/sandbox/echo") { request, _ in
            let body = try await request.body.collect(upTo: 100)
            let lines = [
                request.uri.path, request.uri.query ?? "", request.headers[.authorization] ?? "",
                request.headers[.contentType] ?? "", String(buffer: body),
            ]
            return Response(
                status: .tooManyRequests, headers: [.retryAfter: "1767268830000"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: lines.joined(separator: "\n"))))
        }
        router.put("/sandbox/redirect") { _, _ in
            Response(status: .temporaryRedirect, headers: [.location: "/sandbox/echo"])
        }
        router.put("/sandbox/long") { _, _ in
            let bytes = ByteBuffer(repeating: 0x20, count: AppStoreResponse.bodyBytesMax + 1)
            return Response(status: .ok, body: ResponseBody(byteBuffer: bytes))
        }
        router.put("/sandbox/endless") { _, _ in
            let body = ResponseBody { writer in
                try await writer.write(ByteBuffer(string: "{"))
                try? await Task.sleep(for: .seconds(3))
                try await writer.finish(nil)
            }
            return Response(status: .ok, body: body)
        }
        return router
    }

    private func withServer(
        timeout: Duration = .seconds(120), _ body: @escaping @Sendable (Send) async throws -> Void
    ) async throws {
        let (ports, sink) = AsyncStream.makeStream(of: Int.self)
        let app = Application(
            router: Self.router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { sink.yield($0.localAddress?.port ?? 0) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: .withoutRedirects)
        let result = await withTaskGroup(returning: Result<Void, any Error>.self) { tasks in
            tasks.addTask { try? await app.run() }
            defer { tasks.cancelAll() }
            do {
                var listening = ports.makeAsyncIterator()
                let port = await listening.next() ?? 0
                let hosts = AppStoreHosts.simulator("http://127.0.0.1:\(port)/")
                try await body(httpSender(client, hosts: hosts, timeout: timeout))
                return .success(())
            } catch { return .failure(error) }
        }
        try await client.shutdown()
        try result.get()
    }

    @Test func `a request arrives at the server unchanged`() async throws {
        try await withServer { send in
            let answer = try await send(Self.request("/echo"))
            #expect(answer.status == 429 && answer.retryAfter == "1767268830000")
            #expect(
                String(decoding: answer.body, as: UTF8.self).split(separator: "\n") == [
                    "/sandbox/echo", "a=1&b=%C3%A4%2F%20%2B%26%3D&c%5Bd%5D=", "Bearer t",
                    "application/json", "{}",
                ])
        }
    }

    @Test func `a response has the date at which it was written`() async throws {
        try await withServer { send in
            let before = Date.now.timeIntervalSince1970
            let answer = try await send(Self.request("/echo"))
            let written = Double(try #require(answer.date).milliseconds) / 1000
            // The date has whole seconds, and the server updates it once a second.
            #expect((before - 5...Date.now.timeIntervalSince1970).contains(written))
        }
    }

    @Test func `a token is not sent to the target of a redirect`() async throws {
        try await withServer { send in
            let answer = try await send(Self.request("/redirect"))
            #expect(answer.status == 307)
        }
    }

    @Test func `a response that exceeds the limit is not read to its end`() async throws {
        try await withServer { send in
            await #expect(
                throws: AppStoreFailure.unreadable(
                    "a response of more than \(AppStoreResponse.bodyBytesMax) bytes")
            ) { try await send(Self.request("/long")) }
        }
    }

    @Test func `if the body of a response never ends, the response fails after the timeout`()
        async throws
    {
        let timeout = Duration.milliseconds(300)
        try await withServer(timeout: timeout) { send in
            await #expect(
                throws: AppStoreFailure.unavailable("no complete response within \(timeout)")
            ) { try await send(Self.request("/endless")) }
        }
    }

    @Test func `a refused connection throws an error`() async throws {
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: .withoutRedirects)
        // Nothing listens on port 1.
        let send = httpSender(client, hosts: .simulator("http://127.0.0.1:1"))
        await #expect(throws: (any Error).self) { try await send(Self.request("/echo")) }
        try await client.shutdown()
    }
}
