import Engine
import Eventually
import HTTPBasics
import Ledger
import Storage
import Testing

@testable import HTTPServer

/// Who may open the streams of live pages, and when the streams end.
@Suite struct OperatorStreamTests {
    private static func open(
        _ path: String, by browser: OperatorBrowser
    ) throws -> Connection {
        let connection = try Connection(to: try #require(browser.server.client.port))
        try connection.sendAll(
            "GET \(path) HTTP/1.1\r\nhost: localhost\r\n"
                + "cookie: \(OperatorServer.cookie)=\(browser.session ?? ""); app=birds\r\n\r\n")
        return connection
    }

    @Test func `after an operator is blocked, an open stream sends that operator nothing more`()
        async throws
    {
        try await OperatorServer.run(on: .live) { server in
            _ = try await server.browser(of: "mira")
            let ben = try await server.browser(of: "ben", OperatorRoles(everywhere: .viewer))
            func grant(to id: CustomerID) async throws {
                _ = try await server.engine.grants.add(
                    NewGrant(entitlement: "pro", reason: "sorry"), to: id, app: "birds",
                    environment: .production)
            }
            try await grant(to: "anna")
            let stream = try Self.open("/live/events", by: ben)
            // An open stream sends the content of the page first.
            _ = try await stream.received(until: "anna")
            try await server.engine.operators.setBlock(true, of: "ben", by: "mira")
            try await grant(to: "lateone")
            // The last chunk of a response is empty.
            let rest = try await stream.received(until: "0\r\n\r\n")
            #expect(!rest.contains("lateone"))
        }
    }

    @Test func `one operator cannot use up all streams`() async throws {
        let limits = EventStreamLimits()
        let streams = StreamPlaces(max: limits.streamsMax)
        let max = limits.streamsOfOperatorMax
        var places: [StreamPlaces.Place] = []
        for _ in 0..<max {
            places.append(try streams.place(for: "ben", max: max))
        }
        #expect(throws: ProblemError.self) { try streams.place(for: "ben", max: max) }
        places.append(try streams.place(for: "mira", max: max))
        places[0].release()
        _ = try streams.place(for: "ben", max: max)
        places = []
        #expect(streams.openCount == 0)
        try await OperatorServer.run(on: .live) { server in
            _ = try await server.browser(of: "mira")
            let ben = try await server.browser(of: "ben", OperatorRoles(everywhere: .viewer))
            let open = try (0...max).map { _ in try Self.open("/live/checks", by: ben) }
            var refused = 0
            for connection in open {
                let text = try await connection.received(until: "\r\n\r\n")
                if text.hasPrefix("HTTP/1.1 503 ") { refused += 1 }
            }
            #expect(refused == 1)
        }
    }
}
