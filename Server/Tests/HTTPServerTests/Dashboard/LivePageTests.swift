import Eventually
import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

@Suite struct LivePageTests {
    /// Streams end by themselves after two seconds, so a test can read a whole stream.
    private static let short: EventStreamLimits = {
        var limits = EventStreamLimits()
        limits.pageLifeMax = .seconds(2)
        limits.streamsMax = 2
        return limits
    }()

    /// The address of a page's stream, which sends the changes since the page was sent.
    private func source(of path: String, in server: DashboardServer) async throws -> String {
        let page = try await server.get(path)
        let source = try #require(page.text.firstMatch(of: /data-source="([^"]+)"/)).1
        return String(source).replacing("&amp;", with: "&")
    }

    @Test(arguments: ["/", "/customers/anna", "/events"])
    func `the stream of a page sends only what has changed since the page was sent`(
        path: String
    ) async throws {
        try await DashboardServer.run(on: .live, streams: Self.short) { server in
            try await server.buy("anna", transaction: "7001")
            let source = try await source(of: path, in: server)
            let quiet = try await server.get(source)
            #expect(quiet.status == 200)
            #expect(quiet.headers[.contentType] == "text/event-stream")
            #expect(quiet.text.hasPrefix("retry:"))
            #expect(!quiet.text.contains("data:"), "\(quiet.text)")
            _ = try await server.post(
                "/customers/anna/grants", ["entitlement": "pro", "reason": "sorry"])
            let lively = try await server.get(source)
            #expect(lively.text.contains("data: {\"id\":"), "\(lively.text)")
        }
    }

    @Test func `an open stream sends new events`() async throws {
        try await DashboardServer.run(on: .live, streams: Self.short) { server in
            var purchases = 0
            // On a busy machine, a stream may end before the purchase is recorded. In that case,
            // the loop opens another stream, and another customer buys.
            try await eventually("an event in the stream") {
                purchases += 1
                let source = try await source(of: "/events", in: server)
                async let stream = server.get(source)
                try await server.buy("ben\(purchases)", transaction: "\(7000 + purchases)")
                let text = try await stream.text
                return text.contains("\"id\":\"events\"") && text.contains("ben\(purchases)")
            }
        }
    }

    @Test(arguments: ["/webhooks", "/notifications", "/checks"])
    func `pages about data without events also have live streams`(path: String) async throws {
        try await DashboardServer.run(on: .live, streams: Self.short) { server in
            let source = try await source(of: path, in: server)
            #expect(try await server.get(source).status == 200)
        }
    }

    @Test func `streams beyond the limit are refused`() async throws {
        var limits = Self.short
        limits.streamsMax = 0
        try await DashboardServer.run(streams: limits) { server in
            let source = try await source(of: "/events", in: server)
            let page = try await server.get(source)
            #expect(page.text.contains("server_busy"), "\(page.status)")
        }
    }

    @Test func `the page that answers a form has no stream`() async throws {
        try await DashboardServer.run { server in
            let page = try await server.post(
                "/webhooks", ["url": "http://127.0.0.1:9/hook", "format": "perennial"])
            #expect(page.text.contains("The secret is shown once."), "\(page.text)")
            #expect(!page.text.contains("data-source"))
        }
    }
}
