import AppStoreFormats
import Engine
import Program
import Simulator
import Testing

/// An app that does not accept formats from before StoreKit 2.
@Suite(.serialized) struct LegacyOffStories {
    private static var app: AppConfiguration {
        var app = birds
        app.settings.acceptsLegacy = false
        return app
    }

    private static func code(_ answer: Wire.Answer) throws -> String? {
        try answer.json["code"]?.string
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if legacy documents are off, receipts are refused, but signed transactions are accepted`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app) { shop in
            try await shop.addDevice("anna")
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
            let receipt = try bought.text("app_receipt")
            let posting: JSON = ["customer_id": "anna", "app_receipt": .string(receipt)]
            for path in ["/v1/purchases", "/v1/purchases/preview"] {
                let answer = try await shop.server.send("POST", path, body: posting.bytes)
                #expect(answer.status == 422, "\(path)")
                #expect(try Self.code(answer) == "legacy_documents_not_accepted", "\(path)")
            }
            let question: JSON = ["receipt-data": .string(receipt)]
            for path in ["/verifyReceipt", "/sandbox/verifyReceipt"] {
                let answer = try await shop.server.send("POST", path, body: question.bytes)
                #expect(answer.status == 404, "\(path)")
            }
            #expect(
                try await shop.engine.imports.record(receipt: receipt, of: "anna", app: "birds")
                    != .recorded)
            let before = try await shop.server.get("/v1/customers/anna")
            #expect(before["subscriptions"]?.array?.count == 0)
            let signed = try await shop.server.post(
                "/v1/purchases",
                [
                    "customer_id": "anna",
                    "signed_transactions": [.string(try bought.text("signed_transaction"))],
                ])
            #expect(signed["subscriptions"]?.array?.count == 1)
        }
    }

    @Test
    func `if legacy documents are off, only version 2 notifications are accepted`()
        async throws
    {
        try await withShop(on: .sqlite, app: Self.app, announcements: .both) { shop in
            try await shop.addDevice("anna")
            _ = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
            // Both notifications were delivered before the purchase request was answered.
            #expect(shop.engine.counts.notificationsRecorded == 1)
            #expect(shop.engine.counts.notificationsRefused >= 1)
            let v1: JSON = [
                "notification_type": "DID_RENEW",
                "password": .string(SimulatorSettings.wellKnownSecret),
                "unified_receipt": [:], "environment": "PROD", "bid": "com.example.birds",
            ]
            let answer = try await shop.server.send(
                "POST", "/apple/notifications", body: v1.bytes)
            #expect(answer.status == 422)
            #expect(try Self.code(answer) == "legacy_documents_not_accepted")
        }
    }
}
