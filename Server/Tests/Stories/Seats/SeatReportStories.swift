import AppStoreClient
import AppStoreFormats
import Engine
import Eventually
import Ledger
import Testing

@testable import Program

/// The server reports claims on seats to the App Store, whose books then have the same claims.
@Suite(.serialized) struct SeatReportStories {
    @Test(arguments: StoryDatabase.allCases)
    func `each claim and its end are reported to the App Store once`(
        database: StoryDatabase
    ) async throws {
        try await SeatReportStage.with(4, on: database) { stage in
            let ben = try await stage.join("ben")
            try await stage.join("cleo")
            #expect(try await stage.claims() == ["ben held off", "cleo held off"])
            #expect(try await stage.claimsThere() == [])
            try await stage.tell()
            #expect(try await stage.claims() == ["ben held reported", "cleo held reported"])
            #expect(try await stage.claimsThere() == (try await stage.idsThere()))
            try await stage.leave(ben)
            try await stage.tell()
            let rows = try await stage.rows()
            #expect(rows.map(\.state) == ["ended", "reported"])
            #expect(try await stage.claimsThere() == [rows[1].id])
            try await stage.tell()
            #expect(try await stage.claimsThere().count == 1)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a request whose answer was lost is repeated, and returns the same claim`(
        database: StoryDatabase
    ) async throws {
        try await SeatReportStage.with(4, on: database) { stage in
            let lost = LostAnswers(2)
            let engine = try stage.engine(try stage.client(lost.answer))
            try await stage.join("ben")
            for _ in 1...3 {
                try await stage.tell(by: engine)
                #expect(try await stage.claimsThere().count == 1)
                try await stage.pass("PT10M")
            }
            #expect(try await stage.claimsThere() == (try await stage.idsThere()))
            #expect(try await stage.claims() == ["ben held reported"])
            // A backup from before the answer has this state.
            try await stage.shop.database.write { connection in
                _ = try connection.run(
                    "UPDATE seat_claims SET apple_state = 'due', apple_claim = NULL, "
                        + "apple_asked_at_ms = NULL, due_at_ms = 0", [])
            }
            try await stage.tell()
            #expect(try await stage.claimsThere() == (try await stage.idsThere()))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `if servers report at the same time, the App Store gets one claim for each member`(
        database: StoryDatabase
    ) async throws {
        try await SeatReportStage.with(30, on: database) { stage in
            for number in 1...25 { try await stage.join("member-\(number)") }
            let lost = LostAnswers(7)
            // An SQLite file can have only one server.
            let other =
                database == .sqlite ? nil : try await stage.other(try stage.client(lost.answer))
            let engines = [
                try stage.engine(try stage.client(lost.answer)),
                try other?.engine ?? stage.engine(try stage.client(lost.answer)),
            ]
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for engine in engines + engines {
                    tasks.addTask { try await Self.tell(by: engine) }
                }
                try await tasks.waitForAll()
            }
            try await stage.pass("PT1M")
            try await stage.tell()
            let there = try await stage.claimsThere()
            #expect(there.count == 25)
            #expect(Set(there) == Set(try await stage.idsThere()))
            #expect(try await stage.rows().allSatisfy { $0.state == "reported" })
            other?.database.close()
        }
    }

    /// Lets a server report, and repeats if it is busy.
    private static func tell(by engine: Engine) async throws {
        for _ in 0..<100 {
            do throws(EngineFailure) {
                guard try await engine.seats.report() > 0 else { return }
            } catch {
                guard error == .busy else { throw error }
            }
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `the end of a claim is reported only if Apple may know of the claim`(
        database: StoryDatabase
    ) async throws {
        try await SeatReportStage.with(4, on: database) { stage in
            try await stage.leave(try await stage.join("ben"))
            try await stage.tell()
            #expect(try await stage.rows().map(\.state) == ["ended"])
            #expect(try await stage.claimsThere() == [])
            let cleo = try await stage.join("cleo")
            try await stage.tell(
                by: try stage.engine(try stage.client(LostAnswers(1).answer)))
            try await stage.leave(cleo)
            #expect(try await stage.claimsThere().count == 1)
            try await stage.tell()
            #expect(try await stage.claimsThere() == [])
            #expect(try await stage.rows().map(\.state) == ["ended", "ended"])
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `when a customer is erased, the App Store learns that the customer's seat is free`(
        database: StoryDatabase
    ) async throws {
        try await SeatReportStage.with(4, on: database) { stage in
            for name in ["ben", "cleo"] { try await stage.join(name) }
            try await stage.tell()
            for (name, left) in [("ben", 1), ("anna", 0)] {
                let erased = try await stage.shop.support.send("DELETE", "/v1/customers/\(name)")
                #expect(erased.status == 200)
                try await stage.tell()
                #expect(try await stage.claimsThere().count == left, "\(name)")
            }
            let rows = try await stage.rows()
            #expect(rows.map(\.state) == ["ended", "ended"])
            #expect(!rows.contains { $0.customer == "ben" })
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a claim made while reports were off is reported when reports are on`(
        database: StoryDatabase
    ) async throws {
        try await SeatReportStage.with(4, on: database) { stage in
            try await stage.join("ben")
            let client = try stage.client()
            try await stage.tell(by: try stage.engine(client, telling: []))
            try await stage.tell(by: try stage.engine(client, telling: [.production]))
            #expect(try await stage.claimsThere() == [])
            try await stage.tell(by: try stage.engine(client, telling: [.production, .sandbox]))
            #expect(try await stage.claimsThere().count == 1)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a claim is reported only while the subscription is active`(
        database: StoryDatabase
    ) async throws {
        try await SeatReportStage.with(4, on: database) { stage in
            try await stage.join("ben")
            try await stage.does("refund")
            try await stage.tell()
            #expect(try await stage.rows().map(\.state) == ["off"])
            #expect(try await stage.claimsThere() == [])
            try await stage.does("reverse-refund")
            #expect(try await stage.open("ben") == ["ben"])
            try await stage.tell()
            #expect(try await stage.claims() == ["ben held reported"])
            #expect(try await stage.claimsThere() == (try await stage.idsThere()))
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a member has access although the App Store is down, and the report waits`(
        database: StoryDatabase
    ) async throws {
        try await SeatReportStage.with(4, on: database) { stage in
            let engine = try stage.engine(
                try stage.client { _, _ in AppStoreResponse(status: 503) })
            try await stage.join("ben")
            try await stage.tell(by: engine)
            #expect(try await stage.open("ben") == ["ben"])
            try await engine.reconciliation.refreshStates()
            let state = engine.reconciliation.states.first { $0.environment == .sandbox }
            #expect(state?.seatReports == 1)
            #expect(state.map { $0.oldestSeatReportAge >= .seconds(60) } == true)
        }
    }

    private static let kills = 4

    @Test(.timeLimit(.minutes(10)), arguments: StoryDatabase.allCases)
    func `if a server is killed during reports, the App Store gets one claim for each member`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            try await shop.simulator.post(
                "/_sim/reset",
                [
                    "multi_seat": ["pro.yearly": true], "seat_invitations": "developer",
                    "sandbox_renewal_minutes": 60,
                ])
            try await shop.addDevice("anna", ["environment": "sandbox"])
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.yearly", "seats": 100])
            let stage = SeatReportStage(
                shop: shop, original: try bought.text("original_transaction_id"))
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await database.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: database, address,
                    leaseSeconds: 5)
                for kill in 1...Self.kills {
                    let server = try await program.start()
                    var wire = server.wire
                    wire.bearer = program.key
                    let body: JSON = [
                        "customer_id": "anna",
                        "signed_transactions": [.string(try bought.text("signed_transaction"))],
                    ]
                    try await wire.post("/v1/purchases", body)
                    for number in 1...8 {
                        try await Self.join("member-\(kill)-\(number)", stage.original, wire)
                    }
                    let told = (kill - 1) * 8
                    try await eventually("the App Store is being told") {
                        try await stage.claimsThere().count > told
                    }
                    server.kill()
                }
                let server = try await program.start()
                try await eventually("the App Store was told of all") {
                    try await stage.claimsThere().count == Self.kills * 8
                }
                var wire = server.wire
                wire.bearer = program.key
                let asking = wire
                try await eventually("all answers are recorded") {
                    let group = try await asking.get(
                        "/v1/purchases/\(stage.original)/seats?environment=sandbox&limit=500")
                    return group["claims"]?.array?.allSatisfy { $0["apple_state"] == "reported" }
                        == true
                }
                #expect(try await stage.claimsThere().count == Self.kills * 8)
                server.kill()
                try await program.expectClean()
            }
        }
    }

    private static func join(
        _ name: String, _ original: String, _ wire: Wire
    ) async throws {
        let body: JSON = [
            "customer_id": .string(name), "original_transaction_id": .string(original),
        ]
        let answer = try await wire.send(
            "POST", "/v1/seats/claims?environment=sandbox", body: body.bytes)
        #expect(answer.status == 201, "\(name)")
    }
}
