import Engine
import Ledger
import PerennialContract
import Testing

@testable import HTTPServer

/// Only a secret key or the configuration allows the merge of two people into one customer.
@Suite struct AliasRouteTests {
    private static let anonymous = "anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    private func meet(_ ids: [CustomerID], on server: TestServer) async throws {
        for id in ids {
            _ = try await server.engine.grants.add(
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

    @Test func `an app cannot merge two people into one customer, but a server can`() async throws {
        try await TestServer.run { server in
            try await meet(["anna", "ben", CustomerID(rawValue: Self.anonymous)], on: server)
            let refused = try await join("ben", to: "anna", on: server)
            #expect(refused.status == 409)
            #expect(try refused.problem.code == .aliasJoinsTwoPeople)
            // The id of somebody who has not logged in does not stand for another person.
            for other in [Self.anonymous, "anna"] {
                #expect(try await join(other, to: "anna", on: server).status == 200, "\(other)")
            }
            // Since the log-in, the anonymous id belongs to anna.
            #expect(try await join(Self.anonymous, to: "ben", on: server).status == 409)
            let joined = try await join("ben", to: "anna", on: server, key: TestServer.secret)
            #expect(joined.status == 200)
            #expect(try await join("ben", to: "anna", on: server).status == 200)
        }
    }

    @Test func `an app may merge two people if the configuration allows it`() async throws {
        let change: TestServer.Change = { $0.joinsPeople = true }
        try await TestServer.run(change) { server in
            try await meet(["anna", "ben"], on: server)
            #expect(try await join("ben", to: "anna", on: server).status == 200)
        }
    }

    @Test func `an app cannot add an id that may belong to another person, but a server can`()
        async throws
    {
        let (known, uuid) = ("anna", "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f")
        try await TestServer.run { server in
            try await meet([CustomerID(rawValue: known)], on: server)
            for (id, other) in [
                (known, "ben@example.com"), (known, uuid), (known, uuid.uppercased()),
                ("ben@example.com", known), (uuid, known), ("cleo", "dora"),
                (known, "anon_short"),
            ] {
                let refused = try await join(other, to: id, on: server)
                #expect(refused.status == 409, "\(other) to \(id)")
                #expect(try refused.problem.code == .aliasNotProven)
                #expect(try refused.problem.remedy.contains("secret key"))
            }
            #expect(
                try await server.engine.events.list(of: "birds", after: 0, limit: 10).count == 1)
            for other in ["ben@example.com", uuid] {
                let joined = try await join(other, to: known, on: server, key: TestServer.secret)
                #expect(joined.status == 200, "\(other)")
            }
        }
    }

    @Test func `the account token of an anonymous customer cannot be used to merge customers`()
        async throws
    {
        let thief = "anon_ffffffff-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
        let change: TestServer.Change = { $0.joinsPeople = true }
        try await TestServer.run(change) { server in
            let made = try await server.engine.ownership.accountToken(
                for: CustomerID(rawValue: Self.anonymous), app: "birds")
            let token = try #require(made).rawValue
            try await meet([CustomerID(rawValue: thief), "thief"], on: server)
            // Everybody who has a signed transaction can read this token in the transaction.
            for (id, other) in [
                ("thief", token), (token, "thief"), (thief, token), (token, thief),
                (token.uppercased(), thief), (thief, token.uppercased()),
            ] {
                let refused = try await join(other, to: id, on: server)
                #expect(refused.status == 409, "\(other) to \(id)")
                #expect(try refused.problem.code == .aliasNotProven)
            }
            #expect(try await join(Self.anonymous, to: "anna", on: server).status == 200)
            #expect(try await join(token, to: "anna", on: server).status == 200)
        }
    }

    @Test func `a customer id that is a UUID is the same in upper and lower case`() async throws {
        let uuid = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
        try await TestServer.run { server in
            try await meet([CustomerID(rawValue: uuid.uppercased())], on: server)
            let answer = try await server.send(.get, Paths.customer(uuid))
            #expect(try answer.decoded(Customer.self).entitlements["pro"]?.active == true)
        }
        let change: TestServer.Change = { $0.accountTokens = .other }
        try await TestServer.run(change) { server in
            try await meet([CustomerID(rawValue: uuid.uppercased())], on: server)
            let answer = try await server.send(.get, Paths.customer(uuid))
            #expect(try answer.decoded(Customer.self).entitlements.isEmpty)
        }
    }

    @Test func `requests with an app key cannot use up a customer's ids`() async throws {
        let change: TestServer.Change = { $0.entitlements["plus"] = ["plus.monthly"] }
        try await TestServer.run(change) { server in
            try await meet(["anna"], on: server)
            for number in 0..<2 * CustomerService.idsMax {
                let other = "anon_\(String(repeating: "f", count: 32))-\(number)"
                #expect(try await join(other, to: "anna", on: server).status == 200, "\(number)")
            }
            let filled = try await server.send(
                .get, Paths.customer("anna"), key: TestServer.secret)
            #expect(
                try filled.decoded(Customer.self).aliases.count == CustomerService.idsByAppMax - 1)
            // Grants that a device had before the log-in still move to anna, whichever id the
            // request names first.
            let devices = ["a", "b"].map { "anon_" + String(repeating: $0, count: 32) }
            for (device, right) in zip(devices, ["pro", "plus"] as [EntitlementID]) {
                _ = try await server.engine.grants.add(
                    NewGrant(entitlement: right, reason: "sorry"),
                    to: CustomerID(rawValue: device), app: "birds", environment: .production)
            }
            let joined = try await join(devices[0], to: "anna", on: server)
            #expect(try joined.decoded(Customer.self).customerID == "anna")
            let reversed = try await join("anna", to: devices[1], on: server)
            #expect(try reversed.decoded(Customer.self).customerID == "anna")
            #expect(try reversed.decoded(Customer.self).entitlements["plus"]?.active == true)
            // The ids of the devices were not added to anna, because she had no room for more ids.
            let gone = try await server.send(.get, Paths.customer(devices[0]))
            #expect(try gone.decoded(Customer.self).entitlements.isEmpty)
            // Anna still has room for her account token and for the ids that her server adds.
            let token = try await server.send(.post, Paths.customer("anna") + "/account_token")
            #expect(token.status == 200, "\(token.text)")
            let own = try await join("anna-2", to: "anna", on: server, key: TestServer.secret)
            #expect(own.status == 200)
        }
    }

    @Test func `an explanation names the customer's other ids only to a secret key`()
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

    @Test func `an offer names its storefront, and says whether Apple decides who gets it`()
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
