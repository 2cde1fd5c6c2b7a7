import AppStoreFormats
import Ledger
import Testing

/// What becomes of support's word: it is kept where a person looks, taken back as it was given, and
/// finds whom it is about.
@Suite(.serialized) struct SupportWordStories {
    private static let token = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    private static func support(_ shop: Shop) -> Wire {
        Wire(base: shop.server.base, bearer: Shop.secretKey)
    }

    /// Buys on an account's first device. The store tells the server.
    private static func buy(
        _ account: String, in shop: Shop, token: String? = nil
    ) async throws -> JSON {
        try await shop.addDevice(
            account, token.map { ["app_account_token": .string($0)] } ?? [:])
        return try await shop.simulator.post(
            "/_sim/devices/\(account)-1/purchases", ["product_id": "pro.monthly"])
    }

    private static func post(
        _ bought: JSON, as customer: String, in shop: Shop
    ) async throws -> Int {
        let body: JSON = [
            "customer_id": .string(customer),
            "signed_transactions": [.string(try bought.text("signed_transaction"))],
        ]
        return try await shop.server.send("POST", "/v1/purchases", body: body.bytes).status
    }

    @discardableResult
    private static func transfer(
        _ bought: JSON, to customer: String, because reason: String, in shop: Shop
    ) async throws -> JSON {
        try await support(shop).post(
            "/v1/customers/\(customer)/transfers",
            [
                "original_transaction_id": .string(try bought.text("original_transaction_id")),
                "reason": .string(reason),
            ])
    }

    private static func list(_ path: String, in shop: Shop) async throws -> [JSON] {
        try await support(shop).get(path)["items"]?.array ?? []
    }

    @Test(arguments: StoryDatabase.allCases)
    func `why support let somebody keep what they had is kept, each reason once`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let annas = try await Self.buy("anna", in: shop)
            #expect(try await Self.post(annas, as: "anna", in: shop) == 200)
            let named = try await Self.buy("cleo", in: shop, token: Self.token)
            for (bought, customer, links) in [(annas, "anna", 3), (named, Self.token, 2)] {
                for reason in ["ticket 7", "ticket 7", "ticket 9"] {
                    let said = try await Self.transfer(
                        bought, to: customer, because: reason, in: shop)
                    #expect(said["transfer_id"]?.string == nil && said["from"]?.string == nil)
                    #expect(said["to"]?.string == customer && said["reason"]?.string == reason)
                }
                let kept = try await Self.list("/v1/customers/\(customer)/transfers", in: shop)
                let reasons = kept.compactMap { $0["reason"]?.string }
                #expect(reasons == ["ticket 7", "ticket 9"])
                let history = try await Self.list("/v1/customers/\(customer)/history", in: shop)
                let original = try bought.text("original_transaction_id")
                let stays = "Purchase \(original) stays with \(customer), by support:"
                let sentences = history.filter { $0["kind"] == "transfer" }
                    .compactMap { $0["sentence"]?.string }
                #expect(sentences == ["\(stays) ticket 7.", "\(stays) ticket 9."])
                let events = try await Self.list("/v1/events?customer_id=\(customer)", in: shop)
                #expect(events.count { $0["type"] == "linked" } == links)
                #expect(try await Self.post(bought, as: "ben", in: shop) == 409)
            }
            #expect(try await shop.engine.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test func `what support moved can be taken back though they said later that it stays`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let bought = try await Self.buy("anna", in: shop)
            #expect(try await Self.post(bought, as: "anna", in: shop) == 200)
            let moved = try await Self.transfer(bought, to: "ben", because: "ticket 7", in: shop)
            let again = try await Self.transfer(bought, to: "ben", because: "ticket 7", in: shop)
            #expect(again == moved)
            try await Self.transfer(bought, to: "ben", because: "ticket 9", in: shop)
            let path = "/v1/customers/ben/transfers/\(try moved.text("transfer_id"))"
            let undone = try await Self.support(shop).send("DELETE", path)
            #expect(undone.status == 200)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == true)
        }
    }
}
