import Storage
import Testing

@testable import HTTPServer

/// Whether `/ready` reports that the server can process requests.
@Suite struct ReadinessTests {
    private static let asked = RequestText.get("/ready", "")

    private static func status(_ server: ListeningServer) async throws -> Int {
        try await server.connect().answers(to: asked, count: 1)[0].status
    }

    private static let unhealthy = StorageFailure.Kind.allCases.filter {
        // A failure of these kinds concerns one write or asks for another attempt. The server
        // stays ready.
        ![.constraint, .erased, .needsSerializable].contains($0)
    }

    @Test(arguments: unhealthy)
    func `the server is not ready while writes fail, and is ready as soon as they succeed`(
        kind: StorageFailure.Kind
    ) async throws {
        try await ListeningServer.run { server in
            #expect(try await Self.status(server) == 200)
            server.database.failWrites(kind)
            // No write has been tried yet.
            #expect(try await Self.status(server) == 200)
            let posted = RequestText.post(try ListeningServer.notification(1))
            #expect(try await server.connect().answers(to: posted, count: 1)[0].status >= 500)
            for _ in 0..<5 { #expect(try await Self.status(server) == 503) }
            server.database.failWrites(nil)
            for _ in 0..<5 { #expect(try await Self.status(server) == 200) }
        }
    }

    @Test func `a readiness check writes only after a write has failed`() async throws {
        try await ListeningServer.run { server in
            let posted = RequestText.post(try ListeningServer.notification(1))
            _ = try await server.connect().answers(to: posted, count: 1)
            let writes = server.database.writes
            for _ in 0..<3 { #expect(try await Self.status(server) == 200) }
            #expect(server.database.writes == writes)
        }
    }

    @Test func `a violated constraint does not make the server unready`() async throws {
        try await ListeningServer.run { server in
            server.database.failWrites(.constraint)
            let posted = RequestText.post(try ListeningServer.notification(1))
            #expect(try await server.connect().answers(to: posted, count: 1)[0].status >= 500)
            #expect(try await Self.status(server) == 200)
        }
    }

    @Test func `concurrent readiness checks share one write`() async throws {
        try await ListeningServer.run { server in
            server.database.failWrites(.other)
            let posted = RequestText.post(try ListeningServer.notification(1))
            #expect(try await server.connect().answers(to: posted, count: 1)[0].status >= 500)
            let (opening, writes) = (server.database.holdWrites(), server.database.writes)
            let connections = try (0..<20).map { _ in try server.connect() }
            for connection in connections { try connection.sendAll(Self.asked) }
            try await server.database.awaitWrite(after: writes)
            opening.finish()
            for connection in connections {
                #expect(try await connection.answers(to: "", count: 1)[0].status == 200)
            }
            // Checks that arrive after the first check has ended may write once more.
            #expect(server.database.writes <= writes + 2)
        }
    }
}
