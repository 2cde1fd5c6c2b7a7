import AppStoreFormats
import Ledger
import Testing

/// The log over HTTP, as another program reads it.
@Suite(.serialized) struct LogStories {
    private func events(of shop: Shop, _ query: String = "") async throws -> [JSON] {
        let reader = Wire(base: shop.server.base, bearer: Shop.secretKey)
        return try await reader.get("/v1/events?limit=500\(query)")["items"]?.array ?? []
    }

    private func types(_ events: [JSON]) -> [String] { events.compactMap { $0["type"]?.string } }

    @Test(arguments: StoryDatabase.allCases)
    func `once the clock has answered, what time did is told`(database: StoryDatabase)
        async throws
    {
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
            #expect(types(annas) == ["linked", "access_unconfirmed", "expired"])
            #expect(annas.compactMap { $0["customer_sequence"]?.integer } == [1, 2, 3])
        }
    }

    @Test func `every document that an event names is kept, and explains it`() async throws {
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
            let explained = try await shop.engine.explain(
                "anna", app: "birds", environment: .production)
            for event in told where event["cause"]?["kind"]?.string == "document" {
                let document = try #require(event["cause"]?["document_id"]?.string)
                #expect(explained.contains("    \(document.prefix(12))"), "\(document)")
                #expect(explained.contains("by \(document.prefix(12))"), "\(document)")
            }
        }
    }
}
