import AppStoreFormats
import Engine
import Foundation
import Ledger
import Testing

@testable import Program

/// A purchase may name a customer by its account token. A purchase with such a token belongs to
/// that customer, whoever shows it first, and even if nothing else is known about the customer.
@Suite(.serialized) struct NamedPurchaseStories {
    private static let token = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    private static func buy(
        _ product: String, token: String = Self.token, in shop: Shop
    ) async throws -> JSON {
        try await shop.addDevice("anna", ["app_account_token": .string(token)])
        return try await shop.simulator.post(
            "/_sim/devices/anna-1/purchases", ["product_id": .string(product)])
    }

    /// The unfinished transactions that the app finds when it starts, in the form in which it posts
    /// them.
    private static func unfinished(in shop: Shop) async throws -> [JSON] {
        let shown = try await shop.simulator.get("/_sim/devices/anna-1/unfinished")
        return try #require(shown["signed_transactions"]?.array)
    }

    private static func post(
        _ signed: [JSON], as customer: String, in shop: Shop
    ) async throws -> Wire.Answer {
        let body: JSON = [
            "customer_id": .string(customer), "signed_transactions": .array(signed),
        ]
        return try await shop.server.send("POST", "/v1/purchases", body: body.bytes)
    }

    private static func isOpen(_ customer: String, in shop: Shop) async throws -> Bool {
        try await shop.entitlement("pro", of: customer)?["active"] == true
    }

    private static func seeds(of customer: String, in shop: Shop) async throws -> Int64? {
        try await shop.server.get("/v1/customers/\(customer)")["wallets"]?["seeds"]?["balance"]?
            .integer
    }

    private static func events(of customer: String, in shop: Shop) async throws -> [JSON] {
        let list = try await shop.support.get("/v1/events?customer_id=\(customer)&limit=500")
        return list["items"]?.array ?? []
    }

    @Test(arguments: ["pro.monthly", "seeds.100"], StoryDatabase.allCases)
    func `a purchase with a token is refused to the next person who logs in on the device`(
        product: String, database: StoryDatabase
    ) async throws {
        var app = birds
        app.settings.restorePolicies = [.production: .transfer]
        try await withShop(on: database, app: app) { shop in
            _ = try await Self.buy(product, in: shop)
            // The app was killed before it posted anything. Ben logs in, and the app starts again.
            let found = try await Self.unfinished(in: shop)
            #expect(found.count == 1)
            let refused = try await Self.post(found, as: "ben", in: shop)
            #expect(refused.status == 409)
            #expect(try refused.json.text("detail").hasSuffix("(names_another)."))
            #expect(try refused.json.text("title") == "The purchase names another customer.")
            #expect(try refused.json.text("remedy").contains("account_tokens: other"))
            #expect(try await shop.server.get("/v1/customers/ben")["subscriptions"] == [])
            #expect(try await Self.seeds(of: "ben", in: shop) == nil)
            // The buyer has the purchase, before and after the buyer's app posts it.
            let isSeeds = product == "seeds.100"
            for _ in 0..<2 {
                #expect(try await Self.isOpen(Self.token, in: shop) == !isSeeds)
                #expect(try await Self.seeds(of: Self.token, in: shop) == (isSeeds ? 100 : nil))
                #expect(try await Self.post(found, as: Self.token, in: shop).status == 200)
            }
            #expect(try await Self.post(found, as: "ben", in: shop).status == 409)
            #expect(try await Self.events(of: "ben", in: shop).isEmpty)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    private static func join(
        _ other: String, to id: String, in shop: Shop
    ) async throws -> Wire.Answer {
        let body: JSON = ["customer_id": .string(other)]
        return try await shop.server.send("POST", "/v1/customers/\(id)/aliases", body: body.bytes)
    }

    @Test(arguments: ["pro.monthly", "seeds.100"], StoryDatabase.allCases)
    func `an app cannot add another customer's account token as an alias to get the purchase`(
        product: String, database: StoryDatabase
    ) async throws {
        let anonymous = "anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
        try await withShop(on: database) { shop in
            let bought = try await Self.buy(product, in: shop)
            let signed = JSON.string(try bought.text("signed_transaction"))
            // The thief has the app's key and a copy that contains the token.
            for thief in ["thief", anonymous] {
                for token in [Self.token, Self.token.uppercased()] where thief == "thief" {
                    let joined = try await Self.join(token, to: thief, in: shop)
                    #expect(joined.status == 409, "\(token) to \(thief)")
                    let reversed = try await Self.join(thief, to: token, in: shop)
                    #expect(reversed.status == 409, "\(thief) to \(token)")
                }
                let posted = try await Self.post([signed], as: thief, in: shop)
                #expect(posted.status == 409, "\(thief)")
                #expect(try posted.json.text("detail").hasSuffix("(names_another)."))
            }
            #expect(try await shop.server.get("/v1/customers/thief")["subscriptions"] == [])
            // The UUID in the other case is the same id, so it does not help the thief.
            try await shop.server.post(
                "/v1/customers/\(Self.token.uppercased())/account_token")
            let upper = try await Self.post([signed], as: Self.token.uppercased(), in: shop)
            #expect(upper.status == 200)
            #expect(try await Self.post([signed], as: Self.token, in: shop).status == 200)
            let isSeeds = product == "seeds.100"
            #expect(try await Self.isOpen(Self.token, in: shop) == !isSeeds)
            #expect(try await Self.seeds(of: Self.token, in: shop) == (isSeeds ? 100 : nil))
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(arguments: [0, 1] as [Int64], StoryDatabase.allCases)
    func `an erased customer's pack goes to the customer in its token only if it is unspent`(
        spent: Int64, database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let signed = try await Self.buy("seeds.100", in: shop).text("signed_transaction")
            _ = try await shop.serverOfForeignTokens().recording.record(
                PurchaseEvidence(signedTransactions: [signed]), of: "thief", app: "birds")
            if spent > 0 {
                try await shop.support.post(
                    "/v1/customers/thief/wallets/seeds/debits",
                    ["amount": .integer(spent), "reason": "an oak"])
            }
            #expect(try await shop.support.send("DELETE", "/v1/customers/thief").status == 200)
            let status = try await Self.post([.string(signed)], as: Self.token, in: shop).status
            #expect(status == (spent == 0 ? 200 : 409))
            let seeds = try await Self.seeds(of: Self.token, in: shop)
            #expect(seeds ?? 0 == (spent == 0 ? 100 : 0))
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a spent and refunded pack is refused to the customer in its account token`(
        database: StoryDatabase
    ) async throws {
        var app = birds
        app.settings.wallets.currencies["seeds"] = .init(refunds: .belowZero)
        try await withShop(on: database, app: app) { shop in
            let bought = try await Self.buy("seeds.100", in: shop)
            let signed = try bought.text("signed_transaction")
            _ = try await shop.serverOfForeignTokens().recording.record(
                PurchaseEvidence(signedTransactions: [signed]), of: "second", app: "birds")
            try await shop.support.post(
                "/v1/customers/second/wallets/seeds/debits", ["amount": 100, "reason": "an oak"])
            let path = "/_sim/transactions/\(try bought.text("transaction_id"))"
            try await shop.simulator.post("\(path)/refund")
            #expect(try await Self.seeds(of: "second", in: shop) == -100)
            #expect(try await Self.post([.string(signed)], as: Self.token, in: shop).status == 409)
            // When the refund is reversed, the seeds are still credited only once.
            try await shop.simulator.post("\(path)/reverse-refund")
            #expect(try await Self.seeds(of: "second", in: shop) == 0)
            #expect(try await Self.seeds(of: Self.token, in: shop) ?? 0 == 0)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an unspent pack moves to the customer in its account token, and the move can be undone`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let bought = try await Self.buy("seeds.100", in: shop)
            let signed = try bought.text("signed_transaction")
            // A link that was made while tokens were not customer ids stays in force.
            _ = try await shop.serverOfForeignTokens().recording.record(
                PurchaseEvidence(signedTransactions: [signed]), of: "thief", app: "birds")
            #expect(try await Self.post([.string(signed)], as: "thief", in: shop).status == 200)
            #expect(try await Self.seeds(of: "thief", in: shop) == 100)
            #expect(try await Self.post([.string(signed)], as: Self.token, in: shop).status == 200)
            #expect(try await Self.seeds(of: "thief", in: shop) ?? 0 == 0)
            #expect(try await Self.seeds(of: Self.token, in: shop) == 100)
            let lost = try await Self.events(of: "thief", in: shop)
            let away = try #require(lost.first { $0["type"] == "moved_away" })
            #expect(try away.text("other_customer_id") == Self.token)
            let transfers = try await shop.support.get("/v1/customers/thief/transfers")
            let transfer = try #require(transfers["items"]?.array?.last).text("transfer_id")
            let path = "/v1/customers/thief/transfers/\(transfer)"
            #expect(try await shop.support.send("DELETE", path).status == 200)
            #expect(try await Self.seeds(of: "thief", in: shop) == 100)
            #expect(try await Self.seeds(of: Self.token, in: shop) ?? 0 == 0)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `with account_tokens: other, an account token does not make a customer the owner`(
        database: StoryDatabase
    ) async throws {
        var app = birds
        app.settings.accountTokens = .other
        try await withShop(on: database, app: app) { shop in
            let bought = try await shop.buyMonth("anna", token: Self.token)
            #expect(try await !Self.isOpen(Self.token, in: shop))
            #expect(try await Self.events(of: Self.token, in: shop).isEmpty)
            let found = try await shop.support.get("/v1/customers?query=\(Self.token)")
            #expect(found["items"] == [])
            try await shop.support.post(
                "/v1/customers/carl/aliases", ["customer_id": .string(Self.token)])
            #expect(try await !Self.isOpen("carl", in: shop))
            #expect(try await shop.post(bought, as: "anna") == 200)
            #expect(try await shop.post(bought, as: "carl") == 409)
            #expect(try await Self.isOpen("anna", in: shop))
        }
    }

    @Test func `an account token of only zeros names no customer`() async throws {
        let zero = "00000000-0000-0000-0000-000000000000"
        try await withShop(on: .sqlite) { shop in
            let bought = try await shop.buyMonth("anna", token: zero)
            #expect(try await shop.post(bought, as: "anna") == 200)
            #expect(try await Self.isOpen("anna", in: shop))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a customer known only by token gets the events of transfers and their undoing`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let bought = try await Self.buy("pro.monthly", in: shop)
            let moved = try await shop.support.post(
                "/v1/customers/ben/transfers",
                [
                    "original_transaction_id": .string(try bought.text("original_transaction_id")),
                    "reason": "ticket 7",
                ])
            #expect(try await Self.isOpen("ben", in: shop))
            #expect(try await !Self.isOpen(Self.token, in: shop))
            let away = try #require(try await Self.events(of: Self.token, in: shop).last)
            #expect(try away.text("type") == "moved_away")
            #expect(away["customer_id"]?.string == nil)
            #expect(try away.text("account_token") == Self.token)
            let path = "/v1/customers/ben/transfers/\(try moved.text("transfer_id"))"
            #expect(try await shop.support.send("DELETE", path).status == 200)
            #expect(try await Self.isOpen(Self.token, in: shop))
            #expect(try await Self.events(of: Self.token, in: shop).last?["type"] == "moved")
            #expect(try await Self.events(of: "ben", in: shop).last?["type"] == "unlinked")
            #expect(try await shop.post(bought, as: "ben") == 409)
            // None of these events contains an id of the erased customer.
            _ = try await shop.support.send("DELETE", "/v1/customers/ben")
            let log = try await shop.support.get("/v1/events?limit=500")
            #expect(!log.text.contains("\"ben\""))
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test func `a preview names the customer in the account token as the owner of the purchase`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let bought = try await Self.buy("pro.monthly", in: shop)
            for (customer, owner, outcome) in [
                ("ben", "another", "refuse"), (Self.token, "customer", "link"),
            ] {
                let preview = try await shop.support.post(
                    "/v1/purchases/preview",
                    [
                        "customer_id": .string(customer),
                        "signed_transactions": [.string(try bought.text("signed_transaction"))],
                    ])
                let shown = try #require(preview["purchases"]?.array?.first)
                #expect(try shown.text("owner") == owner)
                #expect(try shown.text("outcome") == outcome)
                #expect(shown["owner_id"]?.string == (customer == "ben" ? Self.token : nil))
            }
        }
    }

    @Test
    func `a purchase can be blocked for a customer known only by account token`() async throws {
        try await withShop(on: .sqlite) { shop in
            let bought = try await Self.buy("pro.monthly", in: shop)
            try await shop.support.post(
                "/v1/customers/\(Self.token)/blocks",
                [
                    "original_transaction_id": .string(try bought.text("original_transaction_id")),
                    "reason": "theirs",
                ])
            #expect(try await Self.isOpen(Self.token, in: shop))
            #expect(try await shop.post(bought, as: "ben") == 409)
        }
    }

    @Test func `an import gives a purchase with a token only to the customer who has the token`()
        async throws
    {
        try await withShop(on: .sqlite, questions: .due) { shop in
            let number = try await Self.buy("pro.monthly", in: shop).text("original_transaction_id")
            let refused = try await shop.engine.imports.record(
                transaction: number, of: "ben", app: "birds", in: .production)
            guard case .unusable(let why) = refused else {
                Issue.record("\(refused)")
                return
            }
            #expect(why.contains("by its account token"))
            #expect(try await Self.isOpen(Self.token, in: shop))
            #expect(try await !Self.isOpen("ben", in: shop))
            let taken = try await shop.engine.imports.record(
                transaction: number, of: "anna", also: CustomerID(rawValue: Self.token),
                app: "birds", in: .production)
            #expect(taken == .recorded)
            #expect(try await Self.isOpen("anna", in: shop))
        }
    }

    @Test func `an import leaves a purchase to the person who has signed in on the listed device`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false, questions: .due) { shop in
            let number = try await Self.buy("pro.monthly", in: shop).text("original_transaction_id")
            let device = RevenueCatPhone.anonymous("phone")
            for id in [Self.token, device] {
                try await shop.support.post(
                    "/v1/customers/ben/aliases", ["customer_id": .string(id)])
            }
            let refused = try await shop.engine.imports.record(
                transaction: number, of: "anna", also: CustomerID(rawValue: device), app: "birds",
                in: .production)
            guard case .unusable = refused else {
                Issue.record("\(refused)")
                return
            }
            #expect(try await Self.isOpen("ben", in: shop))
            #expect(try await !Self.isOpen("anna", in: shop))
        }
    }

    // MARK: - Check

    private static func check(_ address: String, _ identity: String = "") async throws -> [String] {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path + "/perennial.yaml"
        let text = """
            apps:
              birds:
                bundle_id: com.example.birds
                simulated: true
                products: {pro.monthly: [pro]}
                \(identity)
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let options = try ProcessOptions.parse(["--config", path, "--database", address])
        return await CheckReport(options).lines
    }

    @Test(arguments: StoryDatabase.allCases)
    func `perennial check counts the purchases whose account tokens name unknown customers`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let other = "5b1e0d7a-92c4-4f0e-8a31-0123456789ab"
            let erased = "7c1e0d7a-92c4-4f0e-8a31-0123456789ab"
            _ = try await shop.buyMonth("anna", token: Self.token)
            let taken = try await shop.buyMonth("carl", token: other)
            _ = try await shop.buyMonth("dora", token: erased)
            _ = try await shop.buyMonth("emil")
            _ = try await shop.support.send("DELETE", "/v1/customers/\(erased)")
            _ = try await shop.serverOfForeignTokens().recording.record(
                PurchaseEvidence(signedTransactions: [try taken.text("signed_transaction")]),
                of: "carl", app: "birds")
            let note = try await Self.check(shop.address).first { $0.contains("account token") }
            #expect(note?.hasPrefix("note  birds: 2 purchases") == true, "\(note ?? "none")")
            #expect(note?.contains("; 1 of them") == true, "\(note ?? "none")")
            let silent = try await Self.check(shop.address, "identity: {account_tokens: other}")
            #expect(!silent.contains { $0.contains("account token") }, "\(silent)")
            for (id, token) in [("anna", Self.token), ("carl", other.uppercased())] {
                try await shop.support.post(
                    "/v1/customers/\(id)/aliases", ["customer_id": .string(token)])
            }
            let none = try await Self.check(shop.address)
            #expect(!none.contains { $0.contains("account token") }, "\(none)")
        }
    }
}
