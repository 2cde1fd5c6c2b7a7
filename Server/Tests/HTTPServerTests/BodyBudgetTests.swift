import Engine
import Eventually
import PerennialContract
import Testing

@testable import HTTPServer

/// A limit for the bytes of all bodies in memory. A request beyond the limit is refused.
@Suite struct BodyBudgetTests {
    private static let size = 6_000

    private static func limits(_ all: Int, withoutKey: Int) -> BodyBudgetLimits {
        var limits = BodyBudgetLimits()
        (limits.bytesMax, limits.bytesWithoutKeyMax) = (all, withoutKey)
        limits.reservedBytes = 0
        return limits
    }

    /// A request with a notification in a body of ``size`` bytes.
    private static func posted(_ number: Int, bytes: Int = size) throws -> String {
        let body = RequestText.body(try ListeningServer.notification(number))
        let filler = String(repeating: " ", count: bytes - body.utf8.count)
        return RequestText.post(body: body + filler)
    }

    /// A client that announces a large body, sends ``size`` bytes of it, and then sends nothing.
    private static func silent(
        at path: String = Paths.notifications, in server: ListeningServer
    ) throws -> Connection {
        let connection = try server.connect()
        let head = "POST \(path) HTTP/1.1\r\nhost: birds\r\ncontent-length: 1000000\r\n\r\n"
        try connection.sendAll(head + String(repeating: " ", count: size))
        return connection
    }

    private static func awaitBytes(_ count: Int, in server: ListeningServer) async throws {
        try await awaitUsage(in: server) { $0.bytesWithoutKey == count }
        #expect(server.bodies.usage.bytesWithoutKey == count)
    }

    private static func awaitUsage(
        in server: ListeningServer, _ isThere: (BodyBudget.Usage) -> Bool
    ) async throws {
        try await eventually("the wanted use of the budget") { isThere(server.bodies.usage) }
    }

    /// Runs `body` while the server holds two notifications.
    private static func whileTwoWait(
        within limits: BodyBudgetLimits,
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
            // After that the whole budget is free again.
            let answer = try await server.connect().answers(to: try posted(9), count: 1)[0]
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    private static let purchases = RequestText.post(
        body: #"{"customer_id": "anna"}"#, RequestText.key, to: Paths.purchases)

    @Test func `a body beyond the memory budget is refused, unless its request has a key`()
        async throws
    {
        let limits = Self.limits(10 * Self.size, withoutKey: Self.size * 5 / 2)
        try await Self.whileTwoWait(within: limits) { server in
            let connection = try server.connect()
            let refused = try await connection.answers(to: try Self.posted(3), count: 1)[0]
            #expect(refused.status == 503, "\(refused.text)")
            #expect(refused.body.contains("server_busy"))
            #expect(refused.text.contains(/(?i)retry-after: 30/))
            // The connection stays open. The server understands the body and refuses it because it
            // contains no purchase.
            let keyed = try await connection.answers(to: Self.purchases, count: 1)[0]
            #expect(keyed.status == 400, "\(keyed.text)")
            let metrics = try await connection.answers(
                to: RequestText.get("/metrics", ""), count: 1)[0].text
            #expect(metrics.contains(#"perennial_http_body_bytes{key="none"} \#(2 * Self.size)"#))
            #expect(metrics.contains(#"perennial_http_bodies_refused_total{key="none"} 1"#))
            #expect(metrics.contains(#"perennial_http_bodies_refused_total{key="shown"} 0"#))
        }
    }

    @Test func `if the whole memory budget is used, even a request with a key is refused`()
        async throws
    {
        let limits = Self.limits(2 * Self.size, withoutKey: 2 * Self.size)
        try await Self.whileTwoWait(within: limits) { server in
            let connection = try server.connect()
            let refused = try await connection.answers(to: Self.purchases, count: 1)[0]
            #expect(refused.status == 503, "\(refused.text)")
            #expect(server.bodies.usage.refusedWithKey == 1)
            // A request without a body needs no budget.
            let asked = RequestText.get("/health", "")
            #expect(try await connection.answers(to: asked, count: 1)[0].status == 200)
        }
    }

    @Test func `a body uses the memory budget when bytes arrive, not when the length is announced`()
        async throws
    {
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

    /// The server reads no part of the body, so the body uses none of the budget.
    @Test func `the body of a request without a valid key is not read`() async throws {
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

    @Test func `with the default limits, every connection can send a notification`() {
        let limits = BodyBudgetLimits()
        #expect(limits.bytesWithoutKeyMax / PerennialServer.connectionsMax >= 16_000)
        #expect(limits.bytesMax >= 2 * limits.bytesWithoutKeyMax)
        #expect(limits.bytesMax > 10 * BodyLimit.purchases)
        #expect(limits.receiptBytesMax <= limits.bytesWithoutKeyMax / 2)
        #expect(limits.receiptBytesMax >= 2 * LegacyService.verifyReceiptBytesMax)
        #expect(limits.reservedBytes >= 256 * limits.smallNotificationBytesMax)
    }

    // MARK: - Slow and silent clients

    @Test
    func `if a client stops sending, it is disconnected, and its part of the budget is released`()
        async throws
    {
        var limits = Self.limits(2 * Self.size, withoutKey: 2 * Self.size)
        limits.secondsMax = 5
        try await ListeningServer.run(bodies: limits) { server in
            let silent = try (0..<2).map { _ in
                try Self.silent(in: server)
            }
            try await Self.awaitBytes(2 * Self.size, in: server)
            for connection in silent {
                let answer = try await connection.answers(to: "", count: 1)[0]
                #expect(answer.status == 408 && answer.closes, "\(answer.text)")
                #expect(answer.body.contains("body_too_slow"))
                #expect(answer.body.contains("within 5 seconds"))
                try await connection.awaitEnd()
            }
            try await Self.awaitBytes(0, in: server)
            let answer = try await server.connect().answers(to: try Self.posted(1), count: 1)[0]
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test(arguments: [Paths.verifyReceipt, Paths.sandboxVerifyReceipt])
    func `receipts of the largest size do not cause a notification to be refused`(
        path: String
    ) async throws {
        var limits = Self.limits(3 * Self.size, withoutKey: 3 * Self.size)
        limits.receiptBytesMax = 2 * Self.size
        try await ListeningServer.run(bodies: limits) { server in
            let first = try Self.silent(at: path, in: server)
            try await Self.awaitBytes(Self.size, in: server)
            let second = try Self.silent(at: path, in: server)
            try await Self.awaitBytes(2 * Self.size, in: server)
            let third = try Self.silent(at: path, in: server)
            try await Self.awaitUsage(in: server) {
                $0.refusedWithoutKey == 1 || $0.bytesWithoutKey == 3 * Self.size
            }
            let answer = try await server.connect().answers(to: try Self.posted(1), count: 1)[0]
            #expect(answer.status == 200, "\(answer.text)")
            let refused = try await third.answers(to: "", count: 1)[0]
            #expect(refused.status == 503, "\(refused.text)")
            withExtendedLifetime((first, second)) {}
        }
    }

    @Test func `small notifications have a part of the budget that no other request can use`()
        async throws
    {
        var limits = Self.limits(2 * Self.size, withoutKey: 2 * Self.size)
        (limits.reservedBytes, limits.smallNotificationBytesMax) = (Self.size, Self.size)
        try await ListeningServer.run(bodies: limits) { server in
            let first = try Self.silent(in: server)
            try await Self.awaitBytes(Self.size, in: server)
            let second = try Self.silent(in: server)
            try await Self.awaitBytes(2 * Self.size, in: server)
            let rows = [
                (try Self.posted(1, bytes: Self.size + 1), 503), (Self.purchases, 503),
                (RequestText.post(body: "{}", to: Paths.verifyReceipt), 503),
                // This request announces no length.
                (RequestText.chunked(try ListeningServer.notification(2)), 503),
                (try Self.posted(3), 200),
            ]
            for (request, status) in rows {
                let answer = try await server.connect().answers(to: request, count: 1)[0]
                #expect(answer.status == status, "\(request.prefix(200)) \(answer.text)")
            }
            withExtendedLifetime((first, second)) {}
        }
    }

    // MARK: - verifyReceipt

    @Test(arguments: [Paths.verifyReceipt, Paths.sandboxVerifyReceipt])
    func `verifyReceipt does not exist if no app accepts receipts`(path: String) async throws {
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
