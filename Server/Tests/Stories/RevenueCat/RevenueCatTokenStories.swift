import AppStoreFormats
import Engine
import Ledger
import Testing

@testable import Program

/// RevenueCat's SDK in token mode: the customer is named by a token, and not in the path.
@Suite(.serialized) struct RevenueCatTokenStories {
    private typealias Copies = CopiedDocumentStories
    private typealias Phone = RevenueCatTokenPhone

    @Test(arguments: StoryDatabase.allCases)
    func `in token mode, a purchase without log-in belongs to the person who then logs in`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            var phone = Phone(shop.server)
            #expect(try await phone.logIn("anonymous").status == 200)
            let device = phone.user
            #expect(CustomerID(rawValue: device).isAnonymous)
            #expect(try await phone.info().active.isEmpty)
            let signed = try await shop.buyMonth("anna").text("signed_transaction")
            let bought = try await phone.post(signed)
            #expect(try RevenueCatAnswer(try bought.json).active == ["pro", "plus"])
            // A device with the same id in the path gets the same answer.
            let old = RevenueCatPhone(shop.server, as: device)
            #expect(try await old.info().rights.keys == phone.info().rights.keys)

            #expect(try await phone.logIn("oidc", Phone.proof(of: "anna")).status == 200)
            #expect(phone.user == "anna")
            let info = try await phone.info()
            #expect(info.active == ["pro", "plus"])
            #expect(info.json["subscriber"]?["original_app_user_id"] == "anna")
            #expect(try await phone.post(signed, "queue").status == 200)
            let owner = try await shop.support.get("/v1/customers/anna")
            #expect(owner["aliases"]?.array?.compactMap(\.string) == [device])

            #expect(try await phone.logOut().status == 200)
            #expect(phone.user != device)
            #expect(try await phone.info().active.isEmpty)
            // Ben logs in on the same device, and gets nothing of anna's.
            #expect(try await phone.logIn("oidc", Phone.proof(of: "ben")).status == 200)
            #expect(try await phone.info().active.isEmpty)
            #expect(try await phone.logIn("oidc", Phone.proof(of: "anna")).status == 200)
            #expect(try await phone.info().active == ["pro", "plus"])
            try await Copies.expectClean(shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `in token mode, wallets, attributes, offerings and eligibility work`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            var phone = Phone(shop.server)
            #expect(try await phone.logIn("oidc", Phone.proof(of: "mia")).status == 200)
            try await shop.addDevice("anna")
            let signed = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"]
            ).text("signed_transaction")
            #expect(try await phone.post(signed).status == 200)
            let spent = try await phone.send(
                "POST", "/v1/customer/virtual_currencies/spend", ["adjustments": ["seeds": 30]],
                ["Idempotency-Key": "oak"])
            #expect(try spent.json["virtual_currencies"]?["seeds"]?["balance"] == 70)
            let rest = try await phone.send("GET", "/v1/customer/virtual_currencies")
            #expect(try rest.json["virtual_currencies"]?["seeds"]?["balance"] == 70)
            let set = try await phone.send(
                "POST", "/v1/customer/attributes",
                ["attributes": ["$email": ["value": "mia@example.com", "updated_at_ms": 1]]])
            #expect(set.status == 200)
            let mia = try await shop.support.get("/v1/subscribers/mia")
            #expect(
                mia["subscriber"]?["subscriber_attributes"]?["$email"]?["value"]
                    == "mia@example.com")
            let offerings = try await phone.send("GET", "/v1/customer/offerings")
            #expect(try offerings.json["current_offering_id"] == "default")
            let mapping = try await phone.send("GET", "/v1/product_entitlement_mapping")
            #expect(try mapping.json["product_entitlement_mapping"]?["pro.monthly"] != nil)
            let eligible = try await phone.send(
                "POST", "/v1/customer/restore/eligibility", ["fetch_token": .string(signed)])
            #expect(try eligible.json["is_purchase_allowed_by_restore_behavior"] == true)
            for (method, path, status) in [
                ("GET", "/v1/customer/customercenter", 200),
                ("POST", "/v1/customer/attribution", 200),
                ("POST", "/v1/customer/adservices_attribution", 200),
                ("GET", "/v1/customer/health_report", 404), ("POST", "/v1/events", 200),
                ("POST", "/v1/config/app", 404),
            ] {
                let answer = try await phone.send(method, path, method == "POST" ? [:] : nil)
                #expect(answer.status == status, "\(path)")
            }
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a forged token gives no more access than an app key with a guessed id`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Phone.app()) { shop in
            let signed = try await shop.buyMonth("anna").text("signed_transaction")
            for (name, proof) in [
                ("without a proof", nil), ("another's proof", Phone.proof(of: "ben")),
                ("an expired proof", Phone.proof(of: "anna", until: 1_500_000_000)),
                ("a wrong proof", Phone.proof(of: "anna") + "x"),
            ] as [(String, String?)] {
                var thief = Phone(shop.server)
                thief.use(Phone.forged("anna", proof: proof), as: "anna")
                #expect(try await thief.send("GET", "/v1/customer").status == 401, "\(name)")
                // Neither a purchase nor attributes are lost: the SDK sends them again after 503.
                #expect(try await thief.post(signed).status == 503, "\(name)")
                let attributes = try await thief.send(
                    "POST", "/v1/customer/attributes",
                    ["attributes": ["plan": ["value": "x", "updated_at_ms": 1]]])
                #expect(attributes.status == 503, "\(name)")
                let refused = try await thief.logIn("oidc", proof ?? "a.b.c")
                #expect((refused.status == 200) == (name == "another's proof"), "\(name)")
            }
            let anna = try await shop.support.get("/v1/customers/anna")
            #expect(anna["entitlements"]?["pro"] == nil)
            // A log-in that names another person as the one before gets nothing of theirs.
            var phone = Phone(shop.server)
            #expect(try await phone.logIn("anonymous").status == 200)
            #expect(try await phone.post(signed).status == 200)
            #expect(try await phone.logIn("oidc", Phone.proof(of: "anna")).status == 200)
            var second = Phone(shop.server)
            second.use(Phone.forged("anna"), as: "anna")
            #expect(try await second.logIn("oidc", Phone.proof(of: "cleo")).status == 200)
            #expect(try await second.info().active.isEmpty)
            #expect(try await phone.info().active == ["pro", "plus"])
            try await Copies.expectClean(shop)
        }
    }
}
