import Engine
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// Two persons become one customer only if somebody vouches for it.
@Suite struct AliasRouteTests {
    private static let anonymous = "anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    private func meet(_ ids: [CustomerID], on server: TestServer) async throws {
        for id in ids {
            _ = try await server.engine.grant(
                NewGrant(entitlement: "pro", reason: "sorry"), to: id, app: "birds",
                environment: .production)
        }
    }

    private func join(
        _ other: String, to id: String, on server: TestServer, key: String = TestServer.key
    ) async throws -> TestServer.Answer {
        try await server.send(
            .post, Paths.aliases(of: id), key: key, body: #"{"customer_id": "\#(other)"}"#)
    }

    @Test func `an app cannot make one customer of two persons, and a server can`() async throws {
        try await TestServer.run { server in
            try await meet(["anna", "ben", CustomerID(rawValue: Self.anonymous)], on: server)
            let refused = try await join("ben", to: "anna", on: server)
            #expect(refused.status == 409)
            #expect(try refused.problem.code == .aliasJoinsTwoPeople)
            // Who is nobody else yet, or has not logged in, is no other person.
            for other in ["phone-7", Self.anonymous, "anna"] {
                #expect(try await join(other, to: "anna", on: server).status == 200, "\(other)")
            }
            // Now the anonymous id is anna's.
            #expect(try await join(Self.anonymous, to: "ben", on: server).status == 409)
            let joined = try await join("ben", to: "anna", on: server, key: TestServer.secret)
            #expect(joined.status == 200)
            #expect(try await join("ben", to: "anna", on: server).status == 200)
        }
    }

    @Test func `an app may join people where the configuration says so`() async throws {
        let change: TestServer.Change = { $0.joinsPeople = true }
        try await TestServer.run(change) { server in
            try await meet(["anna", "ben"], on: server)
            #expect(try await join("ben", to: "anna", on: server).status == 200)
        }
    }

    @Test func `an explanation for an app names nobody else, and one for support does`()
        async throws
    {
        try await TestServer.run { server in
            try await meet(["anna", "ben"], on: server)
            for other in [Self.anonymous, "ben"] {
                _ = try await join(other, to: "anna", on: server, key: TestServer.secret)
            }
            let path = Paths.explanation(of: "anna")
            let support = try await server.send(.get, path, key: TestServer.secret)
            let explained: Explanation = try support.decoded()
            #expect(explained.lines.contains { $0.hasPrefix("pro: open") })
            #expect(explained.lines.contains { $0.contains("Decided by people") })
            #expect(support.text.contains(Self.anonymous) && support.text.contains("sorry"))
            let app = try await server.send(.get, path)
            #expect(try app.decoded(Explanation.self).lines.contains { $0.hasPrefix("pro: open") })
            #expect(!app.text.contains("anon_") && !app.text.contains("sorry"))
        }
    }

    @Test func `offers say for which storefront they were asked, and when Apple decides`()
        async throws
    {
        let change: TestServer.Change = {
            $0.offers = OfferCatalogue(products: [
                "pro.monthly": .init(
                    group: "g", hasIntroductory: true, promotional: ["stay"], winBack: ["back"],
                    codes: [.init(id: "code", customers: [.new])])
            ])
        }
        try await TestServer.run(change) { server in
            let path = Paths.customer("anna") + "/offers"
            let list: OfferList = try await server.send(.get, path + "?storefront=AUT").decoded()
            #expect(list.storefront == "AUT")
            let decided = list.items.map { "\($0.kind) \($0.appleDecides == true)" }
            #expect(
                decided.sorted() == [
                    "code true", "introductory false", "promotional false", "win_back true",
                ])
            for wrong in ["at", "aut", "AUTX", ""] {
                let answer = try await server.send(.get, path + "?storefront=\(wrong)")
                #expect(answer.status == 400, "\(wrong)")
            }
        }
    }
}
