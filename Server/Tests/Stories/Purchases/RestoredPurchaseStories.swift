import AppStoreFormats
import Engine
import Ledger
import Storage
import Testing

@testable import Program

/// A non-consumable gets a new transaction id with each restore, but is one purchase.
@Suite(.serialized) struct RestoredPurchaseStories {
    private static var app: AppConfiguration {
        var app = birds
        app.settings.entitlements["guide"] = ["guide"]
        return app
    }

    /// Which documents the app posts.
    enum Posting: CaseIterable {
        case signed
        case receipts
    }

    /// Posts the documents that a device returned.
    private static func post(
        _ device: JSON, _ posting: Posting, in shop: Shop
    ) async throws {
        let one = device["signed_transaction"].map { JSON.array([$0]) }
        let signed = try #require(device["signed_transactions"] ?? one)
        try await shop.server.post(
            "/v1/purchases",
            [
                "customer_id": "anna",
                posting == .signed ? "signed_transactions" : "app_receipt": posting == .signed
                    ? signed : .string(try device.text("app_receipt")),
            ])
    }

    private static func restore(_ posting: Posting, in shop: Shop) async throws {
        try await shop.simulator.post("/_sim/clock", ["advance": "PT1H"])
        try await post(
            try await shop.simulator.post("/_sim/devices/anna-1/restore"), posting, in: shop)
    }

    /// Compares the server's answer with the simulator's books. Returns the purchases.
    @discardableResult
    private static func compare(_ shop: Shop, _ comment: Comment) async throws -> JSON {
        let books = try await shop.simulator.get("/_sim/truth/anna")
        let booked = try #require(books["purchases"]?.array)
        let charge = try #require(booked.first?["charges"]?.array?.first)
        #expect(booked.count == 1, comment)
        let customer = try await shop.server.get("/v1/customers/anna")
        let entries = try #require(customer["one_time"]?.array)
        #expect(entries.count == 1, comment)
        let entry = try #require(entries.first)
        let isOpen = booked[0]["open"] == true
        #expect(entry["purchased_at"] == charge["at"], comment)
        #expect(entry["revoked_at"] == (isOpen ? .null : booked[0]["until"]), comment)
        let right = customer["entitlements"]?["guide"]
        #expect(right?["active"] == .bool(isOpen), comment)
        #expect(right?["state"] == (isOpen ? "owned" : "refunded"), comment)
        return entry
    }

    private static func log(of shop: Shop) async throws -> [Change] {
        try await shop.engine.events.list(of: "birds", after: 0, limit: 100).map(\.entry.change)
    }

    /// In each case the refund names another of the purchase's ids.
    @Test(arguments: [1, 2, 3, 4], Posting.allCases)
    func `a one-time purchase restored several times has one purchase event and one payment`(
        seed: UInt64, posting: Posting
    ) async throws {
        try await withShop(on: .sqlite, app: Self.app, seed: seed) { shop in
            try await shop.simulator.post(
                "/_sim/reset", ["habits": ["restore_makes_transaction": true]])
            try await shop.addDevice("anna")
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "guide"])
            try await Self.post(bought, posting, in: shop)
            for number in 1...2 {
                try await Self.restore(posting, in: shop)
                try await Self.compare(shop, "restore \(number)")
            }
            let text = try await shop.engine.customers.explain(
                "anna", app: "birds", environment: .production)
            #expect(text.contains("    restored on"))
            let refunds = "/_sim/transactions/\(try bought.text("transaction_id"))"
            try await shop.simulator.post(refunds + "/refund")
            try await Self.compare(shop, "refunded")
            try await Self.restore(posting, in: shop)
            try await Self.compare(shop, "after the refund and another posting")
            try await shop.simulator.post(refunds + "/reverse-refund")
            try await Self.compare(shop, "reversed")
            try await Self.restore(posting, in: shop)
            try await Self.compare(shop, "reversed, and restored again")
            let changes = try await Self.log(of: shop)
            let kinds = changes.map(\.kind)
            #expect(kinds.filter { $0 == .purchased }.count == 1)
            #expect(kinds.filter { $0 == .refunded }.count == 1)
            let money = changes.compactMap(\.money).reduce(0) { $0 + $1.milliunits }
            let books = try await shop.simulator.get("/_sim/truth/anna")
            let price = books["purchases"]?.array?.first?["charges"]?.array?.first?[
                "amount_milliunits"]
            #expect(price == .integer(money))
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test func `documents of a restored purchase in reversed order lead to correct answers`()
        async throws
    {
        try await withShop(on: .sqlite, app: Self.app, notifies: false) { shop in
            try await shop.simulator.post(
                "/_sim/reset", ["habits": ["restore_makes_transaction": true]])
            try await shop.simulator.post("/_sim/faults", ["notifications": ["drop": 1]])
            try await shop.addDevice("anna")
            var documents = [
                try await shop.simulator.post(
                    "/_sim/devices/anna-1/purchases", ["product_id": "guide"])
            ]
            for _ in 1...3 {
                try await shop.simulator.post("/_sim/clock", ["advance": "PT1H"])
                documents.append(try await shop.simulator.post("/_sim/devices/anna-1/restore"))
            }
            let id = try documents[0].text("transaction_id")
            try await shop.simulator.post("/_sim/transactions/\(id)/refund")
            for body in try await shop.notifications() {
                _ = try await shop.engine.recording.record(notification: body)
            }
            for (number, document) in documents.reversed().enumerated() {
                let posting: Posting = number.isMultiple(of: 2) ? .signed : .receipts
                try await Self.post(document, posting, in: shop)
                try await Self.compare(shop, "document \(number)")
            }
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }
}
