import AppStoreFormats
import Crypto
import Foundation
import Ledger
import Simulator
import Testing

@testable import Program

/// Our server allows and signs offers. The simulator's App Store accepts or refuses them.
@Suite(.serialized) struct OfferStories {
    private static let token = "0F4C7B9E-1D2A-4C3B-8E5F-6A7B8C9D0E1F"

    /// The example app, whose monthly product has an offer of each kind, and a key pair that signs
    /// offers.
    static func app() throws -> AppConfiguration {
        var shop = try ExampleShop.file()
        let key = P256.Signing.PrivateKey().derRepresentation.base64EncodedString()
        shop.offersKey = StoreKitOffersKey(id: "CA75CA75", privateKey: key)
        let group = try #require(
            shop.groups.firstIndex { group in
                group.subscriptions.contains { $0.id == "pro.monthly" }
            })
        for index in shop.groups[group].subscriptions.indices
        where shop.groups[group].subscriptions[index].id == "pro.monthly" {
            let month = try #require(shop.groups[group].subscriptions[index].subscription?.period)
            func offer(_ type: OfferType, _ id: String?) -> StoreKitOffer {
                StoreKitOffer(
                    type: type, id: id, discount: .payAsYouGo, period: month, price: 990)
            }
            var code = offer(.code, "SPRING")
            code.customers = [.new, .expired]
            shop.groups[group].subscriptions[index].subscription?.introductoryOffers = [
                offer(.introductory, nil)
            ]
            shop.groups[group].subscriptions[index].subscription?.promotionalOffers = [
                offer(.promotional, "stay")
            ]
            shop.groups[group].subscriptions[index].subscription?.winBackOffers = [
                offer(.winBack, "back")
            ]
            shop.groups[group].subscriptions[index].subscription?.codeOffers = [code]
        }
        var app = birds
        app.storeKit = shop
        app.settings.offers = OfferCatalogue(shop)
        return app
    }

    private static func buy(_ order: JSON, in shop: Shop) async throws -> Wire.Answer {
        try await shop.simulator.send(
            "POST", "/_sim/devices/anna-1/purchases", body: order.bytes)
    }

    private static func payload(_ signed: JSON?) throws -> JSON {
        let text = try #require(signed?.string)
        let jws = try #require(CompactJWS(text))
        return try JSON(parsing: try #require(jws.payload))
    }

    private static func subscribe(
        in shop: Shop, _ environment: String = "production"
    ) async throws -> JSON {
        try await shop.addDevice(
            "anna",
            ["app_account_token": .string(token), "environment": .string(environment)])
        try await shop.support.post(
            "/v1/customers/anna/aliases", ["customer_id": .string(token)])
        let bought = try await buy(["product_id": "pro.monthly", "offer": "none"], in: shop).json
        try await shop.server.post(
            "/v1/purchases",
            [
                "customer_id": "anna",
                "signed_transactions": [.string(try bought.text("signed_transaction"))],
            ])
        return bought
    }

    /// The offers of the monthly product for which a customer is eligible by our answer.
    private static func eligible(in shop: Shop) async throws -> Set<String> {
        let list = try await shop.server.get("/v1/customers/anna/offers")
        let items = (list["items"]?.array ?? []).filter {
            $0["product_id"] == "pro.monthly" && $0["eligible"] == true
        }
        return Set(try items.map { try $0.text("kind") })
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the App Store accepts both forms of an offer signature, but each signature only once`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: try Self.app()) { shop in
            let bought = try await Self.subscribe(in: shop)
            let forms: [JSON] = [
                [
                    "customer_id": "anna", "product_id": "pro.monthly", "offer_id": "stay",
                    "kind": "promotional_v1", "app_account_token": .string(Self.token),
                ],
                [
                    "customer_id": "anna", "product_id": "pro.monthly", "offer_id": "stay",
                    "kind": "promotional",
                    "transaction_id": .string(try bought.text("transaction_id")),
                ],
            ]
            for form in forms {
                let signed = try await shop.server.post("/v1/offers/signatures", form)
                var offer: JSON = ["id": "stay"]
                if let jws = signed["compact_jws"], jws.string != nil {
                    offer = ["id": "stay", "jws": jws]
                } else {
                    let signature: JSON = [
                        "key_id": try #require(signed["key_id"]),
                        "nonce": try #require(signed["nonce"]),
                        "timestamp": try #require(signed["timestamp"]),
                        "signature": try #require(signed["signature"]),
                    ]
                    offer = ["id": "stay", "signature": signature]
                }
                let order: JSON = [
                    "product_id": "pro.monthly", "offer": offer,
                    "app_account_token": .string(Self.token),
                ]
                let taken = try await Self.buy(order, in: shop)
                #expect(taken.status == 200, "\(String(decoding: taken.body, as: UTF8.self))")
                let again = try await Self.buy(order, in: shop)
                #expect(try again.json["code"] == "invalid_offer_signature")
            }
        }
    }

    @Test(arguments: [true, false])
    func `a signature allows only new customers an introductory offer, as the App Store does`(
        isNew: Bool
    ) async throws {
        try await withShop(on: .sqlite, app: try Self.app()) { shop in
            if isNew {
                try await shop.addDevice("anna", [:])
            } else {
                // Anna has had an introductory month, which has ended.
                try await shop.addDevice("anna", [:])
                let first = try await Self.buy(["product_id": "pro.monthly"], in: shop).json
                try await shop.server.post(
                    "/v1/purchases",
                    [
                        "customer_id": "anna",
                        "signed_transactions": [.string(try first.text("signed_transaction"))],
                    ])
                try await shop.simulator.post("/_sim/subscriptions/anna:pro.monthly/cancel")
                try await shop.simulator.post("/_sim/clock", ["advance": "P40D"])
            }
            // Only a server may act for a store account that we do not know.
            let server = Wire(base: shop.server.base, bearer: Shop.secretKey)
            let signed = try await server.post(
                "/v1/offers/signatures",
                [
                    "customer_id": "anna", "product_id": "pro.monthly", "kind": "introductory",
                    "transaction_id": "704000000000001",
                ])
            #expect(signed["allows_introductory"] == .bool(isNew))
            let bought = try await Self.buy(
                [
                    "product_id": "pro.monthly",
                    "introductory_eligibility": try #require(signed["compact_jws"]),
                ], in: shop
            ).json
            let payload = try Self.payload(bought["signed_transaction"])
            #expect((payload["offerType"]?.integer == 1) == isNew)
        }
    }

    @Test func `an app gets no introductory signature for an unknown customer id`()
        async throws
    {
        try await withShop(on: .sqlite, app: try Self.app()) { shop in
            let bought = try await Self.subscribe(in: shop)
            let transaction = try bought.text("transaction_id")
            func sign(_ customer: JSON, _ id: String) async throws -> Wire.Answer {
                let order: JSON = [
                    "customer_id": customer, "product_id": "pro.monthly", "kind": "introductory",
                    "transaction_id": .string(id),
                ]
                return try await shop.server.send(
                    "POST", "/v1/offers/signatures", body: order.bytes)
            }
            for id in [transaction, "704000000000001"] {
                let refused = try await sign("nobody-yet", id)
                #expect(refused.status == 409)
                #expect(try refused.json["code"] == "offer_not_for_customer")
            }
            #expect(try await sign("anna", "").status == 400)
            let own = try await sign("anna", transaction)
            #expect(try own.json["allows_introductory"] == false)
            // A customer who subscribed at the full price may still get the introductory offer.
            try await shop.simulator.post("/_sim/subscriptions/anna:pro.monthly/cancel")
            try await shop.simulator.post("/_sim/clock", ["advance": "P40D"])
            let later = try await sign("anna", transaction)
            #expect(try later.json["allows_introductory"] == true)
        }
    }

    @Test
    func `if a payment has two transaction ids, the customer gets offer signatures for each id`()
        async throws
    {
        try await withShop(on: .sqlite, app: try Self.app()) { shop in
            try await shop.simulator.post(
                "/_sim/reset", ["habits": ["renewal_told_under_another_id": true]])
            _ = try await Self.subscribe(in: shop)
            try await shop.simulator.post("/_sim/clock", ["advance": "P31D"])
            let restored = try await shop.simulator.post("/_sim/devices/anna-1/restore")
            let signed = try #require(restored["signed_transactions"])
            try await shop.server.post(
                "/v1/purchases", ["customer_id": "anna", "signed_transactions": signed])
            let told = try await shop.simulator.get("/_sim/notifications")["notifications"]
            let bodies = try (told?.array ?? []).map { try Self.payload($0["signed_payload"]) }
            let numbers = try Set(
                (bodies.map { $0["data"]?["signedTransactionInfo"] } + (signed.array ?? []))
                    .map { try Self.payload($0).text("transactionId") })
            #expect(numbers.count == 3, "one of the first month, and two of the second")
            for number in numbers {
                let order: JSON = [
                    "customer_id": "anna", "product_id": "pro.monthly", "kind": "introductory",
                    "transaction_id": .string(number),
                ]
                let answer = try await shop.server.send(
                    "POST", "/v1/offers/signatures", body: order.bytes)
                #expect(answer.status == 200, "\(number)")
            }
        }
    }

    @Test func `eligibility for offers follows from the customer's purchases`() async throws {
        try await withShop(on: .sqlite, app: try Self.app()) { shop in
            #expect(try await Self.eligible(in: shop) == ["introductory", "code"])
            _ = try await Self.subscribe(in: shop)
            #expect(try await Self.eligible(in: shop) == ["promotional"])
            try await shop.simulator.post("/_sim/subscriptions/anna:pro.monthly/cancel")
            try await shop.simulator.post("/_sim/clock", ["advance": "P40D"])
            #expect(
                try await Self.eligible(in: shop)
                    == ["introductory", "promotional", "win_back", "code"])
            for offer in ["back", "SPRING"] {
                let taken = try await Self.buy(
                    ["product_id": "pro.monthly", "offer": .string(offer)], in: shop)
                #expect(taken.status == 200, "\(offer)")
                try await shop.simulator.post("/_sim/subscriptions/anna:pro.monthly/cancel")
                try await shop.simulator.post("/_sim/clock", ["advance": "P400D"])
            }
            #expect(try await !Self.eligible(in: shop).contains("code"))
        }
    }

    @Test func `a sandbox purchase gives an app no offer signature for production`() async throws {
        try await withShop(on: .sqlite, app: try Self.app()) { shop in
            let bought = try await Self.subscribe(in: shop, "sandbox")
            let own = try bought.text("transaction_id")
            func sign(
                _ by: Wire, _ kind: String, _ transaction: String? = nil, _ query: String
            ) async throws -> JSON {
                var order: [JSON.Member] = [
                    .init("customer_id", "anna"), .init("product_id", "pro.monthly"),
                    .init("offer_id", "stay"), .init("kind", .string(kind)),
                ]
                if let transaction { order.append(.init("transaction_id", .string(transaction))) }
                return try await by.send(
                    "POST", "/v1/offers/signatures\(query)", body: JSON.object(order).bytes
                ).json
            }
            let sandbox = "?environment=sandbox"
            for kind in ["promotional", "promotional_v1"] {
                let refused = try await sign(shop.server, kind, nil, sandbox)
                #expect(refused["code"] == "sandbox_not_allowed", "\(kind)")
                #expect(try await sign(shop.support, kind, nil, sandbox)["code"] == nil)
                let unknown = try await sign(shop.server, kind, own, "")
                #expect(unknown["code"] == "offer_not_for_customer", "\(kind)")
            }
            let tied = try await sign(shop.server, "promotional", own, sandbox)
            let claims = try Self.payload(tied["compact_jws"])
            #expect(claims["transactionId"] == .string(own))
            let foreign = try await sign(shop.server, "promotional", "704000000000001", sandbox)
            #expect(foreign["code"] == "offer_not_for_customer")
        }
    }

    @Test
    func `an offer signature request without a required value is refused with the value's name`()
        async throws
    {
        try await withShop(on: .sqlite, app: try Self.app()) { shop in
            let orders: [(body: JSON, says: String)] = [
                (
                    ["customer_id": "anna", "product_id": "pro.monthly", "kind": "introductory"],
                    "Add the transaction_id"
                ),
                (
                    [
                        "customer_id": "anna", "product_id": "pro.monthly", "offer_id": "stay",
                        "kind": "promotional_v1", "app_account_token": "anna",
                    ], "app_account_token must be a UUID."
                ),
            ]
            for (body, says) in orders {
                let answer = try await shop.server.send(
                    "POST", "/v1/offers/signatures", body: body.bytes)
                #expect(answer.status == 400)
                #expect(try answer.json["code"] == "body_not_understood")
                let text = String(decoding: answer.body, as: UTF8.self)
                #expect(text.contains(says), "\(text)")
            }
        }
    }

    @Test func `an app gets signatures for eligible customers only, a server for any customer`()
        async throws
    {
        try await withShop(on: .sqlite, app: try Self.app()) { shop in
            let order: JSON = [
                "customer_id": "ben", "product_id": "pro.monthly", "offer_id": "stay",
                "kind": "promotional",
            ]
            let byApp = try await shop.server.send(
                "POST", "/v1/offers/signatures", body: order.bytes)
            #expect(byApp.status == 409)
            #expect(try byApp.json["code"] == "offer_not_for_customer")
            let server = Wire(base: shop.server.base, bearer: Shop.secretKey)
            #expect(
                try await server.post("/v1/offers/signatures", order)["compact_jws"]?.string != nil)
            let unknown: JSON = [
                "customer_id": "ben", "product_id": "pro.monthly", "offer_id": "go",
                "kind": "promotional",
            ]
            let none = try await server.send("POST", "/v1/offers/signatures", body: unknown.bytes)
            #expect(try none.json["code"] == "offer_unknown")
        }
        try await withShop(on: .sqlite) { shop in
            let order: JSON = [
                "customer_id": "ben", "product_id": "pro.monthly", "offer_id": "stay",
                "kind": "promotional",
            ]
            let answer = try await shop.server.send(
                "POST", "/v1/offers/signatures", body: order.bytes)
            #expect(try answer.json["code"] == "offers_key_missing")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an app gets an introductory signature for an app transaction that the customer posted`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: try Self.app()) { shop in
            try await shop.addDevice("anna")
            let document = try await shop.simulator.get("/_sim/devices/anna-1/app-transaction")
                .text("signed_app_transaction")
            let id = try #require(try Self.payload(.string(document))["appTransactionId"])
            let order: JSON = [
                "customer_id": "anna", "product_id": "pro.monthly", "kind": "introductory",
                "transaction_id": id,
            ]
            let early = try await shop.server.send(
                "POST", "/v1/offers/signatures", body: order.bytes)
            #expect(early.status != 200)
            try await shop.server.post(
                "/v1/purchases",
                ["customer_id": "anna", "signed_app_transaction": .string(document)])
            let signed = try await shop.server.post("/v1/offers/signatures", order)
            #expect(signed["allows_introductory"] == true)
            #expect(try Self.payload(signed["compact_jws"])["transactionId"] == id)
            let bens = try await shop.server.send(
                "POST", "/v1/offers/signatures",
                body: JSON.object(
                    (order.members ?? []).map {
                        $0.key == "customer_id" ? .init("customer_id", "ben") : $0
                    }
                ).bytes)
            #expect(bens.status != 200)
        }
    }
}
