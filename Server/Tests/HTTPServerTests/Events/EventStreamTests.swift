import Eventually
import Ledger
import PerennialContract
import Testing

@testable import Engine
@testable import HTTPServer

/// The log of events as a stream of server-sent events.
@Suite struct EventStreamTests {
    private static let secret = "authorization: Bearer sk_test_birds\r\n"

    private static func grant(to customer: CustomerID, by engine: Engine) async throws {
        _ = try await engine.grants.add(
            NewGrant(entitlement: "pro", reason: "sorry"), to: customer, app: "birds",
            environment: .production)
    }

    private func stream(
        _ server: TestServer, _ query: String, lastID: String? = nil
    ) async throws -> TestServer.Answer {
        try await server.send(
            .get, Paths.eventStream + query, key: TestServer.secret,
            headers: lastID.map { [.wellFormed("last-event-id"): $0] } ?? [:])
    }

    /// The values of a field in all events of a stream.
    private func values(_ name: String, _ text: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix("\(name): ") }
            .map { String($0.dropFirst(name.count + 2)) }
    }

    /// Runs a server with a secret key, and a client that has opened a stream.
    private static func withStream(
        _ limits: EventStreamLimits = EventStreamLimits(), _ query: String = "",
        _ body: @escaping @Sendable (ListeningServer, Connection) async throws -> Void
    ) async throws {
        try await ListeningServer.run(streams: limits) { server in
            try await server.engine.keys.add(
                key: "sk_test_birds", app: "birds", kind: .secret, name: "test")
            let connection = try server.connect()
            try connection.sendAll(RequestText.get(Paths.eventStream + query, secret))
            try await body(server, connection)
            withExtendedLifetime(connection) {}
        }
    }

    @Test func `each event has its cursor, its type, and the same JSON as in the list`()
        async throws
    {
        try await TestServer.run { server in
            try await Self.grant(to: "anna", by: server.engine)
            try await Self.grant(to: "ben", by: server.engine)
            let answer = try await stream(server, "?limit=2")
            #expect(answer.headers[.contentType] == "text/event-stream")
            #expect(answer.text.hasPrefix("retry: 1000\n\nid: 1\nevent: granted\ndata: {"))
            #expect(answer.text.hasSuffix("}\n\n"))
            let list = try await server.send(.get, Paths.events, key: TestServer.secret)
            let items = "[" + values("data", answer.text).joined(separator: ",") + "]"
            #expect(list.text == #"{"items":\#(items),"next_cursor":"2"}"# + "\n")
        }
    }

    @Test func `if a client reconnects, its stream continues after its last event`() async throws {
        try await TestServer.run { server in
            for customer in ["anna", "ben", "anna"] as [CustomerID] {
                try await Self.grant(to: customer, by: server.engine)
            }
            let rows: [(query: String, last: String?, ids: [String])] = [
                ("?limit=1", nil, ["1"]), ("?limit=1", "1", ["2"]),
                ("?limit=1&after=1", nil, ["2"]),
                ("?limit=1&after=1", "2", ["3"]), ("?limit=1&after=1", "", ["2"]),
                ("?limit=2&customer_id=anna", nil, ["1", "3"]),
                ("?limit=1&customer_id=anna", "1", ["3"]),
            ]
            for (query, last, ids) in rows {
                let answer = try await stream(server, query, lastID: last)
                #expect(values("id", answer.text) == ids, "\(query) \(last ?? "-")")
            }
        }
    }

    @Test func `an open stream sends later events when they happen, whichever server records them`()
        async throws
    {
        try await TestServer.run { server in
            async let answer = stream(server, "?limit=2")
            try await eventually("the stream waits for events") {
                server.engine.customers.awaitedIDCount > 0
            }
            try await Self.grant(to: "anna", by: server.engine)
            try await Self.grant(to: "ben", by: server.otherEngine)
            #expect(values("id", try await answer.text) == ["1", "2"])
            try await eventually("the stream has stopped waiting") {
                server.engine.customers.awaitedIDCount == 0
            }
        }
    }

    @Test func `an invalid request for a stream gets a problem`() async throws {
        try await TestServer.run { server in
            let rows: [(query: String, last: String?, ProblemCode)] = [
                ("?after=x", nil, .cursorUnknown), ("?after=7", nil, .cursorUnknown),
                ("", "7", .cursorUnknown), ("?limit=0", nil, .limitOutOfRange),
            ]
            for (query, last, code) in rows {
                let answer = try await stream(server, query, lastID: last)
                #expect(try answer.problem.code == code, "\(query)")
            }
            let withAppKey = try await server.send(.get, Paths.eventStream)
            #expect(try withAppKey.problem.code == .keyNotSecret)
        }
    }

    @Test func `streams beyond the limit are refused, and HEAD opens no stream`() async throws {
        var limits = EventStreamLimits()
        limits.streamsMax = 1
        try await Self.withStream(limits) { server, connection in
            _ = try await connection.received(until: "retry: 1000")
            let other = try server.connect()
            let refused = try await other.answers(
                to: RequestText.get(Paths.eventStream, Self.secret), count: 1)
            #expect(refused.map(\.status) == [503])
            #expect(refused[0].body.contains("At most 1 are open"))
        }
        try await TestServer.run(streams: limits) { server in
            for _ in 0..<2 {
                let head = try await server.send(
                    .head, Paths.eventStream, key: TestServer.secret)
                #expect(head.status == 200)
            }
        }
    }

    @Test func `a stream without events sends comments`() async throws {
        var limits = EventStreamLimits()
        limits.commentPause = .zero
        try await Self.withStream(limits) { server, connection in
            let text = try await connection.received(until: ": nothing new\n\n")
            #expect(!text.contains("data:"))
        }
    }

    @Test func `a stream ends soon after its key is revoked`() async throws {
        var limits = EventStreamLimits()
        limits.keyPause = .zero
        try await Self.withStream(limits) { server, connection in
            _ = try await connection.received(until: "retry: 1000")
            server.keys.replace(refused: ["sk_test_birds"])
            try await eventually("the stream is closed") { server.streams.openCount == 0 }
        }
    }

    @Test func `after its key is revoked, a stream sends no further event`() async throws {
        var limits = EventStreamLimits()
        limits.keyPause = .zero
        // The pause is so long that no comment is due during the test.
        limits.commentPause = .hours(1)
        try await Self.withStream(limits, "?limit=2") { server, connection in
            try await Self.grant(to: "anna", by: server.engine)
            _ = try await connection.received(until: "id: 1\n")
            server.keys.replace(refused: ["sk_test_birds"])
            try await Self.grant(to: "ben", by: server.engine)
            try await eventually("the stream is closed") { server.streams.openCount == 0 }
            // The connection ends before the stream sends this event.
            await #expect(throws: Connection.Failure.self) {
                try await connection.received(until: "id: 2\n")
            }
        }
    }

    @Test
    func `if a client does not read, it is disconnected, and the server reads few events for it`()
        async throws
    {
        var limits = EventStreamLimits()
        limits.writeMax = .milliseconds(200)
        try await ListeningServer.run(streams: limits) { server in
            try await server.engine.keys.add(
                key: "sk_test_birds", app: "birds", kind: .secret, name: "test")
            try await server.appendLongEvents(Self.longEventsCount)
            let connection = try server.connect()
            try connection.sendAll(RequestText.get(Paths.eventStream, Self.secret))
            try await eventually("the stream is open") { server.streams.openCount == 1 }
            try await eventually("the stream is closed") { server.streams.openCount == 0 }
            // The client gets the bytes that were already sent and then the end, but not the last
            // event.
            await #expect(throws: Connection.Failure.self) {
                try await connection.received(until: "id: \(Self.longEventsCount)\n")
            }
        }
    }

    /// Enough events of 4 KB to exceed the buffers of a connection.
    private static let longEventsCount = 6_000

    @Test func `a stream over HTTP 1.0 has no chunks and ends when the connection closes`()
        async throws
    {
        try await ListeningServer.run { server in
            try await server.engine.keys.add(
                key: "sk_test_birds", app: "birds", kind: .secret, name: "test")
            try await Self.grant(to: "anna", by: server.engine)
            let asked = "GET \(Paths.eventStream)?limit=1 HTTP/1.0\r\n\(Self.secret)\r\n"
            let connection = try server.connect()
            try connection.sendAll(asked)
            let parts = try await connection.receivedUntilEnd().split(
                separator: "\r\n\r\n", maxSplits: 1)
            try #require(parts.count == 2)
            #expect(parts[0].hasPrefix("HTTP/1.0 200 "))
            #expect(!parts[0].lowercased().contains("transfer-encoding"))
            #expect(parts[0].lowercased().contains("connection: close"))
            #expect(parts[1].hasPrefix("retry: 1000\n\nid: 1\n"), "\(parts[1])")
            #expect(parts[1].hasSuffix("}\n\n"))
        }
    }

    @Test func `a stream tells proxies not to buffer the response`() async throws {
        try await TestServer.run { server in
            try await Self.grant(to: "anna", by: server.engine)
            let answer = try await stream(server, "?limit=1")
            #expect(answer.headers[.wellFormed("x-accel-buffering")] == "no")
        }
    }

    @Test func `one key cannot use all places for streams`() async throws {
        var limits = EventStreamLimits()
        limits.streamsOfKeyMax = 1
        try await Self.withStream(limits) { server, connection in
            _ = try await connection.received(until: "retry: 1000")
            try await server.engine.keys.add(
                key: "sk_test_other", app: "birds", kind: .secret, name: "test")
            let refused = try await server.connect().answers(
                to: RequestText.get(Paths.eventStream, Self.secret), count: 1)
            #expect(refused.map(\.status) == [429])
            #expect(refused[0].body.contains(#""limit":"streams_of_key""#))
            let other = try server.connect()
            try other.sendAll(
                RequestText.get(Paths.eventStream, "authorization: Bearer sk_test_other\r\n"))
            _ = try await other.received(until: "retry: 1000")
        }
    }

    @Test func `streams end when the server stops`() async throws {
        try await Self.withStream { server, connection in
            _ = try await connection.received(until: "retry: 1000")
            // If the server did not stop, the stream would last for an hour.
            await server.shutDown()
            try await eventually("the stream is closed") { server.streams.openCount == 0 }
        }
    }

    @Test func `a stream is closed when its client disconnects`() async throws {
        var limits = EventStreamLimits()
        limits.commentPause = .zero
        try await ListeningServer.run(streams: limits) { server in
            try await server.engine.keys.add(
                key: "sk_test_birds", app: "birds", kind: .secret, name: "test")
            do {
                let connection = try server.connect()
                try connection.sendAll(RequestText.get(Paths.eventStream, Self.secret))
                _ = try await connection.received(until: "retry: 1000")
            }
            try await eventually("the stream is closed") { server.streams.openCount == 0 }
        }
    }
}
