import AppStoreFormats
import Engine
import Ledger
import Testing

/// Customers who are known only by an account token, purchases that two customers claim, and traces
/// of erased customers.
@Suite(.serialized) struct IdentityStories {
    private static let token = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    private static func isOpen(_ customer: String, in shop: Shop) async throws -> Bool {
        try await shop.entitlement("pro", of: customer)?["active"] == true
    }

    @discardableResult
    private static func transfer(
        _ bought: JSON, to customer: String, in shop: Shop
    ) async throws -> JSON {
        try await shop.support.post(
            "/v1/customers/\(customer)/transfers",
            [
                "original_transaction_id": .string(try bought.text("original_transaction_id")),
                "reason": "ticket",
            ])
    }

    private static func events(_ shop: Shop) async throws -> [(type: String, customer: String?)] {
        let list = try await shop.support.get("/v1/events?limit=500")
        return try (list["items"]?.array ?? []).map {
            (try $0.text("type"), $0["customer_id"]?.string)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a customer known only by account token can be erased, too`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            _ = try await shop.buyMonth("anna", token: Self.token)
            #expect(try await Self.isOpen(Self.token, in: shop))
            _ = try await shop.support.send("DELETE", "/v1/customers/\(Self.token)")
            #expect(try await !Self.isOpen(Self.token, in: shop))
            let before = try await Self.events(shop).count
            try await shop.simulator.post("/_sim/clock", ["advance": "P32D"])
            let later = try await shop.support.get("/v1/events?after=\(before)")
            #expect(later["items"]?.array?.isEmpty == false)
            #expect(!later.text.contains(Self.token))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a purchase belongs to the customer in its token, even before the customer is stored`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let bought = try await shop.buyMonth("anna", token: Self.token)
            #expect(try await shop.post(bought, as: "ben") == 409)
            #expect(try await Self.isOpen(Self.token, in: shop))
            #expect(try await shop.post(bought, as: Self.token) == 200)
            #expect(try await Self.isOpen(Self.token, in: shop))
            #expect(try await !Self.isOpen("ben", in: shop))
            #expect(try await shop.post(bought, as: "ben") == 409)
        }
    }

    @Test
    func `erasing the customer of an upper-case token keeps the lower-case token's customer`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            // The two ids became separate customers while tokens were not customer ids.
            let earlier = try shop.serverOfForeignTokens()
            for id in [Self.token, Self.token.uppercased()] {
                _ = try await earlier.grants.add(
                    NewGrant(entitlement: "plus", reason: "r"), to: CustomerID(rawValue: id),
                    app: "birds", environment: .production)
                try await shop.simulator.post("/_sim/clock", ["advance": "PT1H"])
            }
            _ = try await shop.buyMonth("anna", token: Self.token)
            _ = try await shop.support.send(
                "DELETE", "/v1/customers/\(Self.token.uppercased())")
            #expect(try await Self.isOpen(Self.token, in: shop))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a share ends with an event when the owner is erased`(
        database: StoryDatabase
    ) async throws {
        var app = birds
        app.settings.restorePolicies = [.production: .share]
        try await withShop(on: database, app: app) { shop in
            let bought = try await shop.buyMonth("anna")
            for name in ["dora", "emil"] {
                #expect(try await shop.post(bought, as: name) == 200)
            }
            _ = try await shop.support.send("DELETE", "/v1/customers/dora")
            #expect(try await !Self.isOpen("emil", in: shop))
            #expect(
                try await Self.events(shop).contains {
                    $0 == (type: "share_ended", customer: "emil")
                })
            let log = try await shop.support.get("/v1/events?limit=500")
            #expect(!log.text.contains("dora"))
            #expect(try await shop.post(bought, as: "emil") == 200)
            let emil = try await shop.server.get("/v1/customers/emil")
            #expect(emil["subscriptions"]?.array?.count == 1)
        }
    }

    @Test
    func `after an erasure, the event share_ended does not contain the erased customers' ids`()
        async throws
    {
        var app = birds
        app.settings.restorePolicies = [.production: .share]
        try await withShop(on: .sqlite, app: app) { shop in
            let bought = try await shop.buyMonth("anna")
            for name in ["anna", "ben"] {
                #expect(try await shop.post(bought, as: name) == 200)
            }
            try await Self.transfer(bought, to: "cleo", in: shop)
            let transfers = try await shop.support.get("/v1/customers/ben/transfers")
            let share = try #require(transfers["items"]?.array?.first).text("transfer_id")
            _ = try await shop.support.send("DELETE", "/v1/customers/ben/transfers/\(share)")
            #expect(try await !Self.isOpen("ben", in: shop))
            _ = try await shop.support.send("DELETE", "/v1/customers/cleo")
            _ = try await shop.support.send("DELETE", "/v1/customers/anna")
            let log = try await shop.support.get("/v1/events?limit=500")
            #expect(log.text.contains("share_ended"))
            #expect(!log.text.contains("cleo") && !log.text.contains("anna"))
        }
    }

    @Test func `only the latest of two transfers to a customer can be undone`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            let first = try await Self.transfer(bought, to: "ben", in: shop).text("transfer_id")
            try await Self.transfer(bought, to: "anna", in: shop)
            let last = try await Self.transfer(bought, to: "ben", in: shop).text("transfer_id")
            let path = "/v1/customers/ben/transfers/"
            #expect(try await shop.support.send("DELETE", path + first).status == 409)
            #expect(try await shop.support.send("DELETE", path + last).status == 200)
            #expect(try await Self.isOpen("anna", in: shop))
        }
    }

    @Test func `after support confirms the current owner, no device takes the purchase`()
        async throws
    {
        var app = birds
        app.settings.restorePolicies = [.production: .transfer]
        try await withShop(on: .sqlite, app: app) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            #expect(
                try await Self.transfer(bought, to: "anna", in: shop)["transfer_id"]?.string == nil)
            #expect(try await shop.post(bought, as: "ben") == 409)
            #expect(try await Self.isOpen("anna", in: shop))
            let named = try await shop.buyMonth("cleo", token: Self.token)
            #expect(
                try await Self.transfer(named, to: Self.token, in: shop)["transfer_id"]?.string
                    == nil)
            #expect(try await shop.post(named, as: "ben") == 409)
        }
    }

    @Test func `undoing a transfer also ends the new owner's block of the purchase`() async throws {
        try await withShop(on: .sqlite) { shop in
            let bought = try await shop.buyMonth("anna")
            let moved = try await Self.transfer(bought, to: "ben", in: shop)
            let id = try bought.text("original_transaction_id")
            try await shop.support.post(
                "/v1/customers/ben/blocks",
                ["original_transaction_id": .string(id), "reason": "a fraud"])
            let path = "/v1/customers/ben/transfers/\(try moved.text("transfer_id"))"
            #expect(try await shop.support.send("DELETE", path).status == 200)
            #expect(try await shop.post(bought, as: "cleo") == 200)
            let history = try await shop.support.get("/v1/customers/cleo/history")
            #expect(!history.text.contains("fraud"))
            let types = try await Self.events(shop).map(\.type)
            #expect(types.contains("unblocked"))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the customer in a purchase's token gets an event of a transfer, which can be undone`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let bought = try await shop.buyMonth("anna", token: Self.token)
            try await shop.support.post(
                "/v1/customers/\(Self.token)/grants", ["entitlement": "plus", "reason": "r"])
            let moved = try await Self.transfer(bought, to: "ben", in: shop)
            #expect(try moved.text("from") == Self.token)
            #expect(
                try await Self.events(shop).contains {
                    $0 == (type: "moved_away", customer: Self.token)
                })
            #expect(try await Self.events(shop).contains { $0 == (type: "moved", customer: "ben") })
            let path = "/v1/customers/ben/transfers/\(try moved.text("transfer_id"))"
            #expect(try await shop.support.send("DELETE", path).status == 200)
            #expect(try await Self.isOpen(Self.token, in: shop))
            #expect(try await !Self.isOpen("ben", in: shop))
        }
    }

    @Test func `a purchase can be blocked for the customer in its account token`() async throws {
        try await withShop(on: .sqlite) { shop in
            let bought = try await shop.buyMonth("anna", token: Self.token)
            try await shop.support.post(
                "/v1/customers/\(Self.token)/grants", ["entitlement": "plus", "reason": "r"])
            let id = try bought.text("original_transaction_id")
            try await shop.support.post(
                "/v1/customers/\(Self.token)/blocks",
                ["original_transaction_id": .string(id), "reason": "theirs"])
            #expect(try await Self.isOpen(Self.token, in: shop))
            let body: JSON = [
                "customer_id": "ben",
                "signed_transactions": [.string(try bought.text("signed_transaction"))],
            ]
            let refused = try await shop.server.send("POST", "/v1/purchases", body: body.bytes)
            #expect(try refused.json.text("detail").contains("blocked"))
        }
    }

    @Test
    func `after an erasure and an undone transfer, the erased customer's token gives no access`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let bought = try await shop.buyMonth("anna", token: Self.token)
            let moved = try await Self.transfer(bought, to: "ben", in: shop)
            _ = try await shop.support.send("DELETE", "/v1/customers/\(Self.token)")
            let path = "/v1/customers/ben/transfers/\(try moved.text("transfer_id"))"
            #expect(try await shop.support.send("DELETE", path).status == 200)
            #expect(try await !Self.isOpen(Self.token, in: shop))
        }
    }

    @Test
    func `an erased customer who returns cannot take a purchase from its new owner`() async throws {
        try await withShop(on: .sqlite) { shop in
            let bought = try await shop.buyMonth("anna", token: Self.token)
            _ = try await shop.support.send("DELETE", "/v1/customers/\(Self.token)")
            #expect(try await shop.post(bought, as: "ben") == 200)
            #expect(try await shop.post(bought, as: Self.token) == 409)
            #expect(try await Self.isOpen("ben", in: shop))
        }
    }

    @Test
    func `if a sharer becomes the owner and loses the purchase, the earlier share gives no access`()
        async throws
    {
        var app = birds
        app.settings.restorePolicies = [.production: .share]
        try await withShop(on: .sqlite, app: app) { shop in
            let bought = try await shop.buyMonth("anna")
            for name in ["anna", "ben"] {
                #expect(try await shop.post(bought, as: name) == 200)
            }
            try await Self.transfer(bought, to: "ben", in: shop)
            let ben = try await shop.server.get("/v1/customers/ben")
            #expect(ben["subscriptions"]?.array?.count == 1)
            try await Self.transfer(bought, to: "cleo", in: shop)
            #expect(try await !Self.isOpen("ben", in: shop))
        }
    }

    @Test
    func `a transfer to a customer can be undone after the customer merges with the next owner`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            let first = try await Self.transfer(bought, to: "ben", in: shop).text("transfer_id")
            try await Self.transfer(bought, to: "cleo", in: shop)
            try await shop.support.post(
                "/v1/customers/ben/aliases", ["customer_id": "cleo"])
            let path = "/v1/customers/ben/transfers/\(first)"
            #expect(try await shop.support.send("DELETE", path).status == 200)
            #expect(try await Self.isOpen("anna", in: shop))
        }
    }
}
