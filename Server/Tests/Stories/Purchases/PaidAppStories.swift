import AppStoreFormats
import Ledger
import Testing

@testable import Program

/// Apps that once cost money. The simulator's accounts got the app at version 1. In the sandbox,
/// all accounts got the app at version 1.0, as with Apple.
@Suite struct PaidAppStories {
    private static func app(before version: String, sandbox: Bool = false) throws
        -> AppConfiguration
    {
        var app = birds
        app.settings.paidApp = PaidAppRule(
            before: try #require(AppVersion(version)), entitlements: ["pro"],
            countsInSandbox: sandbox)
        return app
    }

    private static func document(of device: String, in shop: Shop) async throws -> String {
        try await shop.simulator.get("/_sim/devices/\(device)/app-transaction")
            .text("signed_app_transaction")
    }

    private static func number(in document: String) throws -> String {
        let payload = try #require(CompactJWS(document)?.payload)
        return try JSON(parsing: payload).text("appTransactionId")
    }

    @discardableResult
    private static func post(
        _ document: String, for customer: String, in shop: Shop
    ) async throws -> JSON {
        try await shop.server.post(
            "/v1/purchases",
            [
                "customer_id": .string(customer), "signed_app_transaction": .string(document),
            ])
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a buyer of the paid app has the entitlements of the paid-app rule without any purchase`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: try Self.app(before: "3.0")) { shop in
            try await shop.addDevice("anna")
            let document = try await Self.document(of: "anna-1", in: shop)
            let answer = try await Self.post(document, for: "anna", in: shop)
            let pro = answer["entitlements"]?["pro"]
            #expect(pro?["active"] == true && pro?["state"] == "owned")
            #expect(pro?["reason"]?.string?.contains("paid app was bought") == true)
            #expect(pro?["product_id"]?.string == birds.settings.bundleID)
            #expect(answer["one_time"]?.array?.isEmpty == true)
            // The copy of the app has its own row, which a rebuild derives again.
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
            _ = try await shop.engine.maintenance.rebuild(verifyOnly: false)
            #expect(try await shop.entitlement("pro", of: "anna") == pro)
            let text = try await shop.engine.customers.explain(
                "anna", app: "birds", environment: .production)
            #expect(text.contains("the app itself, got on") && text.contains("app_transaction"))
            // The server never asks the App Store about a copy of the app.
            #expect(
                try await shop.engine.customers.reconcile(
                    "anna", app: "birds", environment: .production
                )
                .isEmpty)
            let token = try #require(CompactJWS(try answer.text("token"))?.payload)
            let right = try JSON(parsing: token)["entitlements"]?["pro"]
            #expect(right?["app_transaction_id"]?.string == (try Self.number(in: document)))
            #expect(right?["original_transaction_id"] == nil)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `one copy of the app gives its entitlements to one customer only`(
        database: StoryDatabase
    ) async throws {
        var app = try Self.app(before: "3.0")
        // A policy that moves purchases does not move a copy of the app.
        app.settings.restorePolicies = [.production: .transfer]
        try await withShop(on: database, app: app) { shop in
            try await shop.addDevice("anna")
            let document = try await Self.document(of: "anna-1", in: shop)
            try await Self.post(document, for: "anna", in: shop)
            for _ in 1...2 {
                let ben = try await Self.post(document, for: "ben", in: shop)
                #expect(ben["entitlements"]?["pro"] == nil)
            }
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            // A new document of the same account is about the same copy.
            try await shop.simulator.post("/_sim/clock", ["advance": "P1D"])
            let later = try await Self.document(of: "anna-1", in: shop)
            let ben = try await Self.post(later, for: "ben", in: shop)
            #expect(later != document && ben["entitlements"]?["pro"] == nil)
            #expect(
                try await Self.post(later, for: "anna", in: shop)["entitlements"]?["pro"] != nil)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an app transaction without a purchase decides the customer's environment`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: try Self.app(before: "1")) { shop in
            for environment in ["production", "sandbox"] {
                let account = "\(environment)-account"
                try await shop.addDevice(account, ["environment": .string(environment)])
                let document = try await Self.document(of: "\(account)-1", in: shop)
                let preview = try await shop.server.post(
                    "/v1/purchases/preview",
                    [
                        "customer_id": .string(account),
                        "signed_app_transaction": .string(document),
                        "product_id": "pro.monthly",
                    ])
                #expect(preview["environment"]?.string == environment)
                #expect(preview["purchases"]?.array?.isEmpty == true)
                let answer = try await Self.post(document, for: account, in: shop)
                #expect(answer["environment"]?.string == environment)
                // Version 1 is the first free version, and 1.0 is the same version.
                #expect(answer["entitlements"]?["pro"] == nil)
            }
        }
    }

    @Test func `testers have the paid app's entitlements only if the developer allows it`()
        async throws
    {
        for counts in [false, true] {
            let app = try Self.app(before: "3.0", sandbox: counts)
            try await withShop(on: .sqlite, app: app) { shop in
                try await shop.addDevice("anna", ["environment": "sandbox"])
                let document = try await Self.document(of: "anna-1", in: shop)
                let answer = try await Self.post(document, for: "anna", in: shop)
                #expect((answer["entitlements"]?["pro"]?["active"] == true) == counts)
                #expect(try await shop.entitlement("pro", of: "anna") == nil)
            }
        }
    }

    @Test func `an app transaction of a different app is refused`() async throws {
        var other = birds
        other.settings.bundleID = "com.example.cats"
        try await withShop(on: .sqlite, app: other) { shop in
            try await shop.addDevice("anna")
            let document = try await Self.document(of: "anna-1", in: shop)
            let body: JSON = [
                "customer_id": "anna", "signed_app_transaction": .string(document),
            ]
            let answer = try await shop.server.send("POST", "/v1/purchases", body: body.bytes)
            #expect(answer.status == 422)
            #expect(try answer.json["code"] == "purchase_not_trusted")
        }
    }
}
