import AppStoreFormats
import Testing

/// Purchases that do not renew. The App Store names no end of such a purchase, but the
/// configuration does. The example season lasts three months and a day.
@Suite(.serialized) struct TermStories {
    private static func buy(
        on device: String, for customer: String, in shop: Shop
    ) async throws -> String {
        let bought = try await shop.simulator.post(
            "/_sim/devices/\(device)/purchases", ["product_id": "season.spring"])
        try await post(try bought.text("signed_transaction"), as: customer, in: shop)
        return try bought.text("transaction_id")
    }

    private static func post(
        _ transaction: String, as customer: String, in shop: Shop
    ) async throws {
        let body: JSON = [
            "customer_id": .string(customer), "signed_transactions": [.string(transaction)],
        ]
        let answer = try await shop.server.send("POST", "/v1/purchases", body: body.bytes)
        try #require(answer.status == 200)
    }

    private static func terms(of customer: String, in shop: Shop) async throws -> [String] {
        try await (shop.server.get("/v1/customers/\(customer)")["non_renewing"]?.array ?? []).map {
            "\(try $0.text("from").prefix(10)) \(try $0.text("until").prefix(10)) "
                + "\($0["days_remaining"]?.integer ?? -1)"
        }
    }

    private static func set(_ date: String, in shop: Shop) async throws {
        try await shop.simulator.post("/_sim/clock", ["set": .string(date + "T12:00:00Z")])
    }

    private static func state(in shop: Shop) async throws -> String {
        let season = try await shop.entitlement("season", of: "anna")
        return try "\(season?.text("state") ?? "-") \(season?.text("until").prefix(10) ?? "-")"
    }

    @Test(arguments: StoryDatabase.allCases)
    func `terms from two devices follow each other, also after a refund and a restore`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await Self.set("2027-01-31", in: shop)
            try await shop.addDevice("anna")
            try await shop.addDevice("anna")
            let first = try await Self.buy(on: "anna-1", for: "anna", in: shop)
            _ = try await Self.buy(on: "anna-2", for: "anna", in: shop)
            // The end is two seasons after 31 January; a season lasts three months and a day.
            #expect(
                try await Self.terms(of: "anna", in: shop) == [
                    "2027-01-31 2027-05-01 90", "2027-05-01 2027-08-02 93",
                ])
            #expect(try await Self.state(in: shop) == "paid 2027-08-02")

            try await Self.set("2027-03-01", in: shop)
            try await shop.simulator.post("/_sim/transactions/\(first)/refund", [:])
            #expect(
                try await Self.terms(of: "anna", in: shop) == [
                    "2027-01-31 2027-03-01 0", "2027-03-01 2027-06-02 93",
                ])
            #expect(try await Self.state(in: shop) == "paid 2027-06-02")

            try await shop.addDevice("anna")
            let third = try await shop.simulator.post("/_sim/devices/anna-3/restore", [:])
            for transaction in third["signed_transactions"]?.array ?? [] {
                try await Self.post(transaction.string ?? "", as: "anna", in: shop)
            }
            #expect(try await Self.state(in: shop) == "paid 2027-06-02")
            try await Self.set("2027-06-03", in: shop)
            #expect(try await Self.state(in: shop) == "expired 2027-06-02")

            try await shop.simulator.post(
                "/_sim/transactions/\(first)/reverse-refund", [:])
            #expect(try await Self.state(in: shop) == "paid 2027-08-02")
        }
    }

    @Test func `an explanation names each term and its remaining days`() async throws {
        try await withShop(on: .sqlite) { shop in
            try await Self.set("2027-01-31", in: shop)
            try await shop.addDevice("anna")
            _ = try await Self.buy(on: "anna-1", for: "anna", in: shop)
            let text = try await shop.engine.customers.explain(
                "anna", app: "birds", environment: .production)
            #expect(text.contains("season: open, paid. Paid until 2027-05-01"))
            #expect(text.contains("season.spring  90 whole days left"))
        }
    }
}
