import AppStoreFormats
import Crypto
import Engine
import Ledger
import Logging
import Testing

@testable import Program

/// An app's offerings. The app verifies that the offerings come from our server.
@Suite(.serialized) struct OfferingStories {
    private static var app: AppConfiguration {
        var app = birds
        app.settings.offerings = OfferingRules(
            placements: [
                Placement(
                    id: "paywall", products: ["pro.yearly", "pro.monthly"],
                    metadata: ["title": .text("Alle Vögel"), "columns": .integer(2)]),
                Placement(id: "settings", products: ["pro.monthly"]),
            ], familyShareable: ["pro.yearly": true, "pro.monthly": false])
        return app
    }

    /// Returns the payload of signed offerings, verified as an app verifies it; nil if they are for
    /// another app or environment.
    private static func verified(
        _ jws: String, for audience: String, in shop: Shop
    ) async throws -> JSON? {
        try verified(jws, for: audience, by: try await shop.engine.tokens.publishedKeySet().keys)
    }

    private static func verified(
        _ jws: String, for audience: String, by keys: [PublishedKey]
    ) throws -> JSON? {
        let text = try #require(CompactJWS(jws))
        let header = try JSON(parsing: try #require(text.header))
        guard header["alg"] == "ES256", header["typ"] == "perennial-offerings+jwt",
            let key = keys.first(where: { $0.id == header["kid"]?.string })
        else { return nil }
        let point = try [key.x, key.y].flatMap {
            try #require(Base64.url.decode(Array($0.utf8)))
        }
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: try #require(text.signature))
        let publicKey = try P256.Signing.PublicKey(rawRepresentation: point)
        guard publicKey.isValidSignature(signature, for: Array(text.signedBytes)) else {
            return nil
        }
        let payload = try JSON(parsing: try #require(text.payload))
        return payload["aud"]?.string == audience ? payload : nil
    }

    private static func product(_ id: String, in offerings: JSON) -> JSON? {
        offerings["products"]?.array?.first { $0["product_id"]?.string == id }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an app gets signed offerings with products, entitlements, placements and wallets`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app) { shop in
            let offerings = try await shop.server.get("/v1/offerings")
            #expect(offerings["app"] == "birds" && offerings["environment"] == "production")
            #expect(offerings["unconfirmed_hold_hours"] == 24 && offerings["offline_days"] == 30)
            #expect(offerings["time_zone"] == "UTC" && offerings["overlap"] == "stack")
            let yearly = try #require(Self.product("pro.yearly", in: offerings))
            #expect(yearly["entitlements"] == ["plus", "pro"])
            #expect(yearly["family_shareable"] == true && yearly["term"] == .null)
            #expect(
                Self.product("season.spring", in: offerings)?["term"]
                    == ["months": 3, "days": 0, "bonus_days": 1, "chain": "season"])
            #expect(Self.product("seeds.100", in: offerings)?["credits"] == ["seeds": 100])
            #expect(
                offerings["placements"]?.array?.first == [
                    "placement_id": "paywall", "products": ["pro.yearly", "pro.monthly"],
                    "metadata": ["columns": 2, "title": "Alle Vögel"],
                ])
            #expect(
                offerings["wallets"]?["seeds"]
                    == ["spend": "app", "max_offline": 20, "allows_debt": false])

            let payload = try #require(
                try await Self.verified(try offerings.text("jws"), for: "birds", in: shop))
            #expect(payload["iss"] == "perennial" && payload["sub"] == nil && payload["exp"] == nil)
            let claims: Set = ["iss", "aud", "iat"]
            #expect(
                payload.members?.filter { !claims.contains($0.key) }
                    == offerings.members?.filter { $0.key != "jws" })
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `offerings for another app or environment, and tokens of customers, fail verification`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app) { shop in
            let path = "/v1/offerings"
            let real = try await shop.server.get(path).text("jws")
            let sandbox = try await shop.server.get(path + "?environment=sandbox").text("jws")
            #expect(try await Self.verified(real, for: "birds", in: shop) != nil)
            #expect(try await Self.verified(real, for: "birds/sandbox", in: shop) == nil)
            #expect(try await Self.verified(sandbox, for: "birds", in: shop) == nil)
            #expect(try await Self.verified(sandbox, for: "birds/sandbox", in: shop) != nil)
            let token = try await shop.server.get("/v1/customers/anna").text("token")
            #expect(try await Self.verified(token, for: "birds", in: shop) == nil)

            let both = try await Self.serverOfTwo(beside: shop)
            defer { both.database.close() }
            let content = try await shop.server.get(path)
            let theirs = try #require(
                try await both.engine.offers.sign(
                    offerings: content.bytes, of: "cats", in: .production
                ).jws)
            let keys = try await both.engine.tokens.publishedKeySet().keys
            #expect(try Self.verified(real, for: "birds", by: keys) != nil)
            #expect(try Self.verified(theirs, for: "cats", by: keys) != nil)
            #expect(try Self.verified(theirs, for: "birds", by: keys) == nil)
        }
    }

    /// A server that has another app, too, and publishes the keys of both apps.
    private static func serverOfTwo(beside shop: Shop) async throws -> Assembly {
        var cats = app
        cats.settings.id = "cats"
        cats.settings.bundleID = "com.example.cats"
        return try await Assembly(
            apps: [app, cats], databaseAddress: shop.address, simulatorRoot: shop.authority.rootDER,
            now: { .machine }, reconciliation: .disabled,
            logger: Logger(label: "cats") { _ in SwiftLogNoOpLogHandler() })
    }

    private static func version(
        in shop: Shop, unlike known: String? = nil
    ) async throws -> (status: Int, tag: String?) {
        var headers: [String: String] = [:]
        headers["If-None-Match"] = known
        let answer = try await shop.server.send("GET", "/v1/offerings?pretty", headers: headers)
        #expect((answer.status == 304) == answer.body.isEmpty)
        return (answer.status, answer.etag)
    }

    /// Returns the version in the shop of an app.
    private static func version(
        of app: AppConfiguration, on database: StoryDatabase
    ) async throws -> String {
        let found = Box<String>()
        try await withShop(on: database, app: app) { shop in
            let offerings = try await shop.server.get("/v1/offerings")
            #expect(offerings["jws"] == .null)
            await found.set(try #require(try await Self.version(in: shop).tag))
        }
        return try #require(await found.value)
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the version of the offerings changes only if the configuration changes`(
        database: StoryDatabase
    ) async throws {
        // Servers without a token key give the same version for the same content.
        var app = Self.app
        app.settings.tokens = nil
        let first = try await Self.version(of: app, on: database)
        #expect(try await Self.version(of: app, on: database) == first)
        var changes: [AppConfiguration] = [app, app, app, app]
        changes[0].settings.entitlements["pro"]?.remove("pro.yearly")
        changes[1].settings.offerings.placements[0].metadata["columns"] = .integer(3)
        changes[2].settings.offerings.placements.reverse()
        changes[3].settings.wallets.currencies["seeds"]?.offlineMax = 21
        for changed in changes {
            #expect(try await Self.version(of: changed, on: database) != first)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a client that has the offerings gets 304 until the token key changes`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app) { shop in
            let first = try await Self.version(in: shop)
            let tag = try #require(first.tag)
            #expect(first.status == 200)
            for known in [tag, "\"x\", \(tag)", "*", String(tag.dropFirst(2))] {
                let again = try await Self.version(in: shop, unlike: known)
                #expect(again.status == 304 && again.tag == tag, "\(known)")
            }
            #expect(try await Self.version(in: shop, unlike: "\"x\"").status == 200)
            _ = try await shop.engine.tokens.rotateKey(of: "birds")
            let later = try await Self.version(in: shop, unlike: tag)
            #expect(later.status == 200 && later.tag != tag)
            let jws = try await shop.server.get("/v1/offerings").text("jws")
            #expect(try await Self.verified(jws, for: "birds", in: shop) != nil)
        }
    }
}

/// A value that a story returns.
private actor Box<Value: Sendable> {
    private(set) var value: Value?

    func set(_ value: Value) { self.value = value }
}
