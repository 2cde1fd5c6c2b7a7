import Ledger
import Testing

@testable import Engine
@testable import HTTPServer
@testable import Storage

/// The pages of a customer who has more events than a page reads.
@Suite struct LongHistoryTests {
    private static let renewals = 10_000

    /// Runs a server on which anna bought a month and has 10,000 renewals.
    private func withServer(
        _ body: @escaping @Sendable (DashboardServer) async throws -> Void
    ) async throws {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let entry = EventEntry(
                app: "birds", customer: "anna", purchase: nil,
                change: Change(.renewed, at: TestServer.now), knownAt: TestServer.now,
                cause: .request)
            try await server.engine.context.transaction { tx in
                try tx.events.append(Array(repeating: entry, count: Self.renewals))
            }
            try await body(server)
        }
    }

    @Test func `the page of a customer shows the latest events and the blocked purchases`()
        async throws
    {
        try await withServer { server in
            let end = "/customers/anna/blocks/7001/end"
            #expect(try await !server.get("/customers/anna").text.contains(end))
            let form = ["original_transaction_id": "7001", "reason": "x"]
            #expect(try await server.post("/customers/anna/blocks", form).status == 303)
            let kept = try await server.get("/customers/anna").text
            #expect(kept.contains(end) && kept.contains("<code><bdi>blocked</bdi></code>"))
            let move = ["query": "7001", "reason": "x"]
            let found = try await server.post("/customers/ben/transfers", move).text
            #expect(found.contains("Support keeps it with this customer."))
            #expect(try await server.post(end).status == 303)
            #expect(try await !server.get("/customers/anna").text.contains(end))
        }
    }

    @Test func `all events of a customer are counted`() async throws {
        try await withServer { server in
            var (count, place) = (0, Int64(0))
            while true {
                let events = try await server.engine.events.list(
                    of: "birds", customer: "anna", after: place, limit: EventService.eventsMax)
                guard let last = events.last else { break }
                (count, place) = (count + events.count, last.sequence)
            }
            #expect(count > Self.renewals)
            let page = try await server.get("/customers/anna").text
            let digits = "10,\(String(count).suffix(3))"
            #expect(page.contains("In \(digits) events their id is replaced by a pseudonym"))
        }
    }

    @Test func `a customer's events are listed newest first, and all can be reached`()
        async throws
    {
        try await withServer { server in
            let last = try await server.engine.events.lastLogPosition(of: "birds").sequence
            let first = try await server.get("/events?customer_id=anna").text
            #expect(first.contains("id=\"event-\(last)\""))
            // The event of the link is older than all events that the first page reads.
            let path = "/events?customer_id=anna&what=ownership"
            var page = try await server.get(path).text
            #expect(page.contains("Look further back"))
            let cursor = try Regex("cursor=([0-9]+)", as: (Substring, Substring).self)
            let place = try #require(page.firstMatch(of: cursor)).1
            page = try await server.get("\(path)&cursor=\(place)").text
            #expect(page.contains("id=\"event-") && page.contains("linked"))
            #expect(!page.contains(">Older</a>"))
        }
    }
}
