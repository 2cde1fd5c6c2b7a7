import AppStoreFormats
import Testing

@testable import Simulator

/// The app on a device is updated, deleted, and replaced by another build or app.
@Suite struct InstalledAppTests {
    private let app = "/_sim/devices/anna-1/app"

    private func stage() async throws -> Stage {
        let stage = try Stage(shop: try CatShop.file())
        try await stage.simulator.addDevice(account: "anna")
        return stage
    }

    private func appTransaction(_ stage: Stage) async throws -> AppTransactionPayload {
        try decode(
            AppTransactionPayload.self, try await stage.simulator.appTransaction(on: "anna-1"))
    }

    @Test func `after an update, documents have the new version, but the original version stays`()
        async throws
    {
        let stage = try await stage()
        let app = app
        try await stage.withClient { client in
            let updated = try await client.json(app, #"{"version":"2.5"}"#)
            #expect(updated["version"] == "2.5")
            #expect(updated["original_version"] == "1")
            let receipt = try await client.json("/_sim/devices/anna-1/receipt")
            let text = try require(receipt["app_receipt"]?.string, "no receipt")
            let bytes = try require(Base64.standard.decode(Array(text.utf8)), "no Base64")
            #expect(String(decoding: bytes, as: Unicode.ASCII.self).contains("2.5"))
        }
        var payload = try await appTransaction(stage)
        #expect(payload.applicationVersion == "2.5")
        #expect(payload.originalApplicationVersion == "1")
        try await stage.withClient { client in
            _ = try await client.json(app, #"{"original_version":"0.9"}"#)
        }
        payload = try await appTransaction(stage)
        #expect(payload.originalApplicationVersion == "0.9")
        #expect(payload.applicationVersion == "2.5")
    }

    @Test func `a reinstall keeps the app transaction id and changes the installation id`()
        async throws
    {
        let stage = try await stage()
        let before = try await appTransaction(stage)
        try await stage.buy("book")
        let app = app
        try await stage.withClient { client in
            let first = try await client.json(app)
            let second = try await client.json(app, #"{"reinstall":true}"#)
            #expect(second["installation_id"] != first["installation_id"])
            #expect(second["launches"] == 2)
        }
        #expect(try await appTransaction(stage).appTransactionId == before.appTransactionId)
        #expect(try await stage.simulator.entitlements(on: "anna-1").count == 1)
    }

    @Test func `purchases made in TestFlight do not exist in the App Store's version of the app`()
        async throws
    {
        let stage = try await stage()
        let app = app
        try await stage.withClient { client in
            let beta = try await client.json(app, #"{"source":"testflight"}"#)
            #expect(beta["source"] == "testflight")
            let signed = try await stage.buy("pro.monthly", offer: "none").signedTransaction
            let bought = try decode(TransactionPayload.self, signed)
            #expect(bought.environment == .sandbox)
            // The period lasts a day instead of a month.
            #expect(
                (bought.expiresDate?.milliseconds ?? 0) - (bought.purchaseDate?.milliseconds ?? 0)
                    == 86_400_000)
            _ = try await client.json(app, #"{"source":"store"}"#)
        }
        #expect(try await stage.simulator.transactions(on: "anna-1").isEmpty)
        #expect(try await appTransaction(stage).receiptType == .production)
        let signed = try await stage.buy("pro.monthly").signedTransaction
        #expect(try decode(TransactionPayload.self, signed).environment == .production)
    }

    @Test func `the transaction of a purchase in Xcode names Xcode, and causes no notification`()
        async throws
    {
        let stage = try await stage()
        let app = app
        try await stage.withClient { client in
            _ = try await client.json(app, #"{"source":"xcode"}"#)
        }
        let signed = try await stage.buy("pro.monthly", offer: "none").signedTransaction
        #expect(try decode(TransactionPayload.self, signed).environment == .xcode)
        let status = try #require(try await stage.simulator.statuses(on: "anna-1").first)
        #expect(try decode(RenewalPayload.self, status.signedRenewalInfo).environment == .xcode)
        #expect(try await appTransaction(stage).receiptType == .xcode)
        #expect(stage.letterBox.count == 0)
        try await stage.withClient { client in
            _ = try await client.json(app, #"{"source":"store"}"#)
        }
        try await stage.buy("book")
        #expect(stage.letterBox.count == 1)
    }

    @Test func `another app of the same account has separate purchases and ids`() async throws {
        let stage = try await stage()
        try await stage.simulator.addDevice(account: "anna")
        try await stage.buy("book")
        let first = try await appTransaction(stage)
        try await stage.withClient { client in
            let other = try await client.json(
                "/_sim/devices/anna-2/app", #"{"bundle_id":"com.example.dogs"}"#)
            #expect(other["bundle_id"] == "com.example.dogs")
            #expect(other["app_apple_id"] == .integer(ExampleShop.appAppleID + 1))
        }
        #expect(try await stage.simulator.transactions(on: "anna-2").isEmpty)
        let signed = try await stage.buy("gem", on: "anna-2").signedTransaction
        #expect(try decode(TransactionPayload.self, signed).bundleId == "com.example.dogs")
        let second = try decode(
            AppTransactionPayload.self, try await stage.simulator.appTransaction(on: "anna-2"))
        #expect(second.bundleId == "com.example.dogs")
        #expect(second.appTransactionId != first.appTransactionId)
        // The server of the first app gets no notification.
        #expect(stage.letterBox.count == 1)
        #expect(try await stage.simulator.transactions(on: "anna-1").count == 1)
    }
}
