import AppStoreFormats
import Engine
import Ledger
import Testing

/// Customers that are known by an account token alone, purchases that are had by two, and what is
/// left of those who were forgotten.
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
    func `who is known by an account token alone is forgotten, too`(
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
    func `whom a purchase names gets it, also before anything is kept of them`(
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

    @Test func `who has the same token in the other case stays whom it names`() async throws {
        try await withShop(on: .sqlite) { shop in
            // They became two customers when tokens named nobody.
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
    func `who shared what somebody had who is forgotten has it no more, and is told`(
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

    @Test func `a share that ended after its purchase went on names nobody who is forgotten`()
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

    @Test func `a transfer that was followed by another cannot be undone, though it came back`()
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

    @Test func `what support says stays, also of who had it already`() async throws {
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

    @Test func `a block ends with what it kept`() async throws {
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
    func `whom a purchase names is told that support has moved it, and gets it back`(
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

    @Test func `what names somebody can be kept for them`() async throws {
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
    func `a token of somebody who was forgotten means nobody, whatever comes of its purchase`()
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

    @Test func `who was forgotten takes nothing back from who has it since`() async throws {
        try await withShop(on: .sqlite) { shop in
            let bought = try await shop.buyMonth("anna", token: Self.token)
            _ = try await shop.support.send("DELETE", "/v1/customers/\(Self.token)")
            #expect(try await shop.post(bought, as: "ben") == 200)
            #expect(try await shop.post(bought, as: Self.token) == 409)
            #expect(try await Self.isOpen("ben", in: shop))
        }
    }

    @Test func `a share that has become a purchase of one's own does not outlive it`() async throws
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

    @Test func `two who have become one can be told from whom it came`() async throws {
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
