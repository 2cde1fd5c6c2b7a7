import AppStoreFormats
import Testing

/// An app can show a hint at the owner of a purchase without learning who the owner is.
@Suite(.serialized) struct OwnerHintStories {
    private static let anonymous = "anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"

    @Test(arguments: StoryDatabase.allCases)
    func `a preview shows the present owner's mail address in masked form`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let bought = try await shop.buyMonth("anna")
            #expect(try await shop.post(bought, as: Self.anonymous) == 200)
            let ask: JSON = [
                "customer_id": "ben",
                "signed_transactions": [.string(try bought.text("signed_transaction"))],
            ]
            func shown() async throws -> JSON? {
                try await shop.server.post("/v1/purchases/preview", ask)["purchases"]?.array?.first
            }
            let before = try await shown()
            #expect(before?["owner"] == "another" && before?["owner_hint"] == .null)
            try await shop.server.post(
                "/v1/customers/\(Self.anonymous)/aliases", ["customer_id": "anna@example.com"])
            let after = try await shown()
            #expect(after?["owner_hint"] == "a…@e…" && after?["owner_id"] == .null)
            #expect(after?.text.contains("anna@example.com") == false)
        }
    }
}
