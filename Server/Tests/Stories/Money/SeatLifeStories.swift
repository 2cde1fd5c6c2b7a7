import AppStoreFormats
import Engine
import Ledger
import Testing

/// The simulator plays the life of a subscription with several seats. The server's answers, and the
/// money of its events, equal the simulator's books.
@Suite(.serialized) struct SeatLifeStories {
    /// Five seats cost the product's price, 9.99 or 19.99, and each further seat costs 7.99.
    private static let tiers: JSON = ["tiers": [["from": 6, "price": "7.99"]]]

    /// Undocumented behaviour of the App Store that must not change the money.
    private static let habits: [JSON] = [
        [:], ["seat_addition_shares_line_item": true], ["seat_addition_prorated": true],
        ["seat_refund_names_percentage": true],
    ]

    /// A shop that sells months in seats, and in which anna and ben have devices.
    private static func withGroups(
        on database: StoryDatabase, invitations: String = "apple", habits: JSON = [:],
        environment: String = "production", notifies: Bool = true,
        _ story: @escaping @Sendable (SeatGroupStage) async throws -> Void
    ) async throws {
        try await withShop(on: database, questions: notifies ? .none : .due) { shop in
            try await shop.simulator.post(
                "/_sim/reset",
                [
                    "multi_seat": ["pro.monthly": tiers, "premium.monthly": tiers],
                    "seat_invitations": .string(invitations), "habits": habits,
                ])
            for account in ["anna", "ben", "cleo"] {
                try await shop.addDevice(account, ["environment": .string(environment)])
            }
            if !notifies {
                try await shop.simulator.post("/_sim/faults", ["notifications": ["drop": 1]])
            }
            let stage = SeatGroupStage(shop: shop)
            try await story(stage)
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    @Test(
        arguments: StoryDatabase.allCases, Self.habits)
    func `a purchaser has access while any seat is paid for, and each seat has its tier price`(
        database: StoryDatabase, habits: JSON
    ) async throws {
        try await Self.withGroups(on: database, habits: habits) { stage in
            try await stage.order(4)
            try await stage.compare("four seats")
            try await stage.pass("P10D")
            try await stage.order(7)
            try await stage.compare("three seats more")
            try await stage.does("change-seats", ["seats": 5])
            try await stage.compare("fewer are planned")
            try await stage.pass("P1M")
            try await stage.compare("renewed with five")
            try await stage.order(8)
            try await stage.does("refund", ["seats": 2])
            try await stage.compare("two seats are refunded")
            try await stage.does("reverse-refund")
            try await stage.compare("the refund is reversed")
            try await stage.does("refund", ["seats": 4])
            try await stage.compare("a refund of seats of two transactions")
            try await stage.does("refund")
            try await stage.compare("all is refunded")
            try await stage.pass("P1D")
            try await stage.order(2)
            try await stage.compare("bought again")
            try await stage.does("cancel")
            try await stage.pass("P2M")
            try await stage.compare("the end")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `without notifications, the server finds seats by asking the App Store`(
        database: StoryDatabase
    ) async throws {
        try await Self.withGroups(on: database, notifies: false) { stage in
            try await stage.order(4)
            try await stage.pass("P3D")
            try await stage.shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly", "seats": 7])
            try await stage.does("refund", ["seats": 1])
            // Time passes in small steps. If a server's clock jumped by days, it would ask only
            // after the chain has ended.
            for _ in 0..<90 { try await stage.pass("PT12H") }
            try await stage.compare("a month and a half later")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a member without renewal information has access as long as the purchaser pays`(
        database: StoryDatabase
    ) async throws {
        try await Self.withGroups(on: database, habits: ["members_have_no_renewal_info": true]) {
            stage in
            try await stage.order(3)
            try await stage.does("join-group", ["account": "ben"])
            try await stage.post("ben")
            for step in ["P1M", "P1M"] {
                try await stage.pass(step)
                try await stage.compareAccess(step, of: "ben")
            }
            try await stage.does("leave-group", ["account": "ben"])
            try await stage.compareAccess("left", of: "ben")
            try await stage.compareMoney("left")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after the refund of one of two seat transactions, the other transaction gives access`(
        database: StoryDatabase
    ) async throws {
        try await Self.withGroups(on: database) { stage in
            let first = try await stage.order(4)
            let second = try await stage.order(6)
            try await stage.shop.simulator.post("/_sim/transactions/\(first)/refund")
            try await stage.compare("the first is refunded")
            try await stage.does("cancel")
            try await stage.compare("renewal is off")
            try await stage.does("resume")
            try await stage.pass("P1M")
            try await stage.compare("renewed with two seats")
            try await stage.shop.simulator.post("/_sim/transactions/\(second)/refund")
            try await stage.compare("a past addition is refunded")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after an upgrade of a purchase with seats, access equals the simulator's ground truth`(
        database: StoryDatabase
    ) async throws {
        try await Self.withGroups(on: database) { stage in
            try await stage.order(4)
            try await stage.order(6)
            try await stage.pass("P3D")
            try await stage.order(7, "premium.monthly")
            try await stage.compareAccess("upgraded")
            try await stage.pass("P1M", "premium.monthly")
            try await stage.compareAccess("renewed")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `in grace all members of a group keep access, and in billing retry nobody has access`(
        database: StoryDatabase
    )
        async throws
    {
        try await Self.withGroups(on: database) { stage in
            try await stage.order(3)
            try await stage.does("join-group", ["account": "ben"])
            try await stage.post("ben")
            try await stage.does("fail-billing")
            for step in ["P35D", "P15D"] {
                try await stage.pass(step)
                for name in ["anna", "ben"] { try await stage.compareAccess(step, of: name) }
            }
            try await stage.does("recover-billing")
            for name in ["anna", "ben"] { try await stage.compareAccess("paid", of: name) }
            try await stage.compareMoney("paid")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a member of a group or organization has access, and the member's events have no money`(
        database: StoryDatabase
    ) async throws {
        try await Self.withGroups(on: database) { stage in
            try await stage.order(3)
            try await stage.does("join-group", ["account": "ben"])
            try await stage.post("ben")
            try await stage.organization("assign", "cleo")
            try await stage.post("cleo")
            func compare(_ when: String) async throws {
                for name in ["anna", "ben", "cleo"] {
                    try await stage.compareAccess(when, of: name)
                }
                try await stage.compareMoney(when)
            }
            try await compare("joined")
            let answer = try await stage.shop.server.get("/v1/customers/ben")
            #expect(answer["subscriptions"]?.array?.first?["ownership"] == "assigned")
            try await stage.pass("P1M")
            try await compare("renewed")
            try await stage.does("leave-group", ["account": "ben"])
            try await stage.organization("unassign", "cleo")
            try await compare("taken back")
            try await stage.does("join-group", ["account": "cleo"])
            try await stage.post("cleo")
            try await compare("given to another")
            try await stage.does("refund")
            try await compare("all is refunded")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `after a refund of two seats, Apple's UNCLAIM_SEATS is accepted, and one claim stays`(
        database: StoryDatabase
    ) async throws {
        try await Self.withGroups(on: database, invitations: "developer", environment: "sandbox") {
            stage in
            let id = try await stage.order(3)
            let path = "/sandbox/groups/v1/transactions/\(id)/seats"
            for request in ["6f2c4b0e-3b1f-4d5e-8f6a-0c9d1e2f3a41", UUIDs.other] {
                let answer = try await stage.askApple(
                    "POST", path, ["requestIdentifier": .string(request)])
                #expect(answer["seatClaimId"]?.string != nil)
            }
            try await stage.does("refund", ["seats": 2])
            let sent = try await stage.shop.simulator.get("/_sim/notifications?account=anna")
            let last = try #require(sent["notifications"]?.array?.last)
            #expect(last["type"] == "UNCLAIM_SEATS")
            #expect(last["attempts"]?.array?.last?["status"] == 200)
            let info = try await stage.askApple("GET", path)
            #expect(info["totalSeatCount"] == 1)
            #expect(info["assignedSeatClaimIds"]?.array?.count == 1)
        }
    }
}

private enum UUIDs {
    static let other = "6f2c4b0e-3b1f-4d5e-8f6a-0c9d1e2f3a42"
}

/// The acts that several stories of groups share.
struct SeatGroupStage: Sendable {
    let shop: Shop

    /// Anna orders seats, and her app posts the transaction. Returns the transaction's id.
    @discardableResult
    func order(_ seats: Int64, _ product: String = "pro.monthly") async throws -> String {
        let bought = try await shop.simulator.post(
            "/_sim/devices/anna-1/purchases",
            ["product_id": .string(product), "seats": .integer(seats)])
        #expect(try await shop.post(bought, as: "anna") == 200)
        return try bought.text("transaction_id")
    }

    /// The app on a customer's device posts all its transactions.
    func post(_ name: String) async throws {
        let all = try await shop.simulator.get("/_sim/devices/\(name)-1/transactions")
        try await shop.server.post(
            "/v1/purchases",
            [
                "customer_id": .string(name),
                "signed_transactions": all["signed_transactions"] ?? [],
            ])
    }

    func does(
        _ verb: String, _ body: JSON = [:], to product: String = "pro.monthly"
    ) async throws {
        try await shop.simulator.post("/_sim/subscriptions/anna:\(product)/\(verb)", body)
    }

    func organization(_ verb: String, _ account: String) async throws {
        try await shop.simulator.post(
            "/_sim/organizations/acme/\(verb)",
            ["account": .string(account), "product_id": "pro.monthly"])
    }

    func pass(_ duration: String, _ product: String = "pro.monthly") async throws {
        try await shop.simulator.post("/_sim/clock", ["advance": .string(duration)])
    }

    // MARK: - The books

    func compare(_ when: String) async throws {
        try await compareAccess(when)
        try await compareMoney(when)
    }

    /// Compares the entitlement that every subscription of the shop gives with the books.
    func compareAccess(_ when: String, of name: String = "anna") async throws {
        let books = try await shop.simulator.get("/_sim/truth/\(name)")
        let open = (books["purchases"]?.array ?? []).filter { $0["open"]?.bool == true }
        let right = try await shop.entitlement("plus", of: name)
        #expect(right?["active"]?.bool ?? false == !open.isEmpty, "\(name), \(when)")
        let until = open.compactMap { $0["until"]?.string }.max()
        #expect(right?["active"] != true || right?["until"]?.string == until, "\(name), \(when)")
    }

    /// Compares the sum of all events with anna's payments minus her refunds.
    func compareMoney(_ when: String) async throws {
        _ = try await shop.engine.events.numberEvents()
        let events = try await shop.engine.events.list(of: "birds", after: 0, limit: 500)
        let told = events.reduce(0) { $0 + ($1.entry.change.money?.milliunits ?? 0) }
        let books = try await shop.simulator.get("/_sim/truth/anna")
        let charges = (books["purchases"]?.array ?? []).flatMap { $0["charges"]?.array ?? [] }
        let booked = charges.reduce(Int64(0)) { sum, charge in
            sum + (charge["amount_milliunits"]?.integer ?? 0)
                - (charge["refunded_milliunits"]?.integer ?? 0)
        }
        #expect(told == booked, "\(when): \(books.text)")
    }

    /// The response of the App Store Server API.
    func askApple(_ method: String, _ path: String, _ body: JSON? = nil) async throws -> JSON {
        let token = try await shop.simulator.get("/_sim/api-token").text("token")
        let answer = try await shop.simulator.send(
            method, path, body: body?.bytes, headers: ["Authorization": "Bearer \(token)"])
        #expect(answer.status == 200)
        return try answer.json
    }
}
