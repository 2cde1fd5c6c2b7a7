import AppStoreFormats
import Engine
import Ledger
import Testing

@testable import Program

/// The policy `share` gives a limited number of shares, and only for recently signed documents.
@Suite(.serialized) struct ShareStories {
    private static func sharing(most: Int? = nil) -> AppConfiguration {
        var app = birds
        app.settings.restorePolicies = [.production: .share]
        if let most {
            app.settings.shareRules = [.production: OwnershipClaim.ShareRules(most: most)]
        }
        return app
    }

    private static func post(
        _ signed: String, as customer: String, in shop: Shop
    ) async throws -> Wire.Answer {
        let body: JSON = [
            "customer_id": .string(customer), "signed_transactions": [.string(signed)],
        ]
        return try await shop.server.send("POST", "/v1/purchases", body: body.bytes)
    }

    private static func isOpen(_ customer: String, in shop: Shop) async throws -> Bool {
        try await shop.entitlement("pro", of: customer)?["active"] == true
    }

    @Test(arguments: [nil, 2] as [Int?], StoryDatabase.allCases)
    func `a purchase has as many sharers as the app allows, and five by default`(
        most: Int?, database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.sharing(most: most)) { shop in
            let signed = try await shop.buyMonth("anna").text("signed_transaction")
            #expect(try await Self.post(signed, as: "anna", in: shop).status == 200)
            let sharers = (1...(most ?? 5)).map { "sharer-\($0)" }
            for sharer in sharers {
                #expect(try await Self.post(signed, as: sharer, in: shop).status == 200)
            }
            let refused = try await Self.post(signed, as: "late", in: shop)
            #expect(refused.status == 409)
            #expect(try refused.json.text("code") == "purchase_belongs_to_another_customer")
            #expect(try refused.json.text("detail").hasSuffix("(shared_with_most)."))
            #expect(try refused.json.text("title").contains("already shared with the maximum"))
            #expect(try refused.json.text("remedy").contains("most"))
            let preview = try await shop.server.post(
                "/v1/purchases/preview",
                ["customer_id": "late", "signed_transactions": [.string(signed)]])
            #expect(preview["purchases"]?.array?.first?["why"] == "shared_with_most")
            #expect(try await !Self.isOpen("late", in: shop))
            // A customer with a share keeps the share, and may post again.
            for sharer in sharers {
                #expect(try await Self.isOpen(sharer, in: shop))
                #expect(try await Self.post(signed, as: sharer, in: shop).status == 200)
            }
            // When a share ends, another customer can get a share.
            let list = try await shop.support.get("/v1/customers/sharer-1/transfers")
            let share = try #require(list["items"]?.array?.first).text("transfer_id")
            _ = try await shop.support.send("DELETE", "/v1/customers/sharer-1/transfers/\(share)")
            #expect(try await Self.post(signed, as: "late", in: shop).status == 200)
            #expect(try await Self.post(signed, as: "later", in: shop).status == 409)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a document signed 31 days ago gives no share, but a new document does`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.sharing()) { shop in
            let signed = try await shop.buyMonth("anna").text("signed_transaction")
            #expect(try await Self.post(signed, as: "anna", in: shop).status == 200)
            try await shop.simulator.post("/_sim/clock", ["advance": "P29D"])
            #expect(try await Self.post(signed, as: "ben", in: shop).status == 200)
            try await shop.simulator.post("/_sim/clock", ["advance": "P2D"])
            let refused = try await Self.post(signed, as: "carl", in: shop)
            #expect(refused.status == 409)
            #expect(try refused.json.text("detail").hasSuffix("(document_too_old)."))
            #expect(try refused.json.text("remedy").contains("30 days"))
            #expect(try await !Self.isOpen("carl", in: shop))
            // Ben keeps his share, even with the old document.
            #expect(try await Self.post(signed, as: "ben", in: shop).status == 200)
            #expect(try await Self.isOpen("ben", in: shop))
            let restored = try await shop.simulator.post("/_sim/devices/anna-1/restore")
            let fresh = try #require(restored["signed_transactions"]?.array?.last?.string)
            #expect(try await Self.post(fresh, as: "carl", in: shop).status == 200)
            #expect(try await Self.isOpen("carl", in: shop))
        }
    }
}
