import AppStoreFormats
import Engine
import Ledger
import Storage
import Testing

@testable import Program

// While a purchase has no owner, the consent of the customer whom it names counts.

extension ConsumptionStories {
    private static let token = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    @Test(arguments: StoryDatabase.allCases)
    func `if an erased customer returns and consents, old purchases are not reported to Apple`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app(Self.consenting), questions: .due) { shop in
            try await shop.addDevice("anna", ["app_account_token": .string(Self.token)])
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"])
            try await shop.server.post(
                "/v1/purchases",
                [
                    "customer_id": .string(Self.token),
                    "signed_transactions": [.string(try bought.text("signed_transaction"))],
                ])
            try await Self.askRefund(of: try bought.text("transaction_id"), in: shop)
            #expect(try await Self.asked(Self.token, in: shop).map(\.state) == [.waiting])
            let support = Wire(base: shop.server.base, bearer: Shop.secretKey)
            _ = try await support.send("DELETE", "/v1/customers/\(Self.token)")
            try await Self.consent(Self.token, in: shop)
            #expect(try await Self.asked(Self.token, in: shop) == [])
            try await Self.pass("PT13H", in: shop)
            #expect(try await Self.received(in: shop) == [])
            #expect(
                try await Self.events(in: shop)
                    == ["consumption_requested", "consumption_unanswered"])
            try await Self.expectSound(shop)
        }
    }

    private static let otherToken = "5b1e0d7a-92c4-4f0e-8a31-0123456789ab"

    @Test(arguments: StoryDatabase.allCases)
    func `a customer's consent covers a purchase whose account token names the customer later`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.app(Self.consenting), questions: .due) { shop in
            try await Self.consent(Self.token, false, in: shop)
            try await Self.consent(Self.otherToken, in: shop)
            let bought = try await shop.buyMonth("anna", token: Self.token)
            try await Self.askRefund(of: try bought.text("transaction_id"), in: shop)
            #expect(try await Self.received(in: shop) == [])
            #expect(try await Self.asked(Self.token, in: shop).map(\.state) == [.waiting])
            // The App Store's next notification contains the new token.
            let original = try bought.text("original_transaction_id")
            try await shop.name(Self.otherToken, in: original)
            try await shop.simulator.post("/_sim/subscriptions/\(original)/resume")
            try await Self.pass("PT1M", in: shop)
            #expect(try await Self.received(in: shop).map { $0["counts"] } == [true])
            #expect(try await Self.asked(Self.otherToken, in: shop).map(\.state) == [.answered])
            try await Self.expectSound(shop)
        }
    }

    @Test
    func `if an undone transfer leaves no owner, the consent of the token's customer applies`()
        async throws
    {
        try await withShop(on: .sqlite, app: Self.app(Self.consenting), questions: .due) { shop in
            let bought = try await shop.buyMonth("anna", token: Self.token)
            let moved = try await shop.support.post(
                "/v1/customers/ben/transfers",
                [
                    "original_transaction_id": .string(try bought.text("original_transaction_id")),
                    "reason": "ticket 7",
                ])
            try await Self.askRefund(of: try bought.text("transaction_id"), in: shop)
            try await Self.consent(Self.token, in: shop)
            #expect(try await Self.received(in: shop) == [])
            let path = "/v1/customers/ben/transfers/\(try moved.text("transfer_id"))"
            #expect(try await shop.support.send("DELETE", path).status == 200)
            try await Self.pass("PT1M", in: shop)
            #expect(try await Self.received(in: shop).map { $0["counts"] } == [true])
            #expect(try await Self.asked(Self.token, in: shop).map(\.state) == [.answered])
        }
    }
}
