import Ledger
import PerennialContract
import Testing

@testable import Engine
@testable import HTTPServer

/// An operator retries a forward.
@Suite struct ForwardActTests {
    private static let addresses = ["https://old.example/a", "https://new.example/b"]

    /// Runs a server with a notification that two addresses refused until the server gave up.
    private func withServer(
        _ body: @escaping @Sendable (DashboardServer, _ retry: String) async throws -> Void
    ) async throws {
        try await DashboardServer.run(
            with: {
                $0.forwards.targets = Self.addresses.map {
                    ForwardTarget(name: $0, url: $0, environments: [.production])
                }
            },
            { server in
                try await server.buy("anna", transaction: "7001")
                try await server.notify(.didRenew, of: "7001")
                let forwards: ForwardList = try await server.api(Paths.forwards)
                let id = try #require(forwards.items.first).documentID
                let document = try #require(Hexadecimal.bytes(id[...]))
                try await server.engine.context.transaction { tx in
                    let leases = try tx.forwards.lease(
                        of: document, in: "birds", for: "test", lease: .seconds(30))
                    for lease in leases {
                        try tx.forwards.complete(
                            lease, of: "birds", .status(500), at: TestServer.now, next: nil)
                    }
                }
                try await body(server, "/forwards/\(id)/retry")
            })
    }

    private func states(_ server: DashboardServer) async throws -> [String: Forward.State] {
        let forwards: ForwardList = try await server.api(Paths.forwards)
        return Dictionary(uniqueKeysWithValues: forwards.items.map { ($0.url, $0.state) })
    }

    @Test func `a retry forwards the notification only to the address in its row`()
        async throws
    {
        try await withServer { server, retry in
            let page = try await server.get("/notifications/forwarded")
            let addresses = page.text.matches(of: /name="address" value="([^"]+)"/).map(\.1)
            #expect(addresses.sorted() == ["https://new.example", "https://old.example"])
            let sent = try await server.post(retry, ["address": "https://old.example"])
            #expect(sent.status == 303)
            #expect(sent.headers[.setCookie]?.hasPrefix("notice=retried;") == true)
            #expect(
                try await states(server) == [
                    "https://old.example": .waiting, "https://new.example": .givenUp,
                ])
        }
    }

    @Test func `if a forward cannot be retried, the page says why, and the audit log has no entry`()
        async throws
    {
        try await withServer { server, retry in
            for (address, notice) in [
                ("https://gone.example", "retry_address_gone"),
                ("https://old.example", "retried"), ("https://old.example", "retry_not_due"),
            ] {
                let sent = try await server.post(retry, ["address": address])
                #expect(
                    sent.headers[.setCookie]?.hasPrefix("notice=\(notice);") == true, "\(address)")
            }
            let audit: AuditList = try await server.api(Paths.audit)
            #expect(audit.items.map(\.act) == ["forwards.retry"])
        }
    }
}
