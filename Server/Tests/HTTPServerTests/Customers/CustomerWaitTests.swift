import Eventually
import Ledger
import PerennialContract
import Synchronization
import Testing

@testable import Engine
@testable import HTTPServer

/// A request may wait until the customer changes.
@Suite struct CustomerWaitTests {
    private static let order = NewGrant(entitlement: "pro", reason: "sorry")

    private func tag(_ server: TestServer) async throws -> String {
        try #require(try await server.send(.get, Paths.customer("anna")).headers[.eTag])
    }

    /// Starts a request, makes the change when the request waits, and returns the answer.
    private func answer(
        _ server: TestServer, wait: Int = 60,
        after change: @escaping @Sendable () async throws -> Void
    ) async throws -> TestServer.Answer {
        let tag = try await tag(server)
        return try await withThrowingTaskGroup(of: TestServer.Answer?.self) { group in
            group.addTask {
                try await server.send(
                    .get, Paths.customer("anna") + "?wait=\(wait)",
                    headers: [.ifNoneMatch: tag])
            }
            try await eventually("the request waits for a change") {
                server.engine.customers.awaitedIDCount > 0
            }
            try await change()
            let answer = try await group.next()
            return try #require(answer ?? nil)
        }
    }

    private func isOpen(_ answer: TestServer.Answer) throws -> Bool {
        try answer.decoded(Customer.self).entitlements["pro"]?.active == true
    }

    @Test func `a grant ends a client's wait, and the server then keeps no state for the wait`()
        async throws
    {
        try await TestServer.run { server in
            let answer = try await answer(server) {
                _ = try await server.engine.grants.add(
                    Self.order, to: "anna", app: "birds", environment: .production)
            }
            #expect(answer.status == 200)
            #expect(try isOpen(answer))
            #expect(server.engine.customers.awaitedIDCount == 0)
        }
    }

    @Test func `a change by another server ends the wait`() async throws {
        try await TestServer.run { server in
            let answer = try await answer(server) {
                _ = try await server.otherEngine.grants.add(
                    Self.order, to: "anna", app: "birds", environment: .production)
            }
            #expect(try isOpen(answer))
        }
    }

    @Test func `a wait ends when access expires, even without a document`() async throws {
        let clock = Mutex(TestServer.now)
        let now: @Sendable () -> Instant = { clock.withLock { $0 } }
        try await TestServer.run(clock: now) { server in
            clock.withLock { $0 = TestServer.now }
            _ = try await server.engine.grants.add(
                NewGrant(entitlement: "pro", until: TestServer.now + .hours(1), reason: "sorry"),
                to: "anna", app: "birds", environment: .production)
            let answer = try await answer(server) {
                clock.withLock { $0 = $0 + .hours(2) }
            }
            #expect(answer.status == 200)
            #expect(try !isOpen(answer))
        }
    }

    @Test func `a waiting request gets 304 if the customer does not change`() async throws {
        try await TestServer.run { server in
            let answer = try await answer(server, wait: 1) {}
            #expect(answer.status == 304)
            #expect(server.engine.customers.awaitedIDCount == 0)
        }
    }

    @Test func `a wait ends when a new configuration comes into force`() async throws {
        try await TestServer.run { server in
            let began = ContinuousClock.now
            let answer = try await answer(server) {
                _ = server.http.replacing(server.engine, refusedKeys: [])
                _ = try await server.engine.grants.add(
                    Self.order, to: "anna", app: "birds", environment: .production)
            }
            #expect(answer.status == 304, "the earlier configuration gives no later answer")
            #expect(ContinuousClock.now - began < .seconds(30))
            #expect(server.engine.customers.awaitedIDCount == 0)
        }
    }

    @Test func `a wait without If-None-Match is answered immediately`() async throws {
        try await TestServer.run { server in
            let answer = try await server.send(.get, Paths.customer("anna") + "?wait=60")
            #expect(answer.status == 200)
        }
    }

    @Test(arguments: ["0", "61", "-1", "x", ""])
    func `a wait must be between 1 and 60 seconds`(wait: String) async throws {
        try await TestServer.run { server in
            let answer = try await server.send(.get, Paths.customer("anna") + "?wait=\(wait)")
            #expect(answer.status == 400)
            #expect(try answer.problem.code == .limitOutOfRange)
            #expect(try answer.problem.title.contains("between 1 and 60"))
        }
    }

    @Test func `waiting requests beyond the limit are refused as busy`() async throws {
        try await TestServer.run(waitsMax: 1) { server in
            let tag = try await tag(server)
            let first = try await answer(server) {
                let second = try await server.send(
                    .get, Paths.customer("anna") + "?wait=60", headers: [.ifNoneMatch: tag])
                #expect(second.status == 503)
                #expect(try second.problem.code == .serverBusy)
                #expect(second.headers[.retryAfter] != nil)
                _ = try await server.engine.grants.add(
                    Self.order, to: "anna", app: "birds", environment: .production)
            }
            #expect(first.status == 200)
        }
    }

    @Test(arguments: ["/v1/customers/anna?wait=60", "/v1/events?wait=60"])
    func `a waiting request gets 401 when its key is revoked`(path: String) async throws {
        try await ListeningServer.run { server in
            let key = "sk_test_birds"
            try await server.engine.keys.add(key: key, app: "birds", kind: .secret, name: "test")
            let connection = try server.connect()
            var fields = "authorization: Bearer \(key)\r\n"
            let known = RequestText.get("/v1/customers/anna", fields)
            let first = try await connection.answers(to: known, count: 1)[0]
            let tag = try #require(first.text.firstMatch(of: /(?i)etag: (\S+)/))
            fields += "if-none-match: \(tag.1)\r\n"
            async let answers = connection.answers(
                to: RequestText.get(path, fields), count: 1)
            try await eventually("the request waits for a change") {
                server.engine.customers.awaitedIDCount > 0
            }
            server.keys.replace(refused: [key])
            _ = try await server.engine.grants.add(
                Self.order, to: "anna", app: "birds", environment: .production)
            #expect(try await answers.map(\.status) == [401])
        }
    }

    @Test func `all waits end when the server stops`() async throws {
        try await ListeningServer.run { server in
            let connection = try server.connect()
            let request = RequestText.get(
                "/v1/customers/anna?wait=60", RequestText.key + "if-none-match: *\r\n")
            try connection.sendAll(request)
            try await eventually("the request waits for a change") {
                server.engine.customers.awaitedIDCount > 0
            }
            let began = ContinuousClock.now
            await server.shutDown()
            try await eventually("the request has stopped waiting") {
                server.engine.customers.awaitedIDCount == 0
            }
            #expect(ContinuousClock.now - began < .seconds(30))
            withExtendedLifetime(connection) {}
        }
    }
}
