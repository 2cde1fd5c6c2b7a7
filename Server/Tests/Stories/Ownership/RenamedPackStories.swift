import AppStoreFormats
import Engine
import Testing

/// The app lets the App Store name another account in a purchase that was already credited.
@Suite(.serialized) struct RenamedPackStories {
    private static let uma = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
    private static let vera = "5b1e0d7a-92c4-4f0e-8a31-0123456789ab"

    /// The transaction that the app finds when it starts, newly signed by the App Store.
    private static func found(in shop: Shop) async throws -> JSON {
        let shown = try await shop.simulator.get("/_sim/devices/anna-1/unfinished")
        let signed = try #require(shown["signed_transactions"]?.array)
        try #require(signed.count == 1)
        return ["signed_transaction": signed[0]]
    }

    private static func seeds(of customer: String, in shop: Shop) async throws -> Int64 {
        try await shop.server.get("/v1/customers/\(customer)")["wallets"]?["seeds"]?["balance"]?
            .integer ?? 0
    }

    private static func pass(in shop: Shop) async throws {
        try await shop.simulator.post("/_sim/clock", ["advance": "PT1M"])
    }

    /// Uma and vera are customers, and a notification has reported the purchase that names uma.
    private static func begin(_ product: JSON, in shop: Shop) async throws -> String {
        for (name, token) in [("uma", uma), ("vera", vera)] {
            try await shop.support.post(
                "/v1/customers/\(name)/aliases", ["customer_id": .string(token)])
        }
        try await shop.addDevice("anna", ["app_account_token": .string(uma)])
        let bought = try await shop.simulator.post(
            "/_sim/devices/anna-1/purchases", ["product_id": product])
        // The purchase is stored but not linked to an owner.
        #expect(try await shop.post(bought, as: "carl") == 409)
        return try bought.text("original_transaction_id")
    }

    private static func spend(_ amount: Int64, of customer: String, in shop: Shop) async throws {
        guard amount > 0 else { return }
        try await shop.support.post(
            "/v1/customers/\(customer)/wallets/seeds/debits",
            ["amount": .integer(amount), "reason": "an oak"])
    }

    @Test(arguments: [0, 30, 100] as [Int64], StoryDatabase.allCases)
    func `if a pack's token changes, a spent pack keeps its owner, and an unspent pack moves`(
        spent: Int64, database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let original = try await Self.begin("seeds.100", in: shop)
            #expect(try await Self.seeds(of: "uma", in: shop) == 100)
            try await Self.spend(spent, of: "uma", in: shop)
            try await shop.name(Self.vera, in: original)
            try await Self.pass(in: shop)
            let found = try await Self.found(in: shop)
            let (isSpent, left) = (spent > 0, [spent > 0 ? 100 - spent : 0, spent > 0 ? 0 : 100])
            let preview = try await shop.support.post(
                "/v1/purchases/preview",
                [
                    "customer_id": "vera",
                    "signed_transactions": [.string(try found.text("signed_transaction"))],
                ])
            let shown = try #require(preview["purchases"]?.array?.first)
            #expect(try shown.text("outcome") == (isSpent ? "refuse" : "link"))
            #expect(shown["owner_id"]?.string == (isSpent ? "uma" : nil))
            // The result does not depend on who posts the document.
            #expect(try await shop.post(found, as: "carl") == 409)
            for _ in 0..<2 {
                #expect(
                    try await [
                        Self.seeds(of: "uma", in: shop), Self.seeds(of: "vera", in: shop),
                    ] == left)
                #expect(try await shop.post(found, as: "vera") == (isSpent ? 409 : 200))
                #expect(try await shop.post(found, as: "uma") == (isSpent ? 200 : 409))
            }
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
            _ = try await shop.engine.maintenance.rebuild(verifyOnly: false)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
            let rest = try await [
                Self.seeds(of: "uma", in: shop), Self.seeds(of: "vera", in: shop),
            ]
            #expect(rest == left)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if a used subscription's token changes, the subscription moves to the named customer`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let original = try await Self.begin("pro.monthly", in: shop)
            #expect(try await shop.entitlement("pro", of: "uma")?["active"] == true)
            try await shop.name(Self.vera, in: original)
            try await Self.pass(in: shop)
            #expect(try await shop.post(try await Self.found(in: shop), as: "carl") == 409)
            #expect(try await shop.entitlement("pro", of: "uma")?["active"] != true)
            #expect(try await shop.entitlement("pro", of: "vera")?["active"] == true)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }
}
