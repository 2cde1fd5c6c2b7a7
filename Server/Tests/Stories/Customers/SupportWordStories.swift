import AppStoreFormats
import AppStoreTrust
import Engine
import Ledger
import Logging
import Testing

@testable import Program

/// Decisions of support. They are listed for the customer, can be undone, and can be found through
/// every customer whom they concern.
@Suite(.serialized) struct SupportWordStories {
    private static let token = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    @discardableResult
    private static func transfer(
        _ bought: JSON, to customer: String, because reason: String, in shop: Shop
    ) async throws -> JSON {
        try await shop.support.post(
            "/v1/customers/\(customer)/transfers",
            [
                "original_transaction_id": .string(try bought.text("original_transaction_id")),
                "reason": .string(reason),
            ])
    }

    private static func list(_ path: String, in shop: Shop) async throws -> [JSON] {
        try await shop.support.get(path)["items"]?.array ?? []
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if support confirms an owner twice for the same reason, the reason is stored once`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let annas = try await shop.buyMonth("anna")
            #expect(try await shop.post(annas, as: "anna") == 200)
            let named = try await shop.buyMonth("cleo", token: Self.token)
            for (bought, customer, links) in [(annas, "anna", 3), (named, Self.token, 2)] {
                for reason in ["ticket 7", "ticket 7", "ticket 9"] {
                    let said = try await Self.transfer(
                        bought, to: customer, because: reason, in: shop)
                    #expect(said["transfer_id"]?.string == nil && said["from"]?.string == nil)
                    #expect(said["to"]?.string == customer && said["reason"]?.string == reason)
                }
                let kept = try await Self.list("/v1/customers/\(customer)/transfers", in: shop)
                let reasons = kept.compactMap { $0["reason"]?.string }
                #expect(reasons == ["ticket 7", "ticket 9"])
                let history = try await Self.list("/v1/customers/\(customer)/history", in: shop)
                let original = try bought.text("original_transaction_id")
                let stays = "Purchase \(original) stays with \(customer), by support:"
                let sentences = history.filter { $0["kind"] == "transfer" }
                    .compactMap { $0["sentence"]?.string }
                #expect(sentences == ["\(stays) ticket 7.", "\(stays) ticket 9."])
                let events = try await Self.list("/v1/events?customer_id=\(customer)", in: shop)
                #expect(events.count { $0["type"] == "linked" } == links)
                #expect(try await shop.post(bought, as: "ben") == 409)
            }
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test func `a transfer can be undone even if support later confirmed the new owner`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: "anna") == 200)
            let moved = try await Self.transfer(bought, to: "ben", because: "ticket 7", in: shop)
            let again = try await Self.transfer(bought, to: "ben", because: "ticket 7", in: shop)
            #expect(again == moved)
            try await Self.transfer(bought, to: "ben", because: "ticket 9", in: shop)
            let path = "/v1/customers/ben/transfers/\(try moved.text("transfer_id"))"
            let undone = try await shop.support.send("DELETE", path)
            #expect(undone.status == 200)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
        }
    }

    private static var sharing: AppConfiguration {
        var app = birds
        app.settings.restorePolicies = [.production: .share]
        return app
    }

    /// Anna buys, ben gets a share of the purchase, and support moves the purchase to ben.
    private static func moveWhatIsShared(in shop: Shop) async throws -> (JSON, transfer: String) {
        let bought = try await shop.buyMonth("anna")
        for name in ["anna", "ben"] {
            #expect(try await shop.post(bought, as: name) == 200)
        }
        let moved = try await transfer(bought, to: "ben", because: "ticket 7", in: shop)
        return (bought, try moved.text("transfer_id"))
    }

    private static func users(_ shop: Shop) async throws -> [String] {
        var users: [String] = []
        for name in ["anna", "ben"] {
            let pro = try await shop.entitlement("pro", of: name)
            if pro?["active"] == true { users.append(name) }
        }
        return users
    }

    @Test(arguments: StoryDatabase.allCases)
    func `undoing a transfer restores the new owner's earlier share of the purchase`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.sharing) { shop in
            let (bought, transfer) = try await Self.moveWhatIsShared(in: shop)
            #expect(try await Self.users(shop) == ["ben"])
            let path = "/v1/customers/ben/transfers/"
            for _ in 0..<2 {
                let undone = try await shop.support.send("DELETE", path + transfer)
                #expect(undone.status == 200)
                #expect(try await Self.users(shop) == ["anna", "ben"])
            }
            let events = try await Self.list("/v1/events?customer_id=ben", in: shop)
            let types = events.compactMap { $0["type"]?.string }
            #expect(types == ["shared", "moved", "moved_away", "shared"])
            #expect(events.last?["other_customer_id"]?.string == "anna")
            #expect(try await shop.post(bought, as: "ben") == 200)
            // The share has the same id as before, and can be ended by this id.
            let kept = try await Self.list("/v1/customers/ben/transfers", in: shop)
            #expect(kept.count == 2)
            let share = try #require(kept.first).text("transfer_id")
            let ended = try await shop.support.send("DELETE", path + share)
            #expect(ended.status == 200)
            #expect(try await Self.users(shop) == ["anna"])
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if the transfer of a purchase without an owner is undone, the purchase has no owner`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.sharing) { shop in
            let bought = try await shop.buyMonth("anna")
            let moved = try await Self.transfer(bought, to: "anna", because: "ticket 7", in: shop)
            #expect(moved["from"]?.string == nil)
            // After a decision by support, the policy gives no shares of the purchase.
            #expect(try await shop.post(bought, as: "ben") == 409)
            #expect(try await Self.users(shop) == ["anna"])
            let path = "/v1/customers/anna/transfers/\(try moved.text("transfer_id"))"
            for _ in 0..<2 {
                #expect(try await shop.support.send("DELETE", path).status == 200)
                #expect(try await Self.users(shop).isEmpty)
            }
            // Now the purchase belongs to the customer whose device shows it first, and the policy
            // gives the next customer a share.
            for (name, users) in [("ben", ["ben"]), ("anna", ["anna", "ben"])] {
                #expect(try await shop.post(bought, as: name) == 200)
                #expect(try await Self.users(shop) == users)
            }
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test func `an undone transfer does not restore a share that had ended before the transfer`()
        async throws
    {
        try await withShop(on: .sqlite, app: Self.sharing) { shop in
            let (bought, _) = try await Self.moveWhatIsShared(in: shop)
            try await Self.transfer(bought, to: "anna", because: "ticket 8", in: shop)
            let last = try await Self.transfer(bought, to: "ben", because: "ticket 9", in: shop)
            let path = "/v1/customers/ben/transfers/\(try last.text("transfer_id"))"
            let undone = try await shop.support.send("DELETE", path)
            #expect(undone.status == 200)
            #expect(try await Self.users(shop) == ["anna"])
        }
    }

    @Test
    func `if the policy no longer allows shares, an undone transfer restores no share`()
        async throws
    {
        try await withShop(on: .sqlite, app: Self.sharing) { shop in
            let (_, transfer) = try await Self.moveWhatIsShared(in: shop)
            let number = try #require(Int64(transfer.dropFirst("trf_".count)))
            // Another server of the same app, whose policy is `keep`.
            let server = Engine(
                database: shop.database, apps: [birds.settings],
                verifiers: ["birds": Verifier(roots: .apple)],
                now: { Instant(milliseconds: 1_767_268_800_000) },
                logger: Logger(label: "story") { _ in SwiftLogNoOpLogHandler() })
            _ = try await server.ownership.undoTransfer(number, of: "ben", app: "birds")
            #expect(try await Self.users(shop) == ["anna"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a search by token or transaction id finds a customer known only by account token`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let bought = try await shop.buyMonth("anna", token: Self.token)
            let path = "/v1/customers?query="
            for id in [Self.token, Self.token.uppercased()] {
                let found = try await Self.list(path + id, in: shop)
                let known: JSON = [
                    "customer_id": .string(id), "aliases": [], "by": "id", "purchase_id": .null,
                ]
                #expect(found == [known])
            }
            let original = try bought.text("original_transaction_id")
            let byNumber = try await Self.list(path + original, in: shop)
            #expect(
                byNumber == [
                    [
                        "customer_id": .string(Self.token), "aliases": [], "by": "transaction_id",
                        "purchase_id": .string("production:\(original)"),
                    ]
                ])
            let none = "0f4c7b9e-0000-4c3b-8e5f-6a7b8c9d0e1f"
            #expect(try await Self.list(path + none, in: shop).isEmpty)
            let number = try await shop.support.get(path + "4711")
            #expect(number["items"] == [])
            #expect(number["app_store"]?.string == "not_configured")
            #expect(number["original_transaction_ids"] == .null)

            // Once something is stored about the customer, the token in either case finds them by
            // the stored id.
            let upper = Self.token.uppercased()
            try await shop.support.post(
                "/v1/customers/\(upper)/grants", ["entitlement": "plus", "reason": "r"])
            for query in [Self.token, upper, original] {
                let found = try await Self.list(path + query, in: shop)
                #expect(found.compactMap { $0["customer_id"]?.string } == [upper], "\(query)")
            }
            _ = try await shop.support.send("DELETE", "/v1/customers/\(upper)")
            for query in [Self.token, upper] {
                #expect(try await Self.list(path + query, in: shop).isEmpty, "\(query)")
            }
            let nobodys = try await Self.list(path + original, in: shop)
            #expect(nobodys.count == 1 && nobodys.first?["customer_id"]?.string == nil)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a customer known only by account token has the events of all purchases with that token`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let bought = try await shop.buyMonth("anna", token: Self.token)
            _ = try await shop.buyMonth("ben")
            try await shop.simulator.post("/_sim/clock", ["advance": "P40D"])
            let log = try await Self.list("/v1/events?limit=500", in: shop)
            let named = log.filter { $0["account_token"]?.string == Self.token }
            try #require(named.count > 1 && named.count < log.count)
            let path = "/v1/events?customer_id="
            for id in [Self.token, Self.token.uppercased()] {
                #expect(try await Self.list(path + id, in: shop) == named)
            }
            let first = try #require(named[0]["sequence"]?.integer)
            let page = "\(path)\(Self.token)&limit=1&after=\(first)"
            #expect(try await Self.list(page, in: shop) == [named[1]])
            let history = try await Self.list("/v1/customers/\(Self.token)/history", in: shop)
            #expect(history.count { $0["kind"] == "event" } == named.count)

            // After the customer has posted the purchase, no event disappears until the customer is
            // erased.
            #expect(try await shop.post(bought, as: Self.token) == 200)
            let later = try await Self.list(path + Self.token, in: shop)
            #expect(Array(later.prefix(named.count)) == named)
            #expect(later.last?["type"] == "linked" && later.count == named.count + 1)
            _ = try await shop.support.send("DELETE", "/v1/customers/\(Self.token)")
            #expect(try await Self.list(path + Self.token, in: shop).isEmpty)
        }
    }

    @Test
    func `after a transfer, a search finds the new owner, and the old account token finds nobody`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let bought = try await shop.buyMonth("anna", token: Self.token)
            try await Self.transfer(bought, to: "ben", because: "ticket 7", in: shop)
            let path = "/v1/customers?query="
            #expect(try await Self.list(path + Self.token, in: shop).isEmpty)
            let original = try bought.text("original_transaction_id")
            let found = try await Self.list(path + original, in: shop)
            #expect(found.compactMap { $0["customer_id"]?.string } == ["ben"])
        }
    }
}
