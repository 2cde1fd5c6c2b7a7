import AppStoreFormats
import Engine
import Ledger
import Storage
import Synchronization
import Testing

@testable import Program

/// The owner of a purchase in RevenueCat's webhooks.
@Suite(.serialized) struct RevenueCatOwnerStories {
    private static func app(
        _ receiver: Receiver, credits: [ProductID: [CurrencyID: Int64]]? = nil
    ) -> AppConfiguration {
        var app = birds
        app.settings.webhooks.endpoints = [
            ConfiguredWebhook(
                id: "crm", settings: WebhookSettings(url: receiver.url, format: .revenueCat),
                secrets: [webhookSecret])
        ]
        if let credits { app.settings.wallets = WalletRules(credits: credits) }
        return app
    }

    /// How the server learns of an ordinary purchase.
    enum Coming: String, CaseIterable, Sendable {
        case byNotificationFirst
        case byAppFirst
        /// The app has set an account token that the server made.
        case withToken
        /// The app has set the customer's own id as the token, and posts the purchase later.
        case withOwnID
        /// The app has set the customer's own id as the token, and never posts.
        case neverPosted
    }

    private static let uuid = "a0000000-0000-4000-8000-000000000001"

    @Test(arguments: StoryDatabase.allCases, Coming.allCases)
    func `a purchase is sent as one INITIAL_PURCHASE with the customer's id, without a TRANSFER`(
        database: StoryDatabase, coming: Coming
    ) async throws {
        let receiver = try Receiver()
        try await withShop(on: database, app: Self.app(receiver)) { shop in
            let customer = coming == .withOwnID || coming == .neverPosted ? Self.uuid : "anna"
            var token: String? = customer == Self.uuid ? Self.uuid : nil
            if coming == .withToken {
                token = try await shop.support.post("/v1/customers/anna/account_token", [:])
                    .text("account_token")
            }
            if coming == .byAppFirst {
                try await shop.simulator.post("/_sim/faults", ["notifications": ["delay": 1]])
            }
            let bought = try await shop.buyMonth("anna", token: token)
            if coming != .byAppFirst { try await shop.advance("PT1M") }
            if coming != .neverPosted {
                #expect(try await shop.post(bought, as: customer) == 200)
            }
            try await shop.advance("P32D")
            // The same person restores the purchase.
            if coming != .neverPosted {
                #expect(try await shop.post(bought, as: customer) == 200)
            }
            try await shop.advance("PT1M")
            let events = receiver.webhooks
            #expect(events.compactMap { $0["type"]?.string } == ["INITIAL_PURCHASE", "RENEWAL"])
            #expect(events.allSatisfy { $0["app_user_id"]?.string == customer }, "\(events)")
            #expect(events.allSatisfy { $0["is_trial_conversion"] != true })
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the webhooks of a purchase wait until the purchase has an owner, and arrive in order`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        try await withShop(on: database, app: Self.app(receiver)) { shop in
            let bought = try await shop.buyMonth("anna")
            try await shop.advance("P65D")
            let chain = try bought.text("original_transaction_id")
            try await shop.simulator.post("/_sim/subscriptions/\(chain)/cancel")
            try await shop.advance("PT1M")
            #expect(receiver.webhooks.isEmpty)
            #expect(try await shop.post(bought, as: "anna") == 200)
            try await shop.advance("PT1M")
            let types = ["INITIAL_PURCHASE", "RENEWAL", "RENEWAL", "CANCELLATION"]
            #expect(receiver.webhooks.compactMap { $0["type"]?.string } == types)
            #expect(receiver.webhooks.allSatisfy { $0["app_user_id"] == "anna" })
            let times = receiver.webhooks.compactMap { $0["event_timestamp_ms"]?.integer }
            #expect(times == times.sorted() && Set(times).count > 2)
            // No webhook is delivered twice.
            #expect(try await shop.post(bought, as: "anna") == 200)
            try await shop.advance("PT1M")
            #expect(receiver.webhooks.count == types.count)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a TRANSFER is sent exactly when the owner changes`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        try await withShop(on: database, app: Self.app(receiver)) { shop in
            let bought = try await shop.buyMonth("anna")
            try await shop.advance("PT1M")
            #expect(try await shop.post(bought, as: "anna") == 200)
            let order: JSON = [
                "original_transaction_id": .string(try bought.text("original_transaction_id")),
                "reason": "ticket",
            ]
            // Support confirms that the purchase is anna's, moves it to ben, and undoes the move.
            try await shop.support.post("/v1/customers/anna/transfers", order)
            try await shop.advance("PT1M")
            #expect(receiver.transfers.isEmpty)
            try await shop.support.post("/v1/customers/ben/transfers", order)
            try await shop.advance("PT1M")
            #expect(receiver.transfers == [.init(["anna"], ["ben"])])
            let moves = try await shop.support.get("/v1/customers/ben/transfers")
            let id = try #require(moves["items"]?.array?.last).text("transfer_id")
            let undone = try await shop.support.send(
                "DELETE", "/v1/customers/ben/transfers/\(id)")
            #expect(undone.status == 200)
            try await shop.advance("PT1M")
            #expect(receiver.transfers == [.init(["anna"], ["ben"]), .init(["ben"], ["anna"])])
            // An alias of anna is not another owner.
            try await shop.support.post(
                "/v1/customers/anna/aliases", ["customer_id": "anna@home"])
            #expect(try await shop.post(bought, as: "anna@home") == 200)
            try await shop.advance("P32D")
            #expect(receiver.transfers.count == 2)
            var backend = RevenueCatBackend()
            for event in receiver.webhooks { backend.take(event) }
            let now = Int64.max - 1
            #expect(backend.open(for: ["ben"], at: 0).isEmpty)
            #expect(backend.open(for: ["anna"], at: 0).contains("pro"))
            #expect(backend.open(for: ["anna"], at: now).isEmpty)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after a transfer is undone, the receiver's webhooks name the purchase's next owner`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        try await withShop(on: database, app: Self.app(receiver)) { shop in
            let bought = try await shop.buyMonth("anna")
            try await shop.advance("PT1M")
            let order: JSON = [
                "original_transaction_id": .string(try bought.text("original_transaction_id")),
                "reason": "ticket",
            ]
            try await shop.support.post("/v1/customers/ben/transfers", order)
            try await shop.advance("PT1M")
            #expect(receiver.webhooks.map { $0["type"]?.string } == ["INITIAL_PURCHASE"])
            #expect(receiver.webhooks[0]["app_user_id"] == "ben")
            let moves = try await shop.support.get("/v1/customers/ben/transfers")
            let id = try #require(moves["items"]?.array?.last).text("transfer_id")
            _ = try await shop.support.send("DELETE", "/v1/customers/ben/transfers/\(id)")
            try await shop.advance("PT1M")
            #expect(try await shop.post(bought, as: "anna") == 200)
            try await shop.advance("PT1M")
            var backend = RevenueCatBackend()
            for event in receiver.webhooks { backend.take(event) }
            #expect(backend.open(for: ["anna"], at: 0).contains("pro"), "\(receiver.webhooks)")
            #expect(backend.open(for: ["ben"], at: 0).isEmpty)
            let began = receiver.webhooks.filter { $0["type"] == "INITIAL_PURCHASE" }
            #expect(began.count == 1)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a purchase without an owner has a fixed random id, which differs between servers`(
        database: StoryDatabase
    ) async throws {
        // Two servers with the same purchase.
        let (first, second) = (try Receiver(), try Receiver())
        let ids = [
            try await Self.idWithoutOwner(database, first),
            try await Self.idWithoutOwner(database, second),
        ]
        #expect(ids[0].purchase == ids[1].purchase)
        #expect(ids[0].id != ids[1].id)
        for (id, _) in ids {
            #expect(id.wholeMatch(of: /\$RCAnonymousID:[0-9a-f]{32}/) != nil, "\(id)")
        }
    }

    /// The id to which a purchase goes when its transfer is undone, and the purchase.
    private static func idWithoutOwner(
        _ database: StoryDatabase, _ receiver: Receiver
    ) async throws -> (id: String, purchase: String) {
        let found = Mutex<String?>(nil)
        try await withShop(on: database, app: app(receiver)) { shop in
            let bought = try await shop.buyMonth("anna")
            try await shop.advance("PT1M")
            let purchase = try bought.text("original_transaction_id")
            found.withLock { $0 = purchase }
            for customer in ["ben", "cleo"] {
                let path = "/v1/customers/\(customer)/transfers"
                let moved = try await shop.support.post(
                    path, ["original_transaction_id": .string(purchase), "reason": "ticket"])
                try await shop.advance("PT1M")
                _ = try await shop.support.send(
                    "DELETE", "\(path)/\(try moved.text("transfer_id"))")
                try await shop.advance("PT1M")
            }
        }
        let transfers = receiver.transfers
        let ids = Set(transfers.filter { $0.from == ["ben"] || $0.from == ["cleo"] }.map(\.to))
        #expect(ids.count == 1, "\(transfers)")
        return (try #require(ids.first?.first), try #require(found.withLock { $0 }))
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if one of two purchases is transferred, the receiver keeps the second purchase active`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        try await withShop(on: database, app: Self.app(receiver)) { shop in
            let month = try await shop.buyMonth("anna")
            let season = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "season.spring"])
            for bought in [month, season] {
                #expect(try await shop.post(bought, as: "anna") == 200)
            }
            // Webhooks that wait at the same time may arrive in any order.
            try await shop.advance("PT1M")
            let order: JSON = [
                "original_transaction_id": .string(try month.text("original_transaction_id")),
                "reason": "ticket",
            ]
            try await shop.support.post("/v1/customers/ben/transfers", order)
            try await shop.advance("PT1M")
            var backend = RevenueCatBackend()
            for event in receiver.webhooks { backend.take(event) }
            #expect(receiver.transfers == [.init(["anna"], ["ben"])])
            #expect(backend.open(for: ["anna"], at: 0) == ["season"], "\(receiver.webhooks)")
            #expect(backend.open(for: ["ben"], at: 0).contains("pro"))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `credits of a pack in two currencies are one webhook, and so are the debits of its refund`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver()
        let app = Self.app(receiver, credits: ["seeds.100": ["seeds": 100, "gems": 5]])
        try await withShop(on: database, app: app) { shop in
            try await shop.addDevice("anna")
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"])
            try await shop.advance("PT1M")
            #expect(try await shop.post(bought, as: "anna") == 200)
            try await shop.advance("PT1M")
            let number = try bought.text("transaction_id")
            try await shop.simulator.post("/_sim/transactions/\(number)/refund", [:])
            try await shop.advance("PT1M")
            let movements = receiver.webhooks.filter {
                $0["type"] == "VIRTUAL_CURRENCY_TRANSACTION"
            }
            let amounts = movements.map { movement in
                (movement["adjustments"]?.array ?? []).map { adjustment in
                    let code = adjustment["currency"]?["code"]?.string ?? ""
                    return "\(code) \(adjustment["amount"]?.integer ?? 0)"
                }.sorted()
            }
            #expect(amounts == [["gems 5", "seeds 100"], ["gems -5", "seeds -100"]])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after a change to RevenueCat's format, events that waited for an owner are delivered`(
        database: StoryDatabase
    ) async throws {
        let receiver = try Receiver(.status(500))
        try await withShop(on: database) { shop in
            let added = try await shop.support.post("/v1/webhooks", ["url": .string(receiver.url)])
            let path = "/v1/webhooks/\(try added.text("webhook_id"))"
            let bought = try await shop.buyMonth("anna")
            try await shop.advance("PT1M")
            #expect(try await shop.post(bought, as: "anna") == 200)
            try await shop.advance("PT1M")
            let changed = try await shop.support.send(
                "PATCH", path, body: (["format": "revenuecat"] as JSON).bytes)
            #expect(changed.status == 200)
            receiver.reply(.status(200))
            try await shop.advance("P1D")
            #expect(receiver.webhooks.map { $0["type"]?.string } == ["INITIAL_PURCHASE"])
            #expect(receiver.webhooks.map { $0["app_user_id"]?.string } == ["anna"])
        }
    }
}

/// The former owner and the new owner in a TRANSFER.
private struct OwnerChange: Hashable {
    var from: [String]
    var to: [String]

    init(_ from: [String], _ to: [String]) { (self.from, self.to) = (from, to) }
}

extension Receiver {
    /// The webhooks that arrived in RevenueCat's form, each with whether it was accepted.
    fileprivate var webhooks: [JSON] {
        postings.compactMap { (try? JSON(parsing: $0.body))?["event"] }
    }

    fileprivate var transfers: [OwnerChange] {
        webhooks.filter { $0["type"] == "TRANSFER" }.map { event in
            func names(_ key: String) -> [String] {
                (event[key]?.array ?? []).compactMap(\.string)
            }
            return OwnerChange(names("transferred_from"), names("transferred_to"))
        }
    }
}
