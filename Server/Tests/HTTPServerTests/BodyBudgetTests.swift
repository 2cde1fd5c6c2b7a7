import Engine
import PerennialContract
import Testing

@testable import HTTPServer

/// How many bytes of bodies are held, and what happens to who brings more.
@Suite struct BodyBudgetTests {
    private static let size = 6_000

    private static func limits(_ all: Int, withoutKey: Int) -> BodyLimits {
        var limits = BodyLimits()
        (limits.bytesMax, limits.bytesWithoutKeyMax) = (all, withoutKey)
        return limits
    }

    /// A notification in a body of ``size`` bytes.
    private static func posted(_ number: Int) throws -> String {
        let body = RequestText.body(try ListeningServer.notification(number))
        let filler = String(repeating: " ", count: size - body.utf8.count)
        return RequestText.post(body: body + filler)
    }

    private static func awaitBytes(_ count: Int, in server: ListeningServer) async throws {
        for _ in 0..<10_000 where server.bodies.usage.bytesWithoutKey != count {
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(server.bodies.usage.bytesWithoutKey == count)
    }

    /// Holds two notifications in the server while a body runs.
    private static func whileTwoWait(
        within limits: BodyLimits,
        _ body: @escaping @Sendable (ListeningServer) async throws -> Void
    ) async throws {
        try await ListeningServer.run(bodies: limits) { server in
            let opening = server.database.holdWrites()
            let waiting = try (0..<2).map { _ in try server.connect() }
            for (number, connection) in waiting.enumerated() {
                try connection.sendAll(try posted(number))
            }
            try await awaitBytes(2 * size, in: server)
            try await body(server)
            opening.finish()
            for connection in waiting {
                #expect(try await connection.answers(to: "", count: 1)[0].status == 200)
            }
            try await awaitBytes(0, in: server)
            // Then there is room again.
            let answer = try await server.connect().answers(to: try posted(9), count: 1)[0]
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    private static let purchases = RequestText.post(
        body: #"{"customer_id": "anna"}"#, RequestText.key, to: Paths.purchases)

    @Test func `one body too many is refused, and who has a key is not`() async throws {
        let limits = Self.limits(10 * Self.size, withoutKey: Self.size * 5 / 2)
        try await Self.whileTwoWait(within: limits) { server in
            let connection = try server.connect()
            let refused = try await connection.answers(to: try Self.posted(3), count: 1)[0]
            #expect(refused.status == 503, "\(refused.text)")
            #expect(refused.body.contains("server_busy"))
            #expect(refused.text.contains(/(?i)retry-after: 30/))
            // The connection goes on; the body is understood, and holds no purchase.
            let keyed = try await connection.answers(to: Self.purchases, count: 1)[0]
            #expect(keyed.status == 400, "\(keyed.text)")
            let metrics = try await connection.answers(
                to: RequestText.get("/metrics", ""), count: 1)[0].text
            #expect(metrics.contains(#"perennial_http_body_bytes{key="none"} \#(2 * Self.size)"#))
            #expect(metrics.contains(#"perennial_http_bodies_refused_total{key="none"} 1"#))
            #expect(metrics.contains(#"perennial_http_bodies_refused_total{key="shown"} 0"#))
        }
    }

    @Test func `where all is held, who has a key is refused, too`() async throws {
        let limits = Self.limits(2 * Self.size, withoutKey: 2 * Self.size)
        try await Self.whileTwoWait(within: limits) { server in
            let connection = try server.connect()
            let refused = try await connection.answers(to: Self.purchases, count: 1)[0]
            #expect(refused.status == 503, "\(refused.text)")
            #expect(server.bodies.usage.refusedWithKey == 1)
            // Without a body nothing is counted.
            let asked = RequestText.get("/health", "")
            #expect(try await connection.answers(to: asked, count: 1)[0].status == 200)
        }
    }

    @Test func `bytes are counted as they come, not as they are announced`() async throws {
        let limits = Self.limits(2 * Self.size, withoutKey: 2 * Self.size)
        try await ListeningServer.run(bodies: limits) { server in
            let slow = try server.connect()
            let posted = try Self.posted(1)
            let head = "POST /apple/notifications HTTP/1.1\r\nhost: birds\r\n"
            try slow.sendAll(head + "content-length: 1000000\r\n\r\n")
            try slow.sendAll(String(repeating: " ", count: 100))
            try await Self.awaitBytes(100, in: server)
            let answer = try await server.connect().answers(to: posted, count: 1)[0]
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    /// Nothing of the body is read, so that nothing of it is counted.
    @Test func `without a key the body is not read`() async throws {
        try await ListeningServer.run { server in
            let connection = try server.connect()
            let head =
                "POST /v1/purchases HTTP/1.1\r\nhost: birds\r\ncontent-length: 4000000\r\n"
                + "authorization: Bearer pk_other\r\n\r\n"
            try connection.sendAll(head + String(repeating: " ", count: 1_000))
            #expect(try await connection.answers(to: "", count: 1)[0].status == 401)
            #expect(server.bodies.usage == BodyBudget.Usage())
        }
    }

    @Test func `the usual limits let every connection bring a notification`() {
        let limits = BodyLimits()
        #expect(limits.bytesWithoutKeyMax / PerennialServer.connectionsMax >= 16_000)
        #expect(limits.bytesMax >= 2 * limits.bytesWithoutKeyMax)
        #expect(limits.bytesMax > 10 * BodyLimit.purchasesBytesMax)
    }

    // MARK: - verifyReceipt

    @Test(arguments: [Paths.verifyReceipt, Paths.sandboxVerifyReceipt])
    func `there is no verifyReceipt where no app takes receipts`(path: String) async throws {
        var (birds, cats) = (ListeningServer.birds, ListeningServer.cats)
        birds.acceptsLegacy = false
        let asked = RequestText.post(body: "{}", to: path)
        try await ListeningServer.run(birds, beside: [cats]) { server in
            let answer = try await server.connect().answers(to: asked, count: 1)[0]
            #expect(answer.status == 200, "\(answer.text)")
        }
        cats.acceptsLegacy = false
        try await ListeningServer.run(birds, beside: [cats]) { server in
            let answer = try await server.connect().answers(to: asked, count: 1)[0]
            #expect(answer.status == 404 && answer.body.contains("route_unknown"))
        }
    }
}
