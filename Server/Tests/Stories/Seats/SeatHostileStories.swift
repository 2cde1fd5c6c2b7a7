import AppStoreFormats
import Storage
import Testing

/// Groups of people who cheat or act at the same time, and lost documents.
@Suite(.serialized) struct SeatHostileStories {
    @Test(arguments: StoryDatabase.allCases, SeatRow.hostile)
    func `after each hostile step, access, seats and daily money equal the ground truth`(
        database: StoryDatabase, row: SeatRow
    ) async throws {
        for host in row.hosts {
            try await SeatCycle.with(host, on: database) { try await row.play(&$0) }
        }
    }

    private static let lostHalfDays = 80

    @Test(arguments: StoryDatabase.allCases)
    func `if the notification of a renewal with fewer seats is lost, a check finds the renewal`(
        database: StoryDatabase
    ) async throws {
        try await SeatCycle.with(.developer, on: database, asks: true) { cycle in
            try await SeatRow.full(of: 4).play(&cycle)
            try await cycle.does("change-seats", ["seats": 2])
            try await SeatAct.losesNotifications.run(&cycle)
            // Time passes in small steps. If a server's clock jumped by days, it would ask only
            // after the chain has ended.
            for _ in 0..<Self.lostHalfDays { try await cycle.pass("PT12H") }
            try await cycle.compare("a month and ten days later", open: "anna ben")
        }
    }

    private static let invited: Int64 = 99

    @Test(arguments: StoryDatabase.allCases)
    func `after a refund of all hundred seats, no member has access`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(Self.invited + 1, on: database) { stage in
            let support = stage.shop.support
            let names = (1...Self.invited).map { "member-\($0)" }
            for name in names {
                let body: JSON = [
                    "customer_id": .string(name),
                    "original_transaction_id": .string(stage.original),
                ]
                let answer = try await support.send(
                    "POST", "/v1/seats/claims", body: body.bytes)
                #expect(answer.status == 201, "\(name)")
            }
            func open() async throws -> Int {
                var open = 0
                for name in names where try await stage.isOpen(name) { open += 1 }
                return open
            }
            #expect(try await open() == names.count)
            try await stage.group.does("refund")
            let books = try await stage.shop.simulator.get("/_sim/truth/anna")
            #expect(books["purchases"]?.array?.first?["open"] == false)
            #expect(try await open() == 0)
            let group = try await stage.groupAnswer()
            #expect(group["seats"] == 0 && group["available"] == 0)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a block of a purchase keeps the members, and refuses a thief's posting`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(3, on: database) { stage in
            let (shop, support) = (stage.shop, stage.shop.support)
            let copied = try await shop.simulator.get("/_sim/devices/anna-1/transactions")
            let theft: JSON = [
                "customer_id": "emil",
                "signed_transactions": copied["signed_transactions"] ?? [],
            ]
            func isHers() async throws -> Bool {
                let posted = try await shop.server.send("POST", "/v1/purchases", body: theft.bytes)
                #expect(posted.status == 409)
                return try await stage.open("anna", "ben", "emil") == ["anna", "ben"]
            }
            try await stage.join("ben")
            let block: JSON = [
                "original_transaction_id": .string(stage.original), "reason": "ticket",
            ]
            try await support.post("/v1/customers/anna/blocks", block)
            #expect(try await isHers())
            let path = "/v1/customers/anna/blocks/\(stage.original)"
            #expect(try await support.send("DELETE", path).status == 200)
            #expect(try await isHers())
            #expect(try await stage.groupAnswer()["claimed"] == 1)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if several devices with seats become aliases of one person, the person keeps one seat`(
        database: StoryDatabase
    ) async throws {
        let devices = (1...3).map { "anon_0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1\($0)" }
        try await SeatStage.with(5, on: database) { stage in
            let own = try await stage.join("ben")
            for device in devices { try await stage.join(device) }
            #expect(try await stage.groupAnswer()["available"] == 0)
            // All devices become ids of ben.
            for device in devices {
                try await stage.shop.server.post(
                    "/v1/customers/ben/aliases", ["customer_id": .string(device)])
            }
            let group = try await stage.groupAnswer()
            #expect(group["claimed"] == 1 && group["available"] == 3)
            #expect(try group["claims"]?.array?.first?.text("claim_id") == own)
            #expect(try await stage.open("ben", devices[0], devices[2]).count == 3)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the token of an invitation is in no database row, event or list`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(4, on: database) { stage in
            let (used, open) = (try await stage.invite(), try await stage.invite())
            #expect(try await stage.claim("ben", used.token).status == 201)
            _ = try await stage.seatEvents()
            let rows = try await stage.shop.database.read { connection in
                try connection.rows("SELECT invitation, digest FROM seat_invitations", []) {
                    row throws(StorageFailure) in
                    (try row.text(), try row.bytes())
                }
            }
            #expect(Set(rows.map(\.0)) == [used.id, open.id])
            for token in [used.token, open.token] {
                #expect(rows.allSatisfy { $0.1 != Array(token.utf8) && $0.0 != token })
                for path in ["/v1/events?limit=500", "/v1/customers/ben/history"] {
                    let answer = try await stage.shop.support.get(path)
                    #expect(!answer.text.contains(token))
                }
            }
        }
    }
}

extension SeatRow {
    static let hostile = [
        lost, both, assignedFirst, refundedAddition, undoneLate, refundedMoreThanOnce, regrouped,
    ]

    /// A group without a free seat, whose members are ben, cleo and dora.
    static func full(of seats: Int64) -> Self {
        SeatRow(
            "a group that is full", by: [.developer],
            [
                (.buys(seats), "anna"), (.joins("ben"), "anna ben"),
                (.joins("cleo"), "anna ben cleo"), (.joins("dora"), "anna ben cleo dora"),
            ])
    }

    private static let lost = SeatRow(
        "the app posts a renewal with fewer seats of which no notification arrives",
        by: [.developer],
        full(of: 4).steps + [
            (.plans(2), "anna ben cleo dora"), (.losesNotifications, "anna ben cleo dora"),
            (.waitsAndPosts("P32D", "anna"), "anna ben"),
        ])

    private static let both = SeatRow(
        "a member of the group has a seat of an organization, too", by: [.developer],
        [
            (.buys(3), "anna"), (.joins("ben"), "anna ben"), (.isAssigned("ben"), "anna ben"),
            (.leaves("ben"), "anna ben"), (.joins("ben"), "anna ben"),
            (.isUnassigned("ben"), "anna ben"), (.isAssigned("ben"), "anna ben"),
            (.refunds(0), "ben"), (.isUnassigned("ben"), ""),
        ])

    private static let assignedFirst = SeatRow(
        "somebody with a seat of an organization buys the subscription, too",
        [
            (.buys(2), "anna"), (.isAssigned("ben"), "anna ben"),
            (.subscribes("ben", "premium.monthly"), "anna ben"),
            (.isUnassigned("ben"), "anna ben"), (.waits("P1M"), "anna ben"),
        ])

    private static let refundedAddition = SeatRow(
        "seats that were added for members who joined are refunded", by: [.developer],
        [
            (.buys(2), "anna"), (.joins("ben"), "anna ben"), (.buys(4), "anna ben"),
            (.joins("cleo"), "anna ben cleo"), (.joins("dora"), "anna ben cleo dora"),
            (.refunds(1), "anna ben"), (.waits("P1D"), "anna ben"), (.reverses(1), all),
            (.waits("P1M"), all),
        ])

    private static let undoneLate = SeatRow(
        "fewer seats are planned again and again, and undone in the last hour", by: [.developer],
        full(of: 4).steps + [
            (.plans(1), all), (.plans(3), all), (.plans(1), all), (.waits("P30DT23H"), all),
            (.plans(4), all), (.waits("P1D"), all),
        ])

    private static let refundedMoreThanOnce = SeatRow(
        "seats are refunded one by one, until none is left", by: [.developer],
        full(of: 4).steps + [
            (.refundsSeats(1), "anna ben cleo"), (.refundsSeats(1), "anna ben"),
            (.refundsSeats(1), "anna"), (.refundsSeats(1), ""), (.waits("P1M"), ""),
        ])

    private static let regrouped = SeatRow(
        "the group is bought anew at once after a refund", by: [.developer],
        full(of: 4).steps + [
            (.refunds(0), ""), (.waits("P1D"), ""), (.buysAnew(2), "anna"),
            (.joins("dora"), "anna dora"), (.waits("P1M"), "anna dora"),
        ])

    private static let all = "anna ben cleo dora"
}
