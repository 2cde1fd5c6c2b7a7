import AppStoreFormats
import Testing

/// Genuine documents with invalid numbers of seats.
@Suite(.serialized) struct SeatNumberStories {
    /// The seats in a transaction, and how the server must read them.
    struct Row: Sendable {
        var name: String
        var quantity: Int64
        /// Each tier has its price and its number of seats.
        var tiers: [(Int64, Int64)] = []
        var revoked: Int64?
        var seats: Int64
        /// The payment that the server must read; nil if there was none.
        var paid: String
    }

    private static let average: Int64 = 9_000
    private static let dearest = Int64.max
    private static let most = Int64(Int32.max)

    private static let rows = [
        Row(
            name: "the largest valid number of seats", quantity: most, seats: most,
            paid: "19327352823.00"),
        Row(
            name: "one seat more than the largest valid number", quantity: most + 1, seats: 1,
            paid: "9.00"),
        Row(
            name: "the largest integer as the number of seats", quantity: .max, seats: 1,
            paid: "9.00"),
        Row(name: "zero seats", quantity: 0, seats: 1, paid: "9.00"),
        Row(name: "a negative number of seats", quantity: -5, seats: 1, paid: "9.00"),
        Row(
            name: "tiers that add up to all seats", quantity: 3, tiers: [(9_990, 3)], seats: 3,
            paid: "29.97"),
        Row(
            name: "tiers that add up to fewer seats", quantity: 3, tiers: [(9_990, 2)], seats: 3,
            paid: "27.00"),
        Row(
            name: "tiers that add up to more seats", quantity: 3, tiers: [(9_990, 5)], seats: 3,
            paid: "27.00"),
        Row(
            name: "a negative price", quantity: 3, tiers: [(9_990, 2), (-9_990, 1)], seats: 3,
            paid: "27.00"),
        Row(
            name: "a tier of zero seats", quantity: 3, tiers: [(9_990, 3), (7_990, 0)], seats: 3,
            paid: "27.00"),
        Row(
            name: "a tier with a negative number of seats", quantity: 3,
            tiers: [(9_990, 5), (7_990, -2)],
            seats: 3, paid: "27.00"),
        Row(
            name: "a free tier", quantity: 3, tiers: [(9_990, 2), (0, 1)], seats: 3, paid: "19.98"),
        Row(
            name: "three seats at the highest possible price", quantity: 3, tiers: [(dearest, 3)],
            seats: 3,
            paid: "1000000000000.00"),
        Row(
            name: "the largest number of seats at the highest possible price", quantity: most,
            tiers: [(dearest, most)], seats: most,
            paid: "1000000000000.00"),
        Row(
            name: "tiers whose sum of seats overflows", quantity: 3,
            tiers: [(1, .max), (1, .max), (1, 5)],
            seats: 3, paid: "27.00"),
        Row(
            name: "thousands of tiers", quantity: 5_000,
            tiers: Array(repeating: (1, 1), count: 5_000), seats: 5_000, paid: "45000.00"),
        Row(
            name: "more refunded seats than bought ones", quantity: 3, tiers: [(9_990, 3)],
            revoked: 9,
            seats: 0, paid: ""),
        Row(
            name: "the largest integer as the number of refunded seats", quantity: 3,
            tiers: [(9_990, 3)], revoked: .max, seats: 0,
            paid: ""),
        Row(
            name: "a negative number of refunded seats", quantity: 3, tiers: [(9_990, 3)],
            revoked: -1,
            seats: 3, paid: "29.97"),
    ]

    private static func content(_ row: Row, _ number: Int, like bought: JSON) throws -> JSON {
        let jws = try bought.text("signed_transaction")
        let content = try JSON(parsing: CompactJWS(jws)?.payload ?? [])
        let id: JSON = .string("90000000000\(100 + number)")
        let tiers = row.tiers.map { price, count -> JSON in
            ["price": .integer(price), "quantity": .integer(count)]
        }
        var info: JSON = ["invitationManagement": "DEVELOPER", "priceTiers": .array(tiers)]
        if let revoked = row.revoked {
            info = info.setting("revokedSeatQuantity", .integer(revoked))
        }
        return content.setting("transactionId", id).setting("originalTransactionId", id)
            .setting("webOrderLineItemId", id).setting("price", .integer(average))
            .setting("quantity", .integer(row.quantity)).setting("multiSeatInfo", info)
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a document with invalid numbers of seats is accepted, and the purchaser has access`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            let bought = try await shop.buyMonth("anna")
            for (number, row) in Self.rows.enumerated() {
                let name = "purchaser-\(number)"
                let content = try Self.content(row, number, like: bought)
                let body: JSON = [
                    "customer_id": .string(name),
                    "signed_transactions": [.string(try shop.authority.sign(content))],
                ]
                let posted = try await shop.server.send(
                    "POST", "/v1/purchases", body: body.bytes)
                #expect(posted.status == 200, "\(row.name)")
                #expect(
                    try await shop.entitlement("pro", of: name)?["active"] == true, "\(row.name)")
                let original = try content.text("originalTransactionId")
                let group = try await shop.support.get("/v1/purchases/\(original)/seats")
                #expect(group["seats"] == .integer(row.seats), "\(row.name)")
                #expect(group["available"] == .integer(max(0, row.seats - 1)), "\(row.name)")
                #expect(try await Self.paid(by: name, in: shop) == row.paid, "\(row.name)")
                let claim: JSON = [
                    "customer_id": .string("member-\(number)"),
                    "original_transaction_id": .string(original),
                ]
                let answer = try await shop.support.send(
                    "POST", "/v1/seats/claims", body: claim.bytes)
                #expect(answer.status == (row.seats > 1 ? 201 : 409), "\(row.name)")
            }
            // The sums of such prices are valid numbers, too.
            for report in ["revenue", "mrr", "mrr_movement", "ltv"] {
                _ = try await shop.support.get("/v1/reports/\(report)")
            }
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    /// The sum of the events' money.
    private static func paid(by name: String, in shop: Shop) async throws -> String? {
        _ = try await shop.engine.events.numberEvents()
        let events = try await shop.support.get("/v1/events?customer_id=\(name)")
        let amounts = (events["items"]?.array ?? []).compactMap { $0["money"]?["amount"]?.string }
        return amounts.count == 1 ? amounts.first : amounts.joined(separator: " ")
    }
}
