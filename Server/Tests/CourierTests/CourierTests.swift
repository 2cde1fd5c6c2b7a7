import Eventually
import Foundation
import Hummingbird
import Logging
import NIOCore
import Testing

@testable import Courier

/// Records the headers of the posts that a receiver got.
private actor Desk {
    var seen: [HTTPFields] = []
    func add(_ headers: HTTPFields) { seen.append(headers) }
}

@Suite(.timeLimit(.minutes(5))) struct CourierTests {
    private let secret = WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

    /// Runs a receiver on its own port, whose responses `respond` returns.
    private func withReceiver(
        _ respond: @escaping @Sendable (Request) async throws -> Response,
        _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        let router = Router()
        router.post("**") { request, _ in try await respond(request) }
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let (ports, sink) = AsyncStream.makeStream(of: Int.self)
        let app = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { sink.yield($0.localAddress?.port ?? 0) }, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await app.run() }
            try await body(try await ports.first("the port"))
            tasks.cancelAll()
        }
    }

    private func courier(
        _ rules: HostRules = HostRules(
            plainHosts: ["localhost", "127.0.0.1"], allowsLoopback: true),
        resolve: @escaping @Sendable (String) throws -> [IPAddress] = { try HostRules.resolve($0) },
        timeout: Duration = Courier.timeout, bodyTimeout: Duration = Courier.bodyTimeout
    ) -> Courier {
        Courier(
            rules: rules, timeout: timeout, bodyTimeout: bodyTimeout, resolve: resolve,
            time: { 1_614_265_330 })
    }

    private func parcel(_ url: String, authorization: String? = nil) throws -> Courier.Parcel {
        Courier.Parcel(
            url: url, id: "birds_evt_1", body: Array("{}".utf8),
            secrets: [try #require(secret), try #require(secret)], authorization: authorization)
    }

    @Test func `a post has the headers of Standard Webhooks, and a signature for each secret`()
        async throws
    {
        let desk = Desk()
        try await withReceiver { request in
            await desk.add(request.headers)
            return Response(status: .ok)
        } _: { port in
            let outcome = await courier().post(
                try parcel("http://localhost:\(port)/hooks?x=1", authorization: "Bearer a"))
            #expect(outcome == .answer(status: 200, body: "", retryAfter: nil))
        }
        let headers = try #require(await desk.seen.first)
        let signature = try #require(secret).signature(
            id: "birds_evt_1", timestamp: 1_614_265_330, body: Array("{}".utf8))
        #expect(headers[.init("webhook-id")!] == "birds_evt_1")
        #expect(headers[.init("webhook-timestamp")!] == "1614265330")
        #expect(headers[.init("webhook-signature")!] == "\(signature) \(signature)")
        #expect(headers[.authorization] == "Bearer a")
        #expect(headers[.contentType] == "application/json")
    }

    @Test func `a redirect is a response and is not followed`() async throws {
        let desk = Desk()
        try await withReceiver { request in
            await desk.add(request.headers)
            return Response(
                status: .found, headers: [.location: "http://169.254.169.254/latest"])
        } _: { port in
            let outcome = await courier().post(try parcel("http://127.0.0.1:\(port)/x"))
            #expect(outcome == .answer(status: 302, body: "", retryAfter: nil))
        }
        #expect(await desk.seen.count == 1)
    }

    @Test
    func `only the beginning of a response is stored, without the webhook's secrets`()
        async throws
    {
        let text = try #require(secret).text
        try await withReceiver { _ in
            Response(
                status: .serviceUnavailable, headers: [.retryAfter: "120"],
                body: ResponseBody(
                    byteBuffer: ByteBuffer(
                        string: "no \(text)\0 Bearer a "
                            + String(repeating: "x", count: 100_000))))
        } _: { port in
            let outcome = await courier().post(
                try parcel("http://127.0.0.1:\(port)/x", authorization: "Bearer a"))
            guard case .answer(let status, let body, let retryAfter) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(status == 503 && retryAfter == .seconds(120))
            #expect(body.hasPrefix("no … … xxx") && body.utf8.count <= Courier.answerBytesMax)
        }
    }

    /// The receiver sends the machine's time as `Date`. The courier's own clock is years behind.
    @Test func `a receiver can name the earliest time of the next post`() async throws {
        try await withReceiver { _ in
            let end = Self.httpDate(Date(timeIntervalSinceNow: 3_600))
            return Response(status: .tooManyRequests, headers: [.retryAfter: end])
        } _: { port in
            let outcome = await courier().post(try parcel("http://127.0.0.1:\(port)/x"))
            guard case .answer(status: 429, body: "", retryAfter: let retryAfter?) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            let off = abs(retryAfter.components.seconds - 3_600)
            #expect(off <= 60, "\(retryAfter)")
        }
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    private static func httpDate(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: date)
    }

    @Test func `if a post gets no response, it ends at the time limit`() async throws {
        try await withReceiver { _ in
            try await Task.sleep(for: .seconds(60))
            return Response(status: .ok)
        } _: { port in
            let outcome = await courier(timeout: .milliseconds(200)).post(
                try parcel("http://127.0.0.1:\(port)/x"))
            #expect(outcome == .failure("no response within 0.2 seconds"))
        }
    }

    /// An attempt ends at the earlier of two limits: that of the body, or that of the whole
    /// attempt.
    @Test(arguments: [(15, 1), (3, 60)])
    func `the status of a response is kept even if its body never ends`(
        seconds: Int, bodySeconds: Int
    ) async throws {
        let (gate, opening) = AsyncStream<Void>.makeStream()
        try await withReceiver { _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "begun"))
                    for await _ in gate {}
                    try await writer.finish(nil)
                })
        } _: { port in
            defer { opening.finish() }
            let courier = courier(
                timeout: .seconds(seconds), bodyTimeout: .seconds(bodySeconds))
            let outcome = await courier.post(try parcel("http://127.0.0.1:\(port)/x"))
            #expect(outcome == .answer(status: 200, body: "begun", retryAfter: nil))
        }
    }

    /// The address of a host name can change between the check and the connection.
    @Test func `a post goes to the address that was checked`() async throws {
        let desk = Desk()
        let own = try #require(IPAddress("127.0.0.1"))
        try await withReceiver { request in
            await desk.add(request.headers)
            return Response(status: .ok)
        } _: { port in
            // No resolver knows this name, so a second lookup would fail.
            let courier = courier(
                HostRules(
                    privateHosts: ["nowhere.invalid"], plainHosts: ["nowhere.invalid"]),
                resolve: { _ in [own] })
            let outcome = await courier.post(try parcel("http://nowhere.invalid:\(port)/x"))
            #expect(outcome == .answer(status: 200, body: "", retryAfter: nil))
        }
        #expect(await desk.seen.count == 1)
    }

    @Test(arguments: [
        "https://localhost:PORT/", "https://127.0.0.1:PORT/", "https://2130706433:PORT/",
        "https://0x7f000001:PORT/", "https://0x7f.1:PORT/", "https://[::1]:PORT/",
        "https://[::ffff:127.0.0.1]:PORT/", "https://[fc00::1]:PORT/",
        "https://169.254.169.254/latest/meta-data", "http://example.com/",
        "http://127.0.0.1:PORT/", "https://resolves-to-this-machine.invalid:PORT/",
    ])
    func `a private address is refused unless the configuration lists the host`(
        url: String
    ) async throws {
        let own = try #require(IPAddress("127.0.0.1"))
        let courier = courier(HostRules()) { host in
            host.hasSuffix(".invalid") ? [own] : try HostRules.resolve(host)
        }
        let outcome = await courier.post(try parcel(url.replacing("PORT", with: "9")))
        guard case .failure(let reason) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reason.hasSuffix("which is not public") || reason == "the address is without TLS")
    }
}
