import AppStoreFormats
import Engine
import Ledger
import Testing

/// What an erased customer has spent stays spent. The example pack holds 100 seeds.
@Suite(.serialized) struct ErasedWalletStories {
    private static let token = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
    private static let otherToken = "7d1f6a0c-55b2-4e0b-9c37-ab34cd56ef78"

    private static func buy(
        _ product: String = "seeds.100", _ account: String = "anna", in shop: Shop
    ) async throws -> JSON {
        try await shop.simulator.post(
            "/_sim/devices/\(account)-1/purchases", ["product_id": .string(product)])
    }

    private static func spend(
        _ amount: Int64, of customer: String, in shop: Shop, key: String? = nil
    ) async throws -> Wire.Answer {
        let body: JSON = ["amount": .integer(amount), "reason": "an oak for anna"]
        return try await shop.support.send(
            "POST", "/v1/customers/\(customer)/wallets/seeds/debits", body: body.bytes,
            headers: key.map { ["Idempotency-Key": $0] } ?? [:])
    }

    private static func balance(of customer: String, in shop: Shop) async throws -> Int64? {
        try await shop.server.get("/v1/customers/\(customer)")["wallets"]?["seeds"]?["balance"]?
            .integer
    }

    /// Posts as a customer, and expects the refusal because the pack is used up.
    private static func expectUsedUp(
        _ bought: JSON, for customer: String, in shop: Shop,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let body: JSON = [
            "customer_id": .string(customer),
            "signed_transactions": [.string(try bought.text("signed_transaction"))],
        ]
        let answer = try await shop.server.send("POST", "/v1/purchases", body: body.bytes)
        #expect(answer.status == 409, sourceLocation: location)
        #expect(
            try answer.json["detail"]?.string?.contains("used_up") == true,
            sourceLocation: location)
        #expect(try await balance(of: customer, in: shop) == nil, sourceLocation: location)
    }

    private static func erase(_ customer: String, in shop: Shop) async throws -> Int64? {
        try await shop.support.send("DELETE", "/v1/customers/\(customer)")
            .json["unlinked_purchases"]?.integer
    }

    private static func wallets(in shop: Shop) async throws -> [String] {
        let list = try await shop.support.get("/v1/events?limit=500")
        return (list["items"]?.array ?? []).compactMap { event in
            guard let wallet = event["wallet"], wallet != .null else { return nil }
            let customer = event["customer_id"]?.string ?? "nobody"
            let name = customer.hasPrefix("erased_") ? "erased" : customer
            return "\(name) \(wallet["before"]?.integer ?? 0) → \(wallet["after"]?.integer ?? 0)"
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a spent consumable is credited to nobody after its customer is erased`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice("anna")
            let bought = try await Self.buy(in: shop)
            #expect(try await shop.post(bought, as: "anna") == 200)
            #expect(try await Self.spend(60, of: "anna", in: shop, key: "order-7").status == 200)
            #expect(try await Self.erase("anna", in: shop) == 0)
            for id in ["anna", "ben"] { try await Self.expectUsedUp(bought, for: id, in: shop) }
            _ = try await shop.engine.maintenance.rebuild(verifyOnly: false)
            for id in ["anna", "ben"] { try await Self.expectUsedUp(bought, for: id, in: shop) }
            let imported = try await shop.engine.imports.record(
                receipt: try bought.text("app_receipt"), of: "cleo", app: "birds")
            guard case .unusable = imported else {
                Issue.record("the receipt was imported: \(imported)")
                return
            }
            let order: JSON = [
                "original_transaction_id": .string(try bought.text("original_transaction_id")),
                "reason": "ticket",
            ]
            let moved = try await shop.support.send(
                "POST", "/v1/customers/ben/transfers", body: order.bytes)
            #expect(moved.status == 409)
            #expect(try moved.json["detail"]?.string?.contains("used_up") == true)
            #expect(try await Self.spend(1, of: "anna", in: shop).status == 409)
            // The idempotency key was used, and does not work for the next customer with this id.
            #expect(try await Self.spend(60, of: "anna", in: shop, key: "order-7").status == 422)
            let report = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            #expect(report.isClean, "\(report)")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a refund after an erasure is logged under a pseudonym`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice("anna")
            let bought = try await Self.buy(in: shop)
            #expect(try await shop.post(bought, as: "anna") == 200)
            #expect(try await Self.spend(60, of: "anna", in: shop).status == 200)
            _ = try await Self.erase("anna", in: shop)
            let transaction = try bought.text("transaction_id")
            try await shop.simulator.post("/_sim/transactions/\(transaction)/refund")
            #expect(
                try await Self.wallets(in: shop) == [
                    "erased 0 → 100", "erased 100 → 40", "erased 40 → 0",
                ])
            let log = try await shop.support.get("/v1/events?limit=500")
            #expect(!log.text.contains("anna"))
            let rows = try await shop.database.read { connection in
                try connection.texts("SELECT reason FROM debits")
            }
            #expect(rows == [""])
            let report = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            #expect(report.isClean, "\(report)")
            let found = try await shop.support.get("/v1/customers?query=\(transaction)")
            let name = try #require(found["items"]?.array?.first).text("customer_id")
            try await Self.expectNobodyBecomes(name, in: shop)
        }
    }

    /// Expects that the pseudonym of an erased customer is refused as a customer id.
    private static func expectNobodyBecomes(_ name: String, in shop: Shop) async throws {
        #expect(name.hasPrefix("erased_"))
        #expect(try await balance(of: name, in: shop) == nil)
        let bought = try await buy(in: shop)
        #expect(try await shop.post(bought, as: name) == 422)
        #expect(try await spend(1, of: name, in: shop).status == 409)
        for (path, body): (String, JSON) in [
            ("/v1/customers/ben/aliases", ["customer_id": .string(name)]),
            ("/v1/customers/\(name)/aliases", ["customer_id": "ben"]),
            ("/v1/customers/\(name)/grants", ["entitlement": "pro", "reason": "r"]),
        ] {
            let answer = try await shop.support.send("POST", path, body: body.bytes)
            #expect(answer.status == 422, "\(path)")
            #expect(try answer.json["code"] == "customer_id_not_valid")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a spent pack stays spent after the customer whom its token names is erased`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice("anna", ["app_account_token": .string(Self.token)])
            let first = try await Self.buy(in: shop)
            #expect(try await Self.balance(of: Self.token, in: shop) == 100)
            #expect(try await Self.spend(100, of: Self.token, in: shop).status == 200)
            _ = try await Self.erase(Self.token, in: shop)
            try await Self.expectUsedUp(first, for: "ben", in: shop)
            try await Self.expectUsedUp(first, for: Self.token, in: shop)
            // Another account that the app names later does not get the pack either.
            try await shop.name(Self.otherToken, in: try first.text("original_transaction_id"))
            let transaction = try first.text("transaction_id")
            for verb in ["refund", "reverse-refund"] {
                try await shop.simulator.post("/_sim/transactions/\(transaction)/\(verb)")
            }
            #expect(try await Self.balance(of: Self.otherToken, in: shop) == nil)
            let report = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            #expect(report.isClean, "\(report)")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after a customer known only by token is erased, nobody gets that customer's packs`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice("anna", ["app_account_token": .string(Self.token)])
            let bought = try await Self.buy(in: shop)
            #expect(try await Self.balance(of: Self.token, in: shop) == 100)
            _ = try await Self.erase(Self.token, in: shop)
            try await Self.expectUsedUp(bought, for: "ben", in: shop)
            // No part of a later purchase was credited before.
            let later = try await Self.buy(in: shop)
            #expect(try await shop.post(later, as: "ben") == 200)
            #expect(try await Self.balance(of: "ben", in: shop) == 100)
            let report = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            #expect(report.isClean, "\(report)")
        }
    }

    @Test func `an erased customer who returns can claim a subscription again, but no pack`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            try await shop.addDevice("anna")
            let pack = try await Self.buy(in: shop)
            let month = try await Self.buy("pro.monthly", in: shop)
            for bought in [pack, month] { #expect(try await shop.post(bought, as: "anna") == 200) }
            #expect(try await Self.erase("anna", in: shop) == 1)
            #expect(try await shop.post(month, as: "anna") == 200)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            // This holds even if the pack is in the same receipt.
            _ = try await Self.erase("anna", in: shop)
            let receipt: JSON = [
                "customer_id": "ben", "app_receipt": .string(try month.text("app_receipt")),
            ]
            let answer = try await shop.server.send("POST", "/v1/purchases", body: receipt.bytes)
            #expect([200, 409].contains(answer.status))
            #expect(try await shop.entitlement("pro", of: "ben")?["active"] == true)
            #expect(try await Self.balance(of: "ben", in: shop) == nil)
        }
    }
}
