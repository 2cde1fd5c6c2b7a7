import HTTPTypes
import PerennialContract
import Testing

@testable import HTTPServer

@Suite struct GrantRouteTests {
    private static let until = "2027-01-01T00:00:00.000Z"

    private func give(
        _ body: String, on server: TestServer, key: String? = nil
    ) async throws -> TestServer.Answer {
        var headers = HTTPFields()
        if let key { headers[try #require(HTTPField.Name("Idempotency-Key"))] = key }
        return try await server.send(
            .post, Paths.grants(of: "anna"), key: TestServer.secret, body: body, headers: headers)
    }

    private func pro(on server: TestServer) async throws -> PerennialContract.Entitlement? {
        let answer = try await server.send(.get, Paths.customer("anna"))
        let customer: Customer = try answer.decoded()
        return customer.entitlements["pro"]
    }

    @Test func `a grant opens access, and its withdrawal closes access`() async throws {
        try await TestServer.run { server in
            let given = try await give(
                #"{"entitlement": "pro", "until": "\#(Self.until)", "reason": "sorry"}"#, on: server
            )
            let grant: Grant = try given.decoded()
            let open = try #require(try await pro(on: server))
            #expect(open.active && open.state == .granted && open.until?.description == Self.until)
            #expect(open.productID == nil && open.grantID == grant.grantID)
            #expect(!open.reason.contains("sorry"))
            for _ in 0..<2 {
                let back = try await server.send(
                    .delete, Paths.grants(of: "anna") + "/" + grant.grantID,
                    key: TestServer.secret)
                #expect(back.status == 200)
            }
            let shut = try #require(try await pro(on: server))
            #expect(!shut.active && shut.state == .revoked)
            let log = try await server.send(.get, Paths.events, key: TestServer.secret)
            let events: EventList = try log.decoded()
            #expect(events.items.map(\.type) == [.granted, .grantEnded])
            #expect(events.items.allSatisfy { $0.grant?.entitlement == "pro" })
            #expect(events.items.allSatisfy { $0.environment == .production })
        }
    }

    @Test
    func `an idempotency key makes one grant, and a different grant with this key is refused`()
        async throws
    {
        try await TestServer.run { server in
            let body = #"{"entitlement": "pro", "reason": "sorry"}"#
            let first = try await give(body, on: server, key: "k")
            let again = try await give(body, on: server, key: "k")
            #expect(first.status == 200 && first.text == again.text)
            let other = try await give(
                #"{"entitlement": "pro", "reason": "else"}"#, on: server, key: "k")
            #expect(try other.problem.code == .idempotencyKeyReused)
            let list = try await server.send(
                .get, Paths.grants(of: "anna"), key: TestServer.secret)
            #expect(try list.decoded(GrantList.self).items.count == 1)
        }
    }

    @Test func `a grant needs a secret key, a known entitlement and an end in the future`()
        async throws
    {
        try await TestServer.run { server in
            let byApp = try await server.send(.post, Paths.grants(of: "anna"), body: "{}")
            #expect(try byApp.problem.code == .keyNotSecret)
            let wrong = try await give(#"{"entitlement": "por", "reason": "x"}"#, on: server)
            #expect(try wrong.problem.code == .entitlementUnknown)
            let past = try await give(
                #"{"entitlement": "pro", "reason": "x", "until": "2001-01-01T00:00:00.000Z"}"#,
                on: server)
            #expect(try past.problem.code == .grantAlreadyEnded)
            let stranger = try await server.send(
                .delete, Paths.grants(of: "ben") + "/grt_1", key: TestServer.secret)
            #expect(try stranger.problem.code == .grantUnknown)
            #expect(try await pro(on: server) == nil)
        }
    }

    @Test func `after a merge, the customer has the grants of both customers`() async throws {
        try await TestServer.run { server in
            _ = try await give(#"{"entitlement": "pro", "reason": "sorry"}"#, on: server)
            _ = try await server.send(
                .post, Paths.aliases(of: "ben"), key: TestServer.secret,
                body: #"{"customer_id": "anna"}"#)
            #expect(try await pro(on: server)?.active == true)
            let ben = try await server.send(.get, Paths.customer("ben"))
            #expect(try ben.decoded(Customer.self).entitlements["pro"]?.active == true)
        }
    }
}
