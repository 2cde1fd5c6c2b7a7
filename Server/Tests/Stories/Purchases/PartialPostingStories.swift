import AppStoreFormats
import Engine
import Ledger
import Testing

@testable import Program

/// Postings with an intent. A bad document does not cause the refusal of the others.
@Suite(.serialized) struct PartialPostingStories {
    private static func post(
        _ signed: [String], renewals: [String] = [], intent: String? = "sync",
        saying place: JSON = [:], in shop: Shop
    ) async throws -> Wire.Answer {
        let body: JSON = [
            "customer_id": "anna", "intent": intent.map { .string($0) } ?? .null,
            "signed_transactions": .array(signed.map { .string($0) }),
            "signed_renewal_infos": .array(renewals.map { .string($0) }),
            "placement": place["placement"] ?? .null, "sdk": place["sdk"] ?? .null,
            "storefront": place["storefront"] ?? .null,
        ]
        return try await shop.server.send("POST", "/v1/purchases", body: body.bytes)
    }

    /// The outcome of each document in words, in order.
    private static func words(_ answer: Wire.Answer) throws -> [String] {
        try (answer.json["outcomes"]?.array ?? []).map { try $0.text("outcome") }
    }

    /// Returns the same document with one changed character in the middle of its signature.
    private static func forge(_ signed: String) -> String {
        var parts = signed.split(separator: ".").map(String.init)
        let first = parts[2].removeFirst()
        parts[2] = (first == "A" ? "B" : "A") + parts[2]
        return parts.joined(separator: ".")
    }

    private static func buySeeds(_ count: Int, in shop: Shop) async throws -> [String] {
        try await shop.addDevice("anna")
        var signed: [String] = []
        for _ in 0..<count {
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"])
            signed.append(try bought.text("signed_transaction"))
        }
        return signed
    }

    @Test(arguments: StoryDatabase.allCases)
    func `of twenty posted documents, nineteen are stored, and the forged one is reported`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            var signed = try await Self.buySeeds(20, in: shop)
            signed[7] = Self.forge(signed[7])
            let answer = try await Self.post(signed, in: shop)
            #expect(answer.status == 200)
            var expected = Array(repeating: "kept", count: 20)
            expected[7] = "refused"
            #expect(try Self.words(answer) == expected)
            let outcomes = try #require(try answer.json["outcomes"]?.array)
            #expect(outcomes[7]["code"] == "purchase_not_trusted")
            #expect(outcomes[7]["member"] == "signed_transactions")
            #expect(outcomes.map { $0["index"]?.integer } == (0..<20).map { Int64($0) })
            #expect(try outcomes[8].text("transaction_id").isEmpty == false)
            #expect(try answer.json["wallets"]?["seeds"]?["balance"] == 1_900)
            // When the documents are posted again, every document is a repeat, and nothing is
            // credited twice.
            let again = try await Self.post(signed, in: shop)
            expected = Array(repeating: "repeat", count: 20)
            expected[7] = "refused"
            #expect(try Self.words(again) == expected)
            #expect(try again.json["wallets"]?["seeds"]?["balance"] == 1_900)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `without an intent, one forged document causes the refusal of the whole posting`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            var signed = try await Self.buySeeds(2, in: shop)
            signed[1] = Self.forge(signed[1])
            let answer = try await Self.post(signed, intent: nil, in: shop)
            #expect(answer.status == 422)
            #expect(try answer.json["code"] == "purchase_not_trusted")
            #expect(try answer.json["outcomes"] == nil)
            let customer = try await shop.server.get("/v1/customers/anna")
            #expect(customer["wallets"]?["seeds"] == nil)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a posting without any valid document reports each document, and writes nothing`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let signed = try await Self.buySeeds(1, in: shop)
            let answer = try await Self.post(
                [Self.forge(signed[0]), "not a document"], in: shop)
            #expect(answer.status == 422 || answer.status == 400)
            #expect(try Self.words(answer) == ["refused", "refused"])
            let found = try await shop.support.get("/v1/customers?query=anna")
            #expect(found["items"]?.array == [])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `renewal info without its transaction is refused, and the other documents are stored`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let bought = try await shop.buyMonth("anna")
            let seeds = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"])
            let restored = try await shop.simulator.post("/_sim/devices/anna-1/restore")
            let renewal = try #require(restored["signed_renewal_infos"]?.array?.first?.string)
            let answer = try await Self.post(
                [try seeds.text("signed_transaction")], renewals: [renewal], in: shop)
            #expect(answer.status == 200)
            #expect(try Self.words(answer) == ["kept", "refused"])
            #expect(
                try answer.json["outcomes"]?.array?.last?["code"] == "renewal_without_transaction")
            // Renewal info is stored with its transaction, in either order.
            let whole = try await Self.post(
                [try bought.text("signed_transaction")], renewals: [renewal], in: shop)
            #expect(try Self.words(whole) == ["kept", "kept"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a posting is refused if it mixes environments or if its intent is unknown`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let real = try await Self.buySeeds(1, in: shop)
            try await shop.addDevice("sam", ["environment": "sandbox"])
            let tried = try await shop.simulator.post(
                "/_sim/devices/sam-1/purchases", ["product_id": "seeds.100"])
            let mixed = real + [try tried.text("signed_transaction")]
            let answer = try await Self.post(mixed, in: shop)
            #expect(answer.status == 422)
            #expect(try answer.json["code"] == "environments_mixed")
            #expect(try await Self.post(mixed, intent: nil, in: shop).status == 200)
            let unknown = try await Self.post(real, intent: "steal", in: shop)
            #expect(unknown.status == 400)
            #expect(try unknown.json.text("detail").contains("purchase, restore or sync"))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the placement of a purchase is stored, and a later posting does not change it`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let signed = try await Self.buySeeds(1, in: shop)
            let found: JSON = ["placement": "onboarding", "sdk": "birds/2", "storefront": "DEU"]
            // An app that finds the purchase when it starts does not know where it was bought.
            _ = try await Self.post(signed, saying: ["placement": "launch"], in: shop)
            #expect(try await Self.boughtLines(in: shop) == [])
            #expect(
                try await Self.post(signed, intent: "purchase", saying: found, in: shop).status
                    == 200)
            let line = "bought at onboarding, in DEU, with birds/2, as the app said"
            #expect(try await Self.boughtLines(in: shop) == [line])
            _ = try await Self.post(
                signed, intent: "purchase", saying: ["placement": "settings"], in: shop)
            #expect(try await Self.boughtLines(in: shop) == [line])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a purchase with an overlong placement is accepted, and the placement is shortened`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let signed = try await Self.buySeeds(1, in: shop)
            let long = String(repeating: "ü", count: 101)
            let answer = try await Self.post(
                signed, intent: "purchase",
                saying: ["placement": .string(long), "sdk": "\u{1}", "storefront": "D\u{1}E"],
                in: shop)
            #expect(answer.status == 200)
            #expect(
                try await Self.boughtLines(in: shop)
                    == ["bought at \(long.dropLast()), in DE, as the app said"])
        }
    }

    /// The lines of the customer's explanation that say where something was bought.
    private static func boughtLines(in shop: Shop) async throws -> [String] {
        let explanation = try await shop.server.get("/v1/customers/anna/explain")
        return (explanation["lines"]?.array ?? [])
            .compactMap(\.string).map { $0.trimmingPrefix { $0 == " " } }.map(String.init)
            .filter { $0.hasPrefix("bought ") }
    }
}
