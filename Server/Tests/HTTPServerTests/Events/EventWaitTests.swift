import Eventually
import Ledger
import PerennialContract
import Testing

@testable import Engine
@testable import HTTPServer

/// A request for events may wait until there is an event.
@Suite struct EventWaitTests {
    private static let order = NewGrant(entitlement: "pro", reason: "sorry")

    private static func grant(to customer: CustomerID, by engine: Engine) async throws {
        _ = try await engine.grants.add(order, to: customer, app: "birds", environment: .production)
    }

    private func events(_ server: TestServer, _ query: String) async throws -> TestServer.Answer {
        try await server.send(.get, Paths.events + query, key: TestServer.secret)
    }

    /// Starts a request, makes the change when the request waits, and returns the answer.
    private func answer(
        _ server: TestServer, _ query: String,
        after change: @escaping @Sendable () async throws -> Void
    ) async throws -> TestServer.Answer {
        async let answer = events(server, query)
        try await eventually("the request waits for events") {
            server.engine.customers.awaitedIDCount > 0
        }
        try await change()
        return try await answer
    }

    @Test func `an event ends a client's wait, and the server then keeps no state for the wait`()
        async throws
    {
        try await TestServer.run { server in
            let answer = try await answer(server, "?wait=60") {
                try await Self.grant(to: "anna", by: server.engine)
            }
            let list: EventList = try answer.decoded()
            #expect(list.items.map(\.type) == [.granted])
            #expect(list.nextCursor == "1")
            #expect(server.engine.customers.awaitedIDCount == 0)
        }
    }

    @Test func `an event from another server ends the wait`() async throws {
        try await TestServer.run { server in
            let answer = try await answer(server, "?wait=60&after=") {
                try await Self.grant(to: "anna", by: server.otherEngine)
            }
            #expect(try answer.decoded(EventList.self).items.map(\.customerID) == ["anna"])
        }
    }

    @Test func `a request that waits for one customer's events ignores other customers' events`()
        async throws
    {
        try await TestServer.run { server in
            let answer = try await answer(server, "?wait=60&customer_id=anna") {
                try await Self.grant(to: "ben", by: server.engine)
                try await Self.grant(to: "anna", by: server.engine)
            }
            let list: EventList = try answer.decoded()
            #expect(list.items.map(\.customerID) == ["anna"])
            #expect(list.nextCursor == "2")
        }
    }

    @Test func `existing events are returned immediately`() async throws {
        // If the request had to wait, the server would refuse it.
        try await TestServer.run(waitsMax: 0) { server in
            try await Self.grant(to: "anna", by: server.engine)
            let answer = try await events(server, "?wait=60")
            #expect(try answer.decoded(EventList.self).items.count == 1)
        }
    }

    @Test func `a waiting request gets an empty list and the same cursor if no event comes`()
        async throws
    {
        try await TestServer.run { server in
            try await Self.grant(to: "anna", by: server.engine)
            let answer = try await events(server, "?wait=1&after=1")
            let list: EventList = try answer.decoded()
            #expect(answer.status == 200)
            #expect(list == EventList(items: [], nextCursor: "1"))
        }
    }

    @Test(arguments: ["0", "61", "x"])
    func `a wait must be between 1 and 60 seconds`(wait: String) async throws {
        try await TestServer.run { server in
            let answer = try await events(server, "?wait=\(wait)")
            #expect(try answer.problem.code == .limitOutOfRange)
        }
    }

    @Test func `waiting requests beyond the limit are refused as busy`() async throws {
        try await TestServer.run(waitsMax: 1) { server in
            _ = try await answer(server, "?wait=60") {
                let second = try await events(server, "?wait=60")
                #expect(second.status == 503)
                #expect(try second.problem.code == .serverBusy)
                try await Self.grant(to: "anna", by: server.engine)
            }
        }
    }
}
