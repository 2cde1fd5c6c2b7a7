import Eventually
import Ledger
import PerennialContract
import Testing

@testable import Engine
@testable import HTTPServer

/// A request for events that waits is answered when there are some.
@Suite struct EventWaitTests {
    private static let order = NewGrant(entitlement: "pro", reason: "sorry")

    private static func grant(to customer: CustomerID, by engine: Engine) async throws {
        _ = try await engine.grants.add(order, to: customer, app: "birds", environment: .production)
    }

    private func events(_ server: TestServer, _ query: String) async throws -> TestServer.Answer {
        try await server.send(.get, Paths.events + query, key: TestServer.secret)
    }

    /// Asks, waits until the request waits, makes a change, and returns the answer.
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

    @Test func `an event is answered while the client waits, and nothing is held afterwards`()
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

    @Test func `what another server writes is noticed, too`() async throws {
        try await TestServer.run { server in
            let answer = try await answer(server, "?wait=60&after=") {
                try await Self.grant(to: "anna", by: server.otherEngine)
            }
            #expect(try answer.decoded(EventList.self).items.map(\.customerID) == ["anna"])
        }
    }

    @Test func `events of somebody else do not end a wait for those of a customer`() async throws {
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

    @Test func `events that are there are answered at once`() async throws {
        // A request that had to wait would be refused.
        try await TestServer.run(waitsMax: 0) { server in
            try await Self.grant(to: "anna", by: server.engine)
            let answer = try await events(server, "?wait=60")
            #expect(try answer.decoded(EventList.self).items.count == 1)
        }
    }

    @Test func `a wait in vain ends with an empty list and the same cursor`() async throws {
        try await TestServer.run { server in
            try await Self.grant(to: "anna", by: server.engine)
            let answer = try await events(server, "?wait=1&after=1")
            let list: EventList = try answer.decoded()
            #expect(answer.status == 200)
            #expect(list == EventList(items: [], nextCursor: "1"))
        }
    }

    @Test(arguments: ["0", "61", "x"])
    func `a wait is a number of seconds from 1 to 60`(wait: String) async throws {
        try await TestServer.run { server in
            let answer = try await events(server, "?wait=\(wait)")
            #expect(try answer.problem.code == .limitOutOfRange)
        }
    }

    @Test func `more waiting requests than the limit are told to come later`() async throws {
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
