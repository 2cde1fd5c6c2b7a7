import AppStoreFormats
import Testing

@testable import Simulator

/// Two Apple accounts on one device, one after the other.
@Suite(.timeLimit(.minutes(5))) struct SignInTests {
    @Test func `a device lists and buys for the account that is signed in`() async throws {
        let stage = try Stage(shop: try CatShop.file())
        try await stage.simulator.addDevice(account: "anna", appAccountToken: "t")
        try await stage.withClient { client in
            func products() async throws -> [String?] {
                let json = try await client.json("/_sim/devices/anna-1/entitlements")
                return try (json["signed_transactions"]?.array ?? []).map {
                    try decode(TransactionPayload.self, $0.string ?? "").productId
                }
            }
            try await stage.buy("book")
            let appBefore = try await client.json("/_sim/devices/anna-1/app-transaction")
            let answer = try await client.json(
                "/_sim/devices/anna-1/account", #"{"account": "ben", "storefront": "DEU"}"#)
            #expect(answer == ["device_id": "anna-1"])
            #expect(try await products() == [])
            try await stage.buy("pass")
            #expect(try await products() == ["pass"])
            let place = try await client.json("/_sim/devices/anna-1/storefront")
            #expect(place["country_code"] == "DEU")
            let appAfter = try await client.json("/_sim/devices/anna-1/app-transaction")
            let ids = try [appBefore, appAfter].map { json in
                try decode(
                    AppTransactionPayload.self, json["signed_app_transaction"]?.string ?? ""
                ).appTransactionId
            }
            #expect(ids[0] != ids[1])
            _ = try await client.json("/_sim/devices/anna-1/account", #"{"account": "anna"}"#)
            #expect(try await products() == ["book"])
            _ = try await client.json(
                "/_sim/devices/anna-1/account", #"{"account": "b b"}"#, status: 400)
        }
        let (anna, ben) = try await (
            stage.simulator.groundTruth(of: "anna"), stage.simulator.groundTruth(of: "ben")
        )
        #expect(anna.purchases.map(\.productID) == ["book"])
        #expect(ben.purchases.map(\.productID) == ["pass"])
        // Data that the app stored on the device stays there, whichever account is signed in.
        let pass = await stage.simulator.world.oneTimePurchases.values.first {
            $0.product.id == "pass"
        }
        #expect(pass?.appAccountToken == "t" && pass?.storefront.country == "DEU")
    }

    @Test func `an open stream of updates continues with the new account`() async throws {
        let stage = try Stage()
        for name in ["anna", "ben"] { try await stage.simulator.addDevice(account: name) }
        let stream = try await stage.simulator.updates(on: "anna-1", limit: 1)
        try await stage.simulator.signIn("ben", on: "anna-1")
        try await stage.simulator.purchase(PurchaseOrder("pro.monthly"), on: "ben-1")
        let key = Account.Key(name: "ben", environment: .production)
        let ben = await stage.simulator.world.accounts[key]?.appTransactionID
        // The stream ends if no update has arrived.
        try await stage.simulator.reset(stage.simulator.settings)
        var owners: [String?] = []
        for await event in stream {
            let signed = event.content["signed_transaction"]?.string ?? ""
            owners.append(try decode(TransactionPayload.self, signed).appTransactionId)
        }
        #expect(owners == [ben] && ben != nil)
    }
}
