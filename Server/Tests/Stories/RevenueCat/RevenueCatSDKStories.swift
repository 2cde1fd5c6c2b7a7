import AppStoreFormats
import Engine
import Ledger
import Testing

@testable import Program

/// What an app with RevenueCat's SDK does during its life, as requests in the SDK's form.
@Suite(.serialized) struct RevenueCatSDKStories {
    private typealias Phone = RevenueCatPhone

    private static func buy(
        _ product: String, _ account: String = "anna", in shop: Shop
    ) async throws -> String {
        try await shop.simulator.post(
            "/_sim/devices/\(account)-1/purchases", ["product_id": .string(product)]
        ).text("signed_transaction")
    }

    @Test(arguments: StoryDatabase.allCases)
    func `RevenueCat's SDK can launch, show offerings, buy, renew and restore on another phone`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            let phone = Phone(shop.server, as: Phone.anonymous("phone"))
            #expect(try await phone.info().active.isEmpty)
            let offerings = try await phone.send("GET", Phone.path(phone.user, "/offerings")).json
            #expect(offerings["current_offering_id"] == "default")
            #expect(
                offerings["offerings"]?.array?.first?["packages"]?.array?.map {
                    $0["identifier"]?.string
                } == ["$rc_monthly", "$rc_annual"])
            try await shop.addDevice("anna")
            let signed = try await Self.buy("pro.monthly", in: shop)
            let bought = try await phone.post(signed)
            #expect(bought.status == 200)
            let info = try RevenueCatAnswer(try bought.json)
            #expect(info.active == ["pro", "plus"] && info.rights["pro"]?.willRenew == true)
            for _ in 0..<3 {
                try await CopiedDocumentStories.pass("P20D", in: shop)
                #expect(try await phone.info().active == ["pro", "plus"])
            }
            let restored = try await CopiedDocumentStories.signedNow(in: shop)
            let tablet = Phone(shop.server, as: Phone.anonymous("tablet"))
            #expect(try await tablet.info().active.isEmpty)
            #expect(try await tablet.post(restored, "restore").status == 200)
            #expect(try await tablet.info().active == ["pro", "plus"])
            #expect(try await phone.info().active == ["pro", "plus"])
            try await CopiedDocumentStories.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after a log-in the device's purchases belong to the person, also after a log-out`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            var phone = Phone(shop.server, as: Phone.anonymous("phone"))
            try await shop.addDevice("anna")
            let signed = try await Self.buy("pro.monthly", in: shop)
            #expect(try await phone.post(signed).status == 200)
            #expect(try await phone.logIn("anna"))
            #expect(try await phone.info().active == ["pro", "plus"])
            phone.logOut("again")
            #expect(try await phone.info().active.isEmpty)
            #expect(try await phone.logIn("anna") == false)
            #expect(try await phone.info().active == ["pro", "plus"])
            // Nothing moves from one person to another.
            #expect(try await phone.logIn("ben"))
            #expect(try await phone.info().active.isEmpty)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
            let owner = try await shop.support.get("/v1/customers/anna")
            let aliases = (owner["aliases"]?.array ?? []).compactMap(\.string)
            #expect(Set(aliases) == [Phone.anonymous("phone"), Phone.anonymous("again")])
            try await CopiedDocumentStories.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a posted consumable appears in the answer, and a repeated spending request spends once`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            let phone = Phone(shop.server, as: "mia")
            try await shop.addDevice("anna")
            let signed = try await Self.buy("seeds.100", in: shop)
            let number = try JSON(parsing: try #require(CompactJWS(signed)?.payload))
                .text("transactionId")
            for _ in 0..<2 {
                let answer = try await phone.post(signed)
                #expect(
                    try RevenueCatAnswer(try answer.json).oneTimeTransactions == [number])
            }
            let path = Phone.path("mia", "/virtual_currencies")
            #expect(
                try await phone.send("GET", path).json["virtual_currencies"]?["seeds"]?["balance"]
                    == 100)
            for amount: Int64 in [-30, -30] {
                let spent = try await phone.send(
                    "POST", path + "/spend", ["adjustments": ["seeds": .integer(amount)]],
                    ["Idempotency-Key": "oak"])
                #expect(
                    try spent.json["virtual_currencies"]?["seeds"]?["balance"] == 70)
            }
            let more = try await phone.send(
                "POST", path + "/spend", ["adjustments": ["seeds": 71]],
                ["Idempotency-Key": "forest"])
            #expect(more.status == 400)
            let without = try await phone.send(
                "POST", path + "/spend", ["adjustments": ["seeds": 1]])
            #expect(without.status == 400)
            #expect(
                try await shop.support.get("/v1/customers/mia")["wallets"]?["seeds"]?["balance"]
                    == 70)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a RevenueCat app can post a StoreKit 1 receipt, or an app transaction alone`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            let phone = Phone(shop.server, as: "anna")
            try await shop.addDevice("anna")
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
            let answer = try await phone.post(try bought.text("app_receipt"), "queue")
            #expect(answer.status == 200)
            #expect(try RevenueCatAnswer(try answer.json).active == ["pro", "plus"])
            let appOnly = try await phone.post(
                nil, "restore",
                appTransaction: try await shop.simulator.get(
                    "/_sim/devices/anna-1/app-transaction"
                ).text("signed_app_transaction"))
            let info = try RevenueCatAnswer(try appOnly.json)
            #expect(info.json["subscriber"]?["original_application_version"]?.string != nil)
            #expect(info.active == ["pro", "plus"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a restore that shows an old transaction asks the App Store before it answers`(
        database: StoryDatabase
    ) async throws {
        try await withShop(
            on: database, app: Phone.app(), notifies: false, questions: .due
        ) { shop in
            try await shop.addDevice("anna")
            let first = try await Self.buy("pro.monthly", in: shop)
            try await CopiedDocumentStories.pass("P70D", in: shop)
            let phone = Phone(shop.server, as: "anna")
            let answer = try await phone.post(first, "restore")
            #expect(answer.status == 200)
            #expect(try RevenueCatAnswer(try answer.json).active == ["pro", "plus"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a restore of another customer's purchase is refused with RevenueCat's code 7102`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            try await shop.addDevice("anna")
            let signed = try await Self.buy("pro.monthly", in: shop)
            #expect(try await Phone(shop.server, as: "anna").post(signed).status == 200)
            let ben = Phone(shop.server, as: "ben")
            let eligible = try await ben.send(
                "POST", Phone.path("ben", "/restore/eligibility"), ["fetch_token": .string(signed)])
            #expect(try eligible.json["is_purchase_allowed_by_restore_behavior"] == false)
            let refused = try await ben.post(signed, "restore")
            #expect(refused.status == 400)
            #expect(try refused.json["code"] == 7102)
            // A purchase that the app finds by itself is not a person's request to move it.
            let found = try await ben.post(signed, "queue", isRestore: true)
            #expect(found.status == 200)
            #expect(try RevenueCatAnswer(try found.json).active.isEmpty)
            #expect(try await Phone(shop.server, as: "anna").info().active == ["pro", "plus"])
        }
    }
}

/// A server that is killed and started again, as a separate process.
@Suite(.serialized) struct RevenueCatOfflineStories {
    private static let lines = """

            placements:
              default: {products: [pro.monthly]}
            revenuecat:
              keys: [\(RevenueCatPhone.key)]
        """

    @Test(.timeLimit(.minutes(10)), arguments: StoryDatabase.allCases)
    func `a posting acknowledged before a kill survives, and a repeat stores nothing new`(
        engine: StoryDatabase
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await engine.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: engine, address,
                    more: Self.lines)
                try await shop.addDevice("anna")
                let bought = try await shop.simulator.post(
                    "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly"])
                let signed = try bought.text("signed_transaction")
                let server = try await program.start()
                let phone = RevenueCatPhone(server.wire, as: RevenueCatPhone.anonymous("phone"))
                #expect(try await phone.post(signed).status == 200)
                server.kill()
                await #expect(throws: (any Error).self) { try await phone.post(signed) }
                let again = try await program.start()
                defer { again.kill() }
                let later = RevenueCatPhone(again.wire, as: phone.user)
                #expect(try await later.info().active == ["pro"])
                #expect(try await later.post(signed, "queue").status == 200)
                #expect(try await program.documentCount() == 1)
            }
        }
    }
}
