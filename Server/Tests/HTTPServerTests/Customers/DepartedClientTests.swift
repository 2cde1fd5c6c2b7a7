import Eventually
import PerennialContract
import Testing

@testable import Engine
@testable import HTTPServer

/// No request waits for a client that has disconnected.
@Suite struct DepartedClientTests {
    private static let secret = "authorization: Bearer sk_test_birds\r\n"
    /// The test ends before any wait would end by itself.
    private static let soonSeconds = 30.0

    private static func run(
        _ body: @escaping @Sendable (ListeningServer) async throws -> Void
    ) async throws {
        var streams = EventStreamLimits()
        // The pause between comments is so long that no comment is written. So no write detects
        // that the connection is closed.
        streams.commentPause = .hours(1)
        try await ListeningServer.run(streams: streams) { server in
            try await server.engine.keys.add(
                key: "sk_test_birds", app: "birds", kind: .secret, name: "test")
            try await body(server)
        }
    }

    private static let waits = [
        RequestText.get("/v1/customers/anna?wait=60", RequestText.key + "if-none-match: *\r\n"),
        RequestText.get("/v1/events?wait=60", secret),
    ]

    @Test(arguments: waits)
    func `a wait ends with an answer when the client ends its input`(request: String) async throws {
        try await Self.run { server in
            let connection = try server.connect()
            try connection.sendAll(request)
            try await eventually("a wait") { server.waits.waitingCount == 1 }
            let began = ContinuousClock.now
            connection.endInput()
            let answer = try await connection.receivedUntilEnd()
            #expect(answer.hasPrefix("HTTP/1.1 304 ") || answer.hasPrefix("HTTP/1.1 200 "))
            #expect(ContinuousClock.now - began < .seconds(Self.soonSeconds))
            #expect(server.waits.waitingCount == 0)
        }
    }

    @Test(arguments: waits)
    func `a wait ends when the client closes the connection`(request: String) async throws {
        try await Self.run { server in
            do {
                let connection = try server.connect()
                try connection.sendAll(request)
                try await eventually("a wait") { server.waits.waitingCount == 1 }
            }
            try await eventually("the end of the wait", within: Self.soonSeconds) {
                server.waits.waitingCount == 0
            }
        }
    }

    @Test func `a wait ends when another request arrives on its connection`() async throws {
        try await Self.run { server in
            let connection = try server.connect()
            try connection.sendAll(Self.waits[1])
            try await eventually("a wait") { server.waits.waitingCount == 1 }
            let began = ContinuousClock.now
            let answers = try await connection.answers(
                to: RequestText.get("/health", ""), count: 2)
            #expect(answers.map(\.status) == [200, 200])
            #expect(ContinuousClock.now - began < .seconds(Self.soonSeconds))
        }
    }

    @Test
    func `if a client has closed its input before the wait begins, it is answered immediately`()
        async throws
    {
        try await Self.run { server in
            let began = ContinuousClock.now
            let answers = try await server.connect().answers(
                to: Self.waits[1], count: 1, closing: true)
            #expect(answers.map(\.status) == [200])
            #expect(ContinuousClock.now - began < .seconds(Self.soonSeconds))
        }
    }

    @Test(arguments: [true, false])
    func `a stream no longer counts against the limit once its client has disconnected`(
        isClosed: Bool
    ) async throws {
        try await Self.run { server in
            var connection: Connection? = try server.connect()
            try connection?.sendAll(RequestText.get(Paths.eventStream, Self.secret))
            _ = try await connection?.received(until: "retry: 1000")
            #expect(server.streams.openCount == 1)
            if isClosed { connection = nil } else { connection?.endInput() }
            try await eventually("a free place", within: Self.soonSeconds) {
                server.streams.openCount == 0
            }
        }
    }
}
