import AppStoreFormats
import Engine
import Ledger
import Testing

/// The owners of purchases, and the server's answers while notifications are missing.
@Suite(.serialized) struct PurchaseStories {
    private static let token = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    /// Buys on an account's first device. The app does not post the purchase.
    private static func buy(
        _ account: String, _ product: String = "pro.monthly", in shop: Shop,
        _ more: [String: JSON] = [:]
    ) async throws -> String {
        try await shop.addDevice(account, more)
        return try await shop.simulator.post(
            "/_sim/devices/\(account)-1/purchases", ["product_id": .string(product)]
        ).text("signed_transaction")
    }

    private static func post(
        _ transactions: [String], as customer: String, in shop: Shop
    ) async throws -> Wire.Answer {
        let body: JSON = [
            "customer_id": .string(customer),
            "signed_transactions": .array(transactions.map { .string($0) }),
        ]
        return try await shop.server.send("POST", "/v1/purchases", body: body.bytes)
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a purchase known only from a notification has no owner until a device claims it`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let transaction = try await Self.buy("anna", in: shop)
            #expect(try await shop.entitlement("pro", of: "anna") == nil)
            let claimed = try await Self.post([transaction], as: "anna", in: shop)
            #expect(claimed.status == 200)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an account token gives its customer access before any device posts the purchase`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            _ = try await Self.buy("anna", in: shop, ["app_account_token": .string(Self.token)])
            #expect(try await shop.entitlement("pro", of: Self.token)?["active"] == true)
            #expect(
                try await shop.entitlement("pro", of: Self.token.uppercased())?["active"] == true)
            #expect(try await shop.entitlement("pro", of: "ben") == nil)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a purchase stays with the customer whom its token names`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await shop.support.post(
                "/v1/customers/anna/aliases", ["customer_id": .string(Self.token)])
            let transaction = try await Self.buy(
                "anna", in: shop, ["app_account_token": .string(Self.token)])
            let stolen = try await Self.post([transaction], as: "ben", in: shop)
            #expect(stolen.status == 409)
            #expect(try await shop.entitlement("pro", of: "ben") == nil)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `by default a purchase does not move to the next customer who posts it`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let transaction = try await Self.buy("anna", in: shop)
            _ = try await Self.post([transaction], as: "anna", in: shop)
            let second = try await Self.post([transaction], as: "ben", in: shop)
            #expect(second.status == 409)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            #expect(try await shop.entitlement("pro", of: "ben") == nil)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after a merge, a customer has the purchases of each id`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let transaction = try await Self.buy("anna", in: shop)
            _ = try await Self.post([transaction], as: "device-7", in: shop)
            try await shop.support.post("/v1/customers/anna/aliases", ["customer_id": "device-7"])
            let anna = try await shop.server.get("/v1/customers/anna")
            #expect(anna["entitlements"]?["pro"]?["active"] == true)
            #expect(anna["aliases"] == ["device-7"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a sandbox purchase gives no access in production`(database: StoryDatabase) async throws {
        try await withShop(on: database) { shop in
            let transaction = try await Self.buy("anna", in: shop, ["environment": "sandbox"])
            let posted = try await Self.post([transaction], as: "anna", in: shop)
            #expect(try posted.json["environment"] == "sandbox")
            #expect(try posted.json["entitlements"]?["pro"]?["active"] == true)
            #expect(try await shop.entitlement("pro", of: "anna") == nil)
            let sandbox = try await shop.entitlement("pro", of: "anna", "?environment=sandbox")
            #expect(sandbox?["active"] == true)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if a renewal's notification is lost, access stays open for at most a day`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let transaction = try await Self.buy("anna", in: shop)
            _ = try await Self.post([transaction], as: "anna", in: shop)
            try await shop.simulator.post("/_sim/faults", ["notifications": ["drop": 1]])
            try await shop.simulator.post("/_sim/clock", ["advance": "P31D"])
            let held = try await shop.entitlement("pro", of: "anna")
            #expect(held?["state"] == "unconfirmed")
            #expect(held?["active"] == true)
            try await shop.simulator.post("/_sim/clock", ["advance": "PT23H59M"])
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            try await shop.simulator.post("/_sim/clock", ["advance": "PT1M"])
            let over = try await shop.entitlement("pro", of: "anna")
            #expect(over?["active"] == false)
            #expect(over?["reason"]?.string?.contains("never confirmed") == true)
            let restored = try await shop.simulator.post("/_sim/devices/anna-1/restore")
            let transactions = (restored["signed_transactions"]?.array ?? []).compactMap(\.string)
            _ = try await Self.post(transactions, as: "anna", in: shop)
            #expect(try await shop.entitlement("pro", of: "anna")?["state"] == "paid")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if a renewal is charged a day early, answers stay the same until the new period begins`(
        database: StoryDatabase
    ) async throws {
        let life = Life(
            "", [.buy("pro.monthly")] + Array(repeating: .pass("P10D"), count: 12))
        try await withShop(on: database, renewsEarlySeconds: 86_400) { shop in
            try await shop.play(life, isCompared: true)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `without a grace period, a failed payment closes access at the end of the period`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, graceDays: 0) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            let acts: [Life.Act] = [
                .buy("pro.monthly"), .change("fail-billing"), .pass("P32D"), .pass("P5D"),
                .change("recover-billing"), .pass("P40D"),
            ]
            for act in acts { try await stage.play(act) { try await $0.compare("\(act)") } }
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a refund notification that arrives after more than four days ends access`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let transaction = try await Self.buy("anna", in: shop)
            _ = try await Self.post([transaction], as: "anna", in: shop)
            try await shop.simulator.post(
                "/_sim/faults",
                ["notifications": ["delay": 1, "delay_seconds": 400_000]])
            try await shop.simulator.post("/_sim/subscriptions/anna:pro.monthly/refund")
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            try await shop.simulator.post("/_sim/clock", ["advance": "P5D"])
            #expect(try await shop.entitlement("pro", of: "anna")?["state"] == "refunded")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an explanation names the documents from which an answer follows`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let transaction = try await Self.buy("anna", in: shop)
            _ = try await Self.post([transaction], as: "anna", in: shop)
            try await shop.simulator.post("/_sim/subscriptions/anna:pro.monthly/refund")
            let text = try await shop.engine.customers.explain(
                "anna", app: "birds", environment: .production)
            #expect(text.contains("pro: closed, refunded. Refunded on 2026-01-01 12:00 UTC."))
            #expect(text.contains("linked by device"))
            #expect(text.contains("notification from the App Store"))
            #expect(text.components(separatedBy: "notification").count > 2, "\(text)")
        }
    }

    @Test func `an explanation names products that the configuration lacks`() async throws {
        var app = birds
        app.settings.entitlements = ["pro": ["pro.yearly"]]
        try await withShop(on: .sqlite, app: app) { shop in
            let transaction = try await Self.buy("anna", in: shop)
            _ = try await Self.post([transaction], as: "anna", in: shop)
            let text = try await shop.engine.customers.explain(
                "anna", app: "birds", environment: .production)
            #expect(text.contains("pro.monthly: gives nothing, perennial.yaml does not list it"))
        }
    }

    @Test func `a rebuild changes nothing if another process deletes the rebuild's rows`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let transaction = try await Self.buy("anna", in: shop)
            _ = try await Self.post([transaction], as: "anna", in: shop)
            try await shop.database.write {
                _ = try $0.run(
                    "CREATE TRIGGER taken AFTER INSERT ON facts_rebuilt BEGIN "
                        + "DELETE FROM facts_rebuilt; END", [])
            }
            await #expect(throws: EngineFailure.self) {
                _ = try await shop.engine.maintenance.rebuild(verifyOnly: false)
            }
            try await shop.database.write { _ = try $0.run("DROP TRIGGER taken", []) }
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
            #expect(try await shop.entitlement("pro", of: "anna")?["state"] == "paid")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the facts of documents that can no longer be verified are removed only on request`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let transaction = try await Self.buy("anna", in: shop)
            _ = try await Self.post([transaction], as: "anna", in: shop)
            try await shop.database.write {
                _ = try $0.run("UPDATE documents SET received_at_ms = 0", [])
            }
            let other = try await Self.buy("ben", in: shop)
            _ = try await Self.post([other], as: "ben", in: shop)
            #expect(try await !shop.engine.maintenance.rebuild(verifyOnly: true).unusable.isEmpty)
            await #expect(throws: EngineFailure.self) {
                _ = try await shop.engine.maintenance.rebuild(verifyOnly: false)
            }
            #expect(try await shop.entitlement("pro", of: "anna")?["state"] == "paid")
            // The failed rebuild leaves no facts of the other document.
            let left = try await shop.database.read {
                try $0.number("SELECT count(*) FROM facts_rebuilt")
            }
            #expect(left == 0)
            _ = try await shop.engine.maintenance.rebuild(verifyOnly: false, withoutUnusable: true)
            #expect(try await shop.entitlement("pro", of: "anna") == nil)
            #expect(try await shop.entitlement("pro", of: "ben")?["state"] == "paid")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `derived rows that were lost or changed are found and rebuilt`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let transaction = try await Self.buy("anna", in: shop)
            _ = try await Self.post([transaction], as: "anna", in: shop)
            try await shop.simulator.post("/_sim/clock", ["advance": "P95D"])
            for damage in [
                "DELETE FROM facts WHERE subject <> ''", "DELETE FROM purchases",
                "UPDATE purchases SET timeline = (SELECT statement FROM facts LIMIT 1)",
                "UPDATE facts SET attested_at_ms = attested_at_ms + 1 WHERE subject = ''",
            ] {
                try await shop.database.write { _ = try $0.run(damage, []) }
                let found = try await shop.engine.maintenance.rebuild(verifyOnly: true)
                #expect(found.differences > 0, "\(damage)")
                _ = try await shop.engine.maintenance.rebuild(verifyOnly: false)
                let mended = try await shop.engine.maintenance.rebuild(verifyOnly: true)
                #expect(mended.isClean, "\(damage): \(mended)")
                #expect(try await shop.entitlement("pro", of: "anna")?["state"] == "paid")
            }
        }
    }
}
