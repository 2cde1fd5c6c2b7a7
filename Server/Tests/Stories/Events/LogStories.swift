import AppStoreFormats
import Engine
import Eventually
import Ledger
import Testing

/// Another program reads the log over HTTP.
@Suite(.serialized) struct LogStories {
    private func events(of shop: Shop, _ query: String = "") async throws -> [JSON] {
        let reader = Wire(base: shop.server.base, bearer: Shop.secretKey)
        return try await reader.get("/v1/events?limit=500\(query)")["items"]?.array ?? []
    }

    private func types(_ events: [JSON]) -> [String] { events.compactMap { $0["type"]?.string } }

    @Test(arguments: StoryDatabase.allCases)
    func `a request that advances the clock returns only after all due events are emitted`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            try await stage.play(.buy("pro.monthly")) { _ in }
            let start = try await stage.now()
            try await stage.set(clock: start + .days(33))
            let told = try await events(of: shop)
            #expect(types(told) == ["purchased", "linked", "access_unconfirmed", "expired"])
            #expect(told.last?["why"]?.string == "never_confirmed")
            #expect(told.last?["cause"]?["kind"]?.string == "time")
            #expect(told.last?["after"]?["active"] == .bool(false))
            let annas = try await events(of: shop, "&customer_id=\(Stage.account)")
            #expect(annas == told)
            #expect(annas.compactMap { $0["earlier_events"]?.integer } == [1])
            #expect(annas.compactMap { $0["customer_sequence"]?.integer } == [1, 2, 3])
        }
    }

    /// A program that sends a welcome mail must know the customer. The event `linked` names the
    /// customer, and says that there are earlier events.
    @Test(arguments: StoryDatabase.allCases)
    func `the history of a customer has the events from before a purchase was linked`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let signed = try await shop.buyMonth("anna").text("signed_transaction")
            try await eventually("the notification is recorded") {
                try await !events(of: shop).isEmpty
            }
            let before = try await events(of: shop)
            #expect(before.allSatisfy { $0["customer_id"] == .null })
            #expect(try await events(of: shop, "&customer_id=anna").isEmpty)
            try await shop.server.post(
                "/v1/purchases",
                ["customer_id": "anna", "signed_transactions": [.string(signed)]])
            let annas = try await events(of: shop, "&customer_id=anna")
            #expect(annas == (try await events(of: shop)))
            #expect(types(annas).prefix(1) == ["purchased"])
            let linked = try #require(annas.first { $0["type"] == "linked" })
            #expect(linked["earlier_events"] == .integer(Int64(before.count)))
            #expect(try await events(of: shop, "&customer_id=ben").isEmpty)
            let book = try await shop.simulator.get("/_sim/truth/anna")["purchases"]?.array?.first
            let charged = book?["charges"]?.array?.first?["amount_milliunits"]?.integer
            let page = try await shop.engine.events.lastPage(
                of: "birds", customer: "anna", before: .max, limit: 10)
            let paid = page.events.compactMap { $0.entry.change.money?.milliunits }.reduce(0, +)
            #expect(paid == charged && paid > 0)
            let count = try await shop.engine.events.count(of: "birds", customer: "anna")
            #expect(count == annas.count)
        }
    }

    @Test func `an explanation contains every document that an event names as its cause`()
        async throws
    {
        try await withShop(on: .sqlite, questions: .all) { shop in
            try await shop.addDevice(Stage.account)
            var stage = Stage(simulator: shop.simulator, server: shop.server)
            for act: Life.Act in [
                .buy("pro.monthly"), .pass("P40D"), .change("refund"), .pass("P1D"),
            ] {
                try await stage.play(act) { _ in }
            }
            let told = try await events(of: shop, "&customer_id=\(Stage.account)")
            #expect(types(told).contains("renewed") && types(told).contains("refunded"))
            let explained = try await shop.engine.customers.explain(
                "anna", app: "birds", environment: .production)
            for event in told where event["cause"]?["kind"]?.string == "document" {
                let document = try #require(event["cause"]?["document_id"]?.string)
                #expect(explained.contains("    \(document.prefix(12))"), "\(document)")
                #expect(explained.contains("by \(document.prefix(12))"), "\(document)")
            }
        }
    }
}
