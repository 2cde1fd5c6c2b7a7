import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// The first facts that a developer needs if an app does not work.
@Suite struct PingTests {
    @Test func `the answer to a ping names the kind and the app of the API key`() async throws {
        try await TestServer.run { server in
            for (key, kind) in [(TestServer.key, "app"), (TestServer.secret, "secret")] {
                let answer = try await server.send(.get, Paths.ping, key: key)
                #expect(
                    try answer.decoded(Ping.self)
                        == Ping(
                            keyKind: kind, app: "birds", bundleID: "com.example.birds",
                            simulated: false, environments: [.production, .sandbox],
                            unknownProductIDs: nil, unlistedProducts: [],
                            serverVersion: PerennialServer.version,
                            serverTime: Timestamp(TestServer.now)))
            }
            #expect(try await server.send(.get, Paths.ping, key: nil).status == 401)
        }
    }

    @Test func `the ping lists configured products that are missing from the StoreKit file`()
        async throws
    {
        let change: TestServer.Change = { $0.soldProducts = ["pro.monthly", "unmentioned"] }
        try await TestServer.run(change) { server in
            let answer = try await server.send(.get, Paths.ping)
            #expect(try answer.decoded(Ping.self).unknownProductIDs == ["gems.100", "p"])
        }
    }
}
