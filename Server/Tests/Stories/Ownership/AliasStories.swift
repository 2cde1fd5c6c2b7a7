import AppStoreFormats
import Crypto
import Engine
import Ledger
import Simulator
import Testing

@testable import Program

/// Several ids of one customer. An app may change and read only some of the ids, and support can
/// remove an id.
@Suite(.serialized) struct AliasStories {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let anonymous = "anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
    private static let token = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    /// An app that requires proofs.
    private static var app: AppConfiguration {
        var app = birds
        app.settings.proof = .hmac(AppSecret(secret))
        return app
    }

    /// A proof as the app's own backend makes it, valid for an hour.
    private static func proof(of id: String) -> String {
        let end = SimulatorSettings.defaultNow.milliseconds / 1000 + 3600
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("\(id)\n\(end)".utf8), using: SymmetricKey(data: Array(secret.utf8)))
        return "\(end).\(code.withUnsafeBytes { Hexadecimal.text($0) })"
    }

    private static func answer(
        _ shop: Shop, _ path: String, proofs: [String] = []
    ) async throws -> Wire.Answer {
        try await shop.server.send("GET", path, headers: header(proofs))
    }

    private static func header(_ proofs: [String]) -> [String: String] {
        guard !proofs.isEmpty else { return [:] }
        return ["Perennial-Customer-Proof": proofs.map { proof(of: $0) }.joined(separator: ", ")]
    }

    /// Adds an id by a request of the app or of its server.
    private static func join(
        _ other: String, to id: String, in shop: Shop, proofs: [String], byServer: Bool = false
    ) async throws -> Wire.Answer {
        let body: JSON = ["customer_id": .string(other)]
        return try await (byServer ? shop.support : shop.server).send(
            "POST", "/v1/customers/\(id)/aliases", body: body.bytes, headers: header(proofs))
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an anonymous id merged into a customer who needs a proof can be used only with a proof`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: Self.anonymous) == 200)
            let path = "/v1/customers/\(Self.anonymous)"
            #expect(try await Self.answer(shop, path).status == 200)
            let joined = try await Self.join(
                Self.anonymous, to: "anna", in: shop, proofs: ["anna"])
            #expect(joined.status == 200)

            // The sender may be anybody who still has the old id, such as the next owner of the
            // phone.
            for path in [path, path + "/content", path + "/offers", path + "/wallets/seeds"] {
                let refused = try await Self.answer(shop, path)
                #expect(refused.status == 401, "\(path)")
                #expect(try refused.json["code"] == "customer_proof_missing")
            }
            #expect(try await shop.post(bought, as: Self.anonymous) == 401)
            let foreign = try await Self.answer(shop, path, proofs: ["eve"])
            #expect(try foreign.json["code"] == "customer_proof_not_valid")
            #expect(try await Self.answer(shop, path, proofs: ["anna"]).status == 200)
        }
    }

    @Test func `a customer's anonymous ids are shown to a server, but not to an app`() async throws
    {
        try await withShop(on: .sqlite) { shop in
            for other in [Self.anonymous, "phone-7"] {
                _ = try await Self.join(other, to: "anna", in: shop, proofs: [], byServer: true)
            }
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            let app = try await shop.server.get("/v1/customers/anna")
            #expect(app["aliases"]?.array == ["phone-7"])
            let server = try await shop.support.get("/v1/customers/anna")
            #expect(Set(server["aliases"]?.array ?? []) == [.string(Self.anonymous), "phone-7"])
        }
    }

    @Test
    func `an app needs a proof for each of the two customers that it merges`() async throws {
        try await withShop(on: .sqlite, app: Self.app) { shop in
            let own = try await Self.join(Self.anonymous, to: "anna", in: shop, proofs: ["anna"])
            #expect(own.status == 200)
            // Eve knows anna's old id and can prove her own id.
            for (other, id) in [(Self.anonymous, "eve"), ("eve", Self.anonymous)] {
                let taken = try await Self.join(other, to: id, in: shop, proofs: ["eve"])
                #expect(taken.status == 401, "\(other) to \(id)")
                #expect(try taken.json["code"] == "customer_proof_not_valid")
            }
            let again = try await Self.join(Self.anonymous, to: "anna", in: shop, proofs: ["anna"])
            #expect(again.status == 200)
            #expect(
                try await Self.join("anna-2", to: "anna", in: shop, proofs: ["anna"]).status == 401)
            let both = try await Self.join(
                "anna-2", to: "anna", in: shop, proofs: ["anna", "anna-2"])
            #expect(both.status == 200)
        }
    }

    @Test func `a proof without an expiry is refused, and the remedy names the setting endless`()
        async throws
    {
        try await withShop(on: .sqlite, app: Self.app) { shop in
            let code = HMAC<SHA256>.authenticationCode(
                for: Array("anna".utf8), using: SymmetricKey(data: Array(Self.secret.utf8)))
            let refused = try await shop.server.send(
                "GET", "/v1/customers/anna",
                headers: [
                    "Perennial-Customer-Proof": code.withUnsafeBytes { Hexadecimal.text($0) }
                ])
            #expect(refused.status == 401)
            #expect(try refused.json.text("remedy").contains("endless: true"))
        }
    }

    // MARK: - Removing an id

    private static func balance(of customer: String, in shop: Shop) async throws -> Int64 {
        let answer = try await shop.support.get("/v1/customers/\(customer)")
        return answer["wallets"]?["seeds"]?["balance"]?.integer ?? 0
    }

    private static func expectClean(_ shop: Shop) async throws {
        let report = try await shop.engine.maintenance.rebuild(verifyOnly: true)
        #expect(report.isClean, "\(report)")
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if an alias is removed, added and removed again, no pack is credited twice`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            // This pack names the removed id, and no device has posted the pack. The token in the
            // pack is the only evidence that the pack belongs to the id.
            try await shop.addDevice("anna", ["app_account_token": .string(Self.token)])
            let pack = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"])
            #expect(try await Self.balance(of: Self.token, in: shop) == 100)
            _ = try await Self.join(Self.token, to: "anna", in: shop, proofs: [], byServer: true)
            try await shop.support.post(
                "/v1/customers/anna/wallets/seeds/debits", ["amount": 60, "reason": "oaks"])

            let path = "/v1/customers/anna/aliases/\(Self.token)"
            #expect(try await shop.server.send("DELETE", path).status == 403)
            let removed = try await shop.support.send("DELETE", path)
            #expect(removed.status == 200)
            #expect(try removed.json["aliases"]?.array?.isEmpty == true)
            #expect(try await Self.balance(of: "anna", in: shop) == 40)
            #expect(try await Self.balance(of: Self.token, in: shop) == 0)
            // A posting changes nothing, because a part of the pack is spent.
            #expect(try await shop.post(pack, as: Self.token) == 409)
            #expect(try await Self.balance(of: Self.token, in: shop) == 0)
            _ = try await Self.join(Self.token, to: "anna", in: shop, proofs: [], byServer: true)
            #expect(try await Self.balance(of: "anna", in: shop) == 40)
            #expect(try await shop.support.send("DELETE", path).status == 200)
            #expect(try await Self.balance(of: "anna", in: shop) == 40)

            let again = try await shop.support.send("DELETE", path)
            #expect(again.status == 404)
            #expect(try again.json["code"] == "alias_unknown")
            let events = try await shop.support.get("/v1/events?customer_id=anna")
            let told = (events["items"]?.array ?? []).filter { $0["type"] == "alias_removed" }
            #expect(
                told.map { $0["other_customer_id"] } == [.string(Self.token), .string(Self.token)])
            try await Self.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if an alias is removed, merged purchases and grants stay with the remaining customer`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let month = try await shop.buyMonth("ben")
            #expect(try await shop.post(month, as: "ben") == 200)
            try await shop.support.post(
                "/v1/customers/ben/grants", ["entitlement": "premium", "reason": "sorry"])
            _ = try await Self.join("ben", to: "anna", in: shop, proofs: [], byServer: true)
            let first = try await shop.support.send("DELETE", "/v1/customers/ben/aliases/anna")
            #expect(first.status == 409)
            #expect(try first.json["code"] == "alias_is_first_id")
            #expect(
                try await shop.support.send("DELETE", "/v1/customers/anna/aliases/ben").status
                    == 200)
            for right in ["pro", "premium"] {
                #expect(try await shop.entitlement(right, of: "anna")?["active"] == true)
                #expect(try await shop.entitlement(right, of: "ben") == nil)
            }
            // The customer's new events follow the earlier ones.
            try await shop.support.post(
                "/v1/customers/ben/transfers",
                [
                    "original_transaction_id": .string(try month.text("original_transaction_id")),
                    "reason": "it was his",
                ])
            #expect(try await shop.entitlement("pro", of: "ben")?["active"] == true)
            #expect(try await shop.entitlement("pro", of: "anna") == nil)
            try await Self.expectClean(shop)
        }
    }

    @Test func `erasing a removed alias also erases the id from the former customer's events`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            _ = try await Self.join(
                "ben-at-home", to: "anna", in: shop, proofs: [], byServer: true)
            let path = "/v1/customers/anna/aliases/ben-at-home"
            #expect(try await shop.support.send("DELETE", path).status == 200)
            _ = try await shop.support.send("DELETE", "/v1/customers/ben-at-home")
            let events = try await shop.support.get("/v1/events")
            #expect(events.text.contains("alias_removed"))
            #expect(!events.text.contains("ben-at-home"))
        }
    }
}
