import AppStoreFormats
import Engine
import Ledger
import Testing

@testable import Program

/// Customers of an app without log-in. Each device and each installation has its own id.
@Suite(.serialized) struct AnonymousStories {
    private static func device(_ number: Int) -> String {
        "anon_00000000-0000-4000-8000-00000000000\(number)"
    }

    private static func app(_ policy: OwnershipClaim.RestorePolicy) -> AppConfiguration {
        var app = birds
        app.settings.restorePolicies = [.production: policy]
        return app
    }

    /// Posts the documents that a device of the account shows.
    private static func post(
        _ signed: [String], as customer: String, _ intent: String, in shop: Shop
    ) async throws -> Wire.Answer {
        let body: JSON = [
            "customer_id": .string(customer), "intent": .string(intent),
            "signed_transactions": .array(signed.map { .string($0) }),
        ]
        return try await shop.server.send("POST", "/v1/purchases", body: body.bytes)
    }

    private static func isOpen(_ customer: String, in shop: Shop) async throws -> Bool {
        try await shop.entitlement("pro", of: customer)?["active"] == true
    }

    /// The documents that the device's StoreKit shows when the app starts.
    private static func shown(by device: String, in shop: Shop) async throws -> [String] {
        let restored = try await shop.simulator.post("/_sim/devices/\(device)/restore")
        return (restored["signed_transactions"]?.array ?? []).compactMap(\.string)
    }

    @Test(arguments: OwnershipClaim.RestorePolicy.allCases, StoryDatabase.allCases)
    func `a buyer without log-in has access on every device of the store account, permanently`(
        policy: OwnershipClaim.RestorePolicy, database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app(policy)) { shop in
            let signed = try await shop.buyMonth("anna").text("signed_transaction")
            let bought = try await Self.post([signed], as: Self.device(1), "purchase", in: shop)
            #expect(bought.status == 200)
            // These are an iPad, a new phone, and the first phone after the app was deleted. Nobody
            // taps a restore button.
            for number in 2...4 {
                try await shop.addDevice("anna")
                let shown = try await Self.shown(by: "anna-\(number)", in: shop)
                let answer = try await Self.post(shown, as: Self.device(number), "sync", in: shop)
                #expect(answer.status == 200)
                let verdict = try answer.json["purchases"]?.array?.first
                #expect(verdict?["verdict"] == "shared")
                #expect(verdict?["owner"] == "anonymous")
            }
            for month in 1...3 {
                try await shop.simulator.post("/_sim/clock", ["advance": "P30D"])
                for number in 1...4 {
                    let isOpen = try await Self.isOpen(Self.device(number), in: shop)
                    #expect(isOpen, "device \(number), month \(month)")
                    let shown = try await Self.shown(by: "anna-\(number)", in: shop)
                    let answer = try await Self.post(
                        shown, as: Self.device(number), "sync", in: shop)
                    #expect(answer.status == 200)
                }
            }
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a person who signs in and restores a shared purchase becomes its only owner`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app(.keep)) { shop in
            let signed = try await shop.buyMonth("anna").text("signed_transaction")
            for number in 1...2 {
                _ = try await Self.post([signed], as: Self.device(number), "sync", in: shop)
            }
            // Anna signs in on the second device, which only shares the purchase.
            try await shop.server.post(
                "/v1/customers/anna/aliases", ["customer_id": .string(Self.device(2))])
            let found = try await shop.server.get("/v1/customers/anna")
            #expect(found["purchases"]?.array?.first?["verdict"] == "shared")
            #expect(found["entitlements"]?["pro"]?["active"] == true)
            #expect(try await Self.post([signed], as: "anna", "sync", in: shop).status == 200)
            #expect(try await Self.isOpen(Self.device(1), in: shop))
            let taken = try await Self.post([signed], as: "anna", "restore", in: shop)
            #expect(try taken.json["purchases"]?.array?.first?["verdict"] == "moved")
            // From now on the purchase belongs to a person. The first device gets access when she
            // signs in there.
            #expect(try await !Self.isOpen(Self.device(1), in: shop))
            let synced = try await Self.post([signed], as: Self.device(1), "sync", in: shop)
            #expect(synced.status == 200)
            let verdict = try synced.json["purchases"]?.array?.first
            #expect(verdict?["verdict"] == "another")
            #expect(verdict?["owner"] == "person")
            let restored = try await Self.post([signed], as: Self.device(1), "restore", in: shop)
            #expect(restored.status == 409)
            #expect(try restored.json["customer"]?["customer_id"]?.string == Self.device(1))
            try await shop.server.post(
                "/v1/customers/anna/aliases", ["customer_id": .string(Self.device(1))])
            #expect(try await Self.isOpen(Self.device(1), in: shop))
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an anonymous customer's account token is stable, and links purchases with the token`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app(.keep)) { shop in
            let path = "/v1/customers/\(Self.device(1))"
            #expect(try await shop.server.get(path)["account_token"] == .null)
            let made = try await shop.server.post(path + "/account_token")
            let token = try made.text("account_token")
            #expect(CustomerID(accountToken: token) != nil)
            #expect(try await shop.server.post(path + "/account_token") == made)
            let customer = try await shop.server.get(path)
            #expect(customer["account_token"]?.string == token)
            #expect(customer["aliases"]?.array == [])
            // A customer whose id is a UUID needs no other token.
            let uuid = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
            let own = try await shop.server.post("/v1/customers/\(uuid)/account_token")
            #expect(own["account_token"]?.string == uuid)

            // This purchase was bought with the token and never posted. The purchase belongs to
            // her, and the iPad shares it.
            try await shop.addDevice("anna", ["app_account_token": .string(token)])
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
            #expect(try await Self.isOpen(Self.device(1), in: shop))
            let signed = try bought.text("signed_transaction")
            let beside = try await Self.post([signed], as: Self.device(2), "sync", in: shop)
            #expect(beside.status == 200)
            #expect(try await Self.isOpen(Self.device(1), in: shop))
            #expect(try await Self.isOpen(Self.device(2), in: shop))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `under the policy transfer, a purchase moves by a restore, but not by a sync`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app(.transfer)) { shop in
            let signed = try await shop.buyMonth("anna").text("signed_transaction")
            _ = try await Self.post([signed], as: "anna", "purchase", in: shop)
            try await shop.simulator.post("/_sim/clock", ["advance": "P32D"])
            // Ben has signed in on a device of anna's store account.
            try await shop.addDevice("anna")
            let shown = try await Self.shown(by: "anna-2", in: shop)
            let answer = try await Self.post(shown, as: "ben", "sync", in: shop)
            #expect(answer.status == 200)
            let verdict = try answer.json["purchases"]?.array?.first
            #expect(verdict?["verdict"] == "another")
            #expect(verdict?["why"] == "needs_restore")
            #expect(try await Self.isOpen("anna", in: shop))
            #expect(try await !Self.isOpen("ben", in: shop))
            // The policy decides only when ben restores.
            #expect(try await Self.post(shown, as: "ben", "restore", in: shop).status == 200)
            #expect(try await Self.isOpen("ben", in: shop))
        }
    }
}
