import Engine
import HTTPTypes
import Ledger
import PerennialContract
import Synchronization
import Testing

@testable import HTTPServer

/// How much data may be added by requests with an app key that contain no new evidence.
@Suite struct GrowthRouteTests {
    private static let change: TestServer.Change = { $0.growthPerHour = 6 }

    private final class Clock: Sendable {
        private let moment = Mutex(TestServer.now)

        var now: Instant {
            get { moment.withLock { $0 } }
            set { moment.withLock { $0 = newValue } }
        }
    }

    private static func device(_ number: Int) -> String {
        "anon_\(String(repeating: "f", count: 32))-\(number)"
    }

    private func join(
        _ other: String, to id: String, on server: TestServer, key: String = TestServer.key
    ) async throws -> TestServer.Answer {
        try await server.send(
            .post, Paths.aliases(of: id), key: key, body: #"{"customer_id": "\#(other)"}"#)
    }

    @Test func `an app key can add a limited number of ids in an hour, a secret key any number`()
        async throws
    {
        let clock = Clock()
        let now: @Sendable () -> Instant = { clock.now }
        try await TestServer.run(Self.change, clock: now) { server in
            let start = clock.now
            for number in 0..<3 {
                let joined = try await join(Self.device(number), to: "person-\(number)", on: server)
                #expect(joined.status == 200, "\(number)")
            }
            let requests: [(String, String)] = [
                (Paths.aliases(of: "person-9"), #"{"customer_id": "\#(Self.device(9))"}"#),
                (Paths.customer(Self.device(8)) + "/account_token", "{}"),
            ]
            for (path, body) in requests {
                let refused = try await server.send(.post, path, body: body)
                #expect(refused.status == 429, "\(path)")
                #expect(try refused.problem.code == .growthBudgetSpent)
                #expect(refused.headers[.retryAfter] == "601")
                let byServer = try await server.send(
                    .post, path, key: TestServer.secret, body: body)
                #expect(byServer.status == 200, "\(path)")
            }
            let consent = try await server.send(
                .put, Paths.customer(Self.device(7)) + "/consumption",
                body: #"{"consented": true}"#)
            #expect(consent.status == 429)
            // Requests about known customers are not refused.
            #expect(try await join(Self.device(0), to: "person-0", on: server).status == 200)
            let token = try await server.send(.post, Paths.customer("person-0") + "/account_token")
            #expect(token.status == 200)
            clock.now = start + .seconds(1800)
            #expect(try await join(Self.device(5), to: "person-5", on: server).status == 200)
            clock.now = start
        }
    }

    @Test
    func `stored attributes are limited by size, but a known customer can make small changes`()
        async throws
    {
        try await TestServer.run(Self.change) { server in
            func status(_ prefix: String, _ count: Int, of number: Int) async throws -> Int {
                let value = String(repeating: "x", count: 500)
                let settings = (0..<count).map {
                    #"{"name": "\#(prefix)\#($0)", "value": "\#(value)"}"#
                }
                let body = #"{"attributes": [\#(settings.joined(separator: ", "))]}"#
                return try await server.send(
                    .patch, Paths.customer(Self.device(number)) + "/attributes", body: body
                ).status
            }
            let statuses = [
                try await status("a", 49, of: 0), try await status("$r", 49, of: 0),
                try await status("a", 1, of: 1), try await status("b", 1, of: 0),
            ]
            #expect(statuses == [200, 429, 429, 200])
        }
    }
}
