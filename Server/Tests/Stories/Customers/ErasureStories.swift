import AppStoreFormats
import Engine
import Ledger
import Testing

/// The contents of the event log after a customer was erased.
@Suite(.serialized) struct ErasureStories {
    private typealias Copies = CopiedDocumentStories

    private static let token = "7c9e6679-7425-40de-944b-e07fc1f90ae7"

    private static func log(of customer: CustomerID? = nil, in shop: Shop) async throws -> JSON {
        _ = try await shop.engine.events.numberEvents()
        let filter = customer.map { "?customer_id=\($0)" } ?? ""
        return try await shop.support.get("/v1/events\(filter)")
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after an erasure, no event names a device on which the customer had signed in`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Copies.app()) { shop in
            let phone = Copies.device("phone")
            #expect(try await shop.post(try await shop.buyMonth("anna"), as: phone) == 200)
            try await shop.server.post(
                "/v1/customers/anna/aliases", ["customer_id": .string(phone)])
            let path = "/v1/customers/anna/aliases/\(phone)"
            #expect(try await shop.support.send("DELETE", path).status == 200)
            #expect(try await Self.log(in: shop).text.contains(phone))
            #expect(try await shop.support.send("DELETE", "/v1/customers/anna").status == 200)
            #expect(try await !Self.log(in: shop).text.contains(phone))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the events that a purchase's new owner sees do not contain an erased customer's token`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let bought = try await shop.buyMonth("anna", token: Self.token)
            #expect(try await Self.log(in: shop).text.contains(Self.token))
            let path = "/v1/customers/\(Self.token)"
            #expect(try await shop.support.send("DELETE", path).status == 200)
            #expect(try await shop.post(bought, as: "ben") == 200)
            let history = try await Self.log(of: "ben", in: shop)
            #expect(history["items"]?.array?.first?["customer_id"] == .null)
            #expect(!history.text.contains(Self.token))
        }
    }
}
