import AppStoreFormats
import Engine
import Ledger
import Testing

/// Documents about several seats that the simulator does not produce. The story changes and signs
/// the simulator's documents again. ``SeatLifeStories`` tests the documents that the simulator
/// produces.
@Suite(.serialized) struct SeatStories {
    private static func content(of jws: String) throws -> JSON {
        try JSON(parsing: CompactJWS(jws)?.payload ?? [])
    }

    private static func seats(
        _ shop: Shop, _ bought: JSON, _ count: Int64, _ tiers: [(Int64, Int64)],
        _ more: [(String, JSON)] = [], refunded: Int64? = nil
    ) throws -> String {
        let tiers = tiers.map { price, count -> JSON in
            ["price": .integer(price), "quantity": .integer(count)]
        }
        var info: JSON = ["invitationManagement": "DEVELOPER", "priceTiers": .array(tiers)]
        if let refunded { info = info.setting("revokedSeatQuantity", .integer(refunded)) }
        var content = try content(of: try bought.text("signed_transaction"))
        content = content.setting("quantity", .integer(count)).setting("multiSeatInfo", info)
        for (key, value) in more { content = content.setting(key, value) }
        return try shop.authority.sign(content)
    }

    private static func post(_ signed: String, in shop: Shop) async throws -> JSON {
        try await shop.server.post(
            "/v1/purchases", ["customer_id": "anna", "signed_transactions": [.string(signed)]])
    }

    private static func number(
        _ report: String, _ place: Int = 0, in shop: Shop
    ) async throws -> String? {
        let path = "/v1/reports/\(report)?from=2026-01-01&to=2026-01-31&by=month"
        let rows = try await shop.support.get(path)["rows"]?.array
        return rows?.first?["values"]?.array?[place].string
    }

    private static func events(in shop: Shop) async throws -> [String] {
        _ = try await shop.engine.events.numberEvents()
        let events = try await shop.support.get("/v1/events?customer_id=anna")
        return try (events["items"]?.array ?? []).map { event in
            let money = event["money"]?["amount"]?.string.map { " \($0)" } ?? ""
            return try event.text("type") + money
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a purchaser pays for all seats, and keeps access while at least one seat is left`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let bought = try await shop.buyMonth("anna")
            let tiers: [(Int64, Int64)] = [(9_990, 5), (7_990, 2)]
            let first = try Self.seats(shop, bought, 7, tiers)
            _ = try await Self.post(first, in: shop)
            #expect(try await Self.number("revenue", in: shop) == "65.93")
            #expect(try await Self.number("mrr", in: shop) == "65.93")
            try await shop.simulator.post("/_sim/clock", ["advance": "P10D"])
            // The addition has the line item of the period. From now on, the first transaction has
            // it, too.
            let content = try Self.content(of: first)
            let begun = try #require(content["purchaseDate"]?.integer)
            let day: Int64 = 86_400_000
            func part(
                _ seats: Int64, _ tiers: [(Int64, Int64)], signed second: Int64,
                _ more: [(String, JSON)] = [], refunded: Int64? = nil
            ) throws -> String {
                try Self.seats(
                    shop, bought, seats, tiers,
                    [
                        ("additionalTransactionReason", "SEAT_ADDITION"),
                        ("signedDate", .integer(begun + 10 * day + second * 1000)),
                    ] + more, refunded: refunded)
            }
            let addition: [(String, JSON)] = [
                ("transactionId", "900000000000001"),
                ("purchaseDate", .integer(begun + 10 * day)),
            ]
            _ = try await Self.post(try part(7, tiers, signed: 1), in: shop)
            let added = try part(3, [(7_990, 3)], signed: 1, addition)
            _ = try await Self.post(added, in: shop)
            _ = try await Self.post(first, in: shop)
            #expect(try await Self.number("revenue", in: shop) == "89.90")
            #expect(try await Self.number("mrr", in: shop) == "89.90")
            // One seat of the first payment is refunded, the cheapest.
            _ = try await Self.post(try part(7, tiers, signed: 2, refunded: 1), in: shop)
            #expect(try await Self.number("revenue", in: shop) == "81.91")
            // The first payment is refunded in full; the addition stays.
            let refund: [(String, JSON)] = [
                ("revocationDate", .integer(begun + 10 * day)), ("revocationReason", 0),
            ]
            try await shop.simulator.post("/_sim/clock", ["advance": "PT1H"])
            _ = try await Self.post(try part(7, tiers, signed: 3, refund), in: shop)
            #expect(try await shop.entitlement("pro", of: "anna")?["state"] == "paid")
            _ = try await Self.post(
                try part(3, [(7_990, 3)], signed: 3, addition + refund), in: shop)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == false)
            let expected = [
                "purchased 65.93", "seats_added 23.97", "price_corrected -7.99",
                "refunded -57.94", "refunded -23.97",
            ]
            #expect(try await Self.events(in: shop).filter { !$0.hasPrefix("linked") } == expected)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a seat of a group gives access, and does not count as a payment`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let bought = try await shop.buyMonth("anna")
            let seat = try Self.seats(
                shop, bought, 7, [(9_990, 5), (7_990, 2)],
                [("inAppOwnershipType", "ASSIGNED")])
            let answer = try await Self.post(seat, in: shop)
            #expect(answer["entitlements"]?["pro"]?["active"] == true)
            #expect(answer["subscriptions"]?.array?.first?["ownership"] == "assigned")
            #expect(try await Self.number("revenue", in: shop) ?? "0.00" == "0.00")
            try await shop.simulator.post("/_sim/clock", ["advance": "PT2H"])
            let later = JSON.integer(try #require(bought.signedAt?.integer) + 3_600_000)
            let taken = try Self.seats(
                shop, bought, 7, [],
                [
                    ("inAppOwnershipType", "ASSIGNED"), ("revocationType", "ASSIGNMENT_REVOKE"),
                    ("revocationDate", later), ("signedDate", later),
                ])
            _ = try await Self.post(taken, in: shop)
            #expect(try await shop.entitlement("pro", of: "anna")?["active"] == false)
            let events = try await Self.events(in: shop).filter { !$0.hasPrefix("linked") }
            #expect(events == ["seat_assigned", "seat_revoked"])
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }
}

extension JSON {
    /// When the purchase's signed transaction was signed.
    fileprivate var signedAt: JSON? {
        let jws = self["signed_transaction"]?.string ?? ""
        return (try? JSON(parsing: CompactJWS(jws)?.payload ?? []))?["signedDate"]
    }
}
