import AppStoreFormats
import Engine
import Ledger
import Reports
import Storage
import Testing

@testable import Simulator

/// A group buys five seats, adds two, plans four, renews, and gets a refund for one. The group's
/// rows, answers and reports are checked.
@Suite(.serialized) struct SeatMoneyStories {
    /// The expected state after a step: in the answer about the group, in the row of the
    /// subscription, and in the current reports.
    private struct Stand: Hashable {
        var seats: Int64
        var atRenewal: Int64?
        var mrr: String
    }

    /// Five seats cost 9.99 each, and each further seat costs 7.99.
    private static func withGroup(
        on database: StoryDatabase,
        _ story: @escaping @Sendable (SeatGroupStage) async throws -> Void
    ) async throws {
        try await withShop(on: database) { shop in
            let tiers: JSON = ["tiers": [["from": 6, "price": "7.99"]]]
            try await shop.simulator.post(
                "/_sim/reset",
                ["multi_seat": ["pro.monthly": tiers], "seat_invitations": "developer"])
            for account in ["anna", "ben"] { try await shop.addDevice(account) }
            try await story(SeatGroupStage(shop: shop))
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `SQL rows, answers and reports agree on the number and the price of the seats`(
        database: StoryDatabase
    ) async throws {
        try await Self.withGroup(on: database) { stage in
            // Ben has a subscription without a group.
            let shop = stage.shop
            #expect(try await shop.post(try await shop.buyMonth("ben"), as: "ben") == 200)
            let id = try await stage.order(5)
            func expect(_ stand: Stand, _ when: String) async throws {
                #expect(try await Self.stand(of: id, in: shop) == stand, "\(when)")
            }
            try await expect(Stand(seats: 5, atRenewal: 5, mrr: "59.94"), "bought")
            try await stage.pass("P10D")
            try await stage.order(7)
            try await expect(Stand(seats: 7, atRenewal: 7, mrr: "75.92"), "added")
            try await stage.does("change-seats", ["seats": 4])
            try await expect(Stand(seats: 7, atRenewal: 4, mrr: "75.92"), "planned")
            try await stage.pass("P22D")
            try await expect(Stand(seats: 4, atRenewal: 4, mrr: "49.95"), "renewed")
            try await stage.does("refund", ["seats": 1])
            try await expect(Stand(seats: 3, atRenewal: 3, mrr: "39.96"), "refunded")
            try await stage.does("cancel")
            try await expect(Stand(seats: 3, atRenewal: nil, mrr: "39.96"), "renewal is off")
            let nothing = Self.Row(seats: nil, tiers: nil, revoked: nil)
            let expected = [
                Self.Row(seats: 5, tiers: #"[{"price_milliunits": 9990, "seats": 5}]"#, revoked: 0),
                Self.Row(seats: 2, tiers: #"[{"price_milliunits": 7990, "seats": 2}]"#, revoked: 0),
                Self.Row(seats: 4, tiers: #"[{"price_milliunits": 9990, "seats": 4}]"#, revoked: 1),
            ]
            #expect(try await Self.rows(of: "anna", in: shop) == expected)
            #expect(try await Self.rows(of: "ben", in: shop) == [nothing, nothing])
            // In the month in which ben subscribed, one seat was bought, then five, then two. In
            // the next month three were dropped, and one was refunded.
            #expect(
                try await Self.values("seats", in: shop)
                    == [["0", "6", "2", "0", "8"], ["8", "0", "-4", "0", "4"]])
        }
    }

    private static func stand(of id: String, in shop: Shop) async throws -> Stand {
        let group = try await shop.support.get("/v1/purchases/\(id)/seats")
        let anna = try await shop.support.get("/v1/customers/anna")["subscriptions"]?.array?.first
        let ben = try await shop.support.get("/v1/customers/ben")["subscriptions"]?.array?.first
        #expect(anna?["seats"]?["count"] == group["seats"])
        #expect(anna?["seats"]?["at_renewal"] == group["seats_at_renewal"])
        #expect(ben?["seats"] == nil)
        let (seats, atRenewal) = try await shop.database.read { connection in
            try connection.rows(
                "SELECT seats, seats_at_renewal FROM subscriptions "
                    + "WHERE original_transaction_id = $1", [.text(id)]
            ) { row throws(StorageFailure) in (try row.integer(), try row.optionalInteger()) }[0]
        }
        let stand = Stand(
            seats: seats, atRenewal: atRenewal,
            mrr: try await values("mrr", in: shop).last?[0] ?? "")
        #expect(group["seats"]?.integer == stand.seats)
        #expect(group["seats_at_renewal"]?.integer == stand.atRenewal)
        // Ben has one seat.
        #expect(try await values("seats", in: shop).last?.last == "\(stand.seats + 1)")
        return stand
    }

    private static func values(_ report: String, in shop: Shop) async throws -> [[String]] {
        let path = "/v1/reports/\(report)?from=2026-01-01&to=2026-02-28&by=month"
        return try (await shop.support.get(path)["rows"]?.array ?? []).map { row in
            (row["values"]?.array ?? []).map { $0.string ?? "" }
        }
    }

    private struct Row: Hashable {
        var seats: Int64?
        var tiers: String?
        var revoked: Int64?
    }

    private static func rows(of customer: String, in shop: Shop) async throws -> [Row] {
        try await shop.database.read { connection in
            try connection.rows(
                "SELECT seats, price_tiers, revoked_seats FROM transactions "
                    + "WHERE customer_id = $1 ORDER BY purchased_at", [.text(customer)]
            ) { row throws(StorageFailure) in
                Row(
                    seats: try row.optionalInteger(), tiers: try row.optionalText(),
                    revoked: try row.optionalInteger())
            }
        }
    }

    // MARK: - Day by day

    /// The product of ``FullShop`` that is played here.
    private static let product = "tiers.silver"
    private static let days: Int64 = 70

    @Test
    func `reports of seats and active subscriptions equal the simulator's numbers on each day`()
        async throws
    {
        let sells: @Sendable (inout SimulatorSettings) -> Void = {
            $0.rules.seats = FullShop.seats
        }
        try await DirectShop.open(sells) { shop in
            _ = try await shop.engine.reporting.fillMoney()
            try await shop.store.addDevice(account: "anna")
            let first = shop.now.milliseconds / 86_400_000
            func order(_ seats: Int64) async throws {
                let order = PurchaseOrder(
                    Self.product, offerID: PurchaseOrder.noOffer, seats: seats)
                try await shop.store.purchase(order, on: "anna-1")
            }
            try await order(5)
            let bought = try await shop.store.groundTruth(of: "anna").purchases
            let id = try #require(bought.last).originalTransactionID
            for day in 1...Self.days {
                switch day {
                case 10: try await order(7)
                case 12: try await shop.store.change(id, .changeSeats(4))
                case 40: try await shop.store.change(id, .refundSeats(1))
                case 45: try await order(9)
                case 50: try await shop.store.change(id, .refund(of: nil))
                case 53: try await shop.store.change(id, .reverseRefund(of: nil))
                default: break
                }
                try await shop.store.advance(by: ISODuration(days: 1, milliseconds: 0))
            }
            try await shop.postAll(of: ["anna"])
            let last = first + Self.days - 1
            for isRestated in [false, true] {
                let books = try await shop.store.dailyBooksAsCollected(
                    from: AppStoreFormats.CivilDate(daysSince1970: first),
                    to: AppStoreFormats.CivilDate(daysSince1970: last), isRestated: isRestated)
                for (name, column) in [("seats", "closing"), ("active", "active")] {
                    var query = ReportQuery(name, days: first...last, by: .day)
                    query.isRestated = isRestated
                    let report = try await shop.engine.reporting.report(query, of: DirectShop.app)
                        .report
                    let place = try #require(
                        report.definition.columns.firstIndex { $0.name == column })
                    let booked = books.days.map {
                        name == "seats" ? $0.counts.seats : Int64($0.counts.active)
                    }
                    #expect(report.rows.map { $0.values[place].number } == booked, "\(name)")
                }
                let seats = books.days.map(\.counts.seats)
                #expect(Set(seats).isSuperset(of: [5, 7, 3, 9]), "\(seats)")
            }
        }
    }
}
