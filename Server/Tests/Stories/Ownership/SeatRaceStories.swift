import AppStoreFormats
import Engine
import Eventually
import Ledger
import Logging
import Testing

@testable import Program

/// Many people request the last seats at the same moment, and servers are killed.
@Suite(.serialized) struct SeatRaceStories {
    private static let servers = 3
    private static let seats: Int64 = 10
    private static let members = 50

    /// The result of one claim, or nil if all seats are taken. Repeats the request if a server is
    /// busy.
    private static func claim(
        _ ticket: SeatTicket, _ name: CustomerID, at engine: Engine
    ) async throws -> SeatClaimState? {
        for _ in 0..<100 {
            do throws(EngineFailure) {
                return try await engine.seats.claim(by: ticket, for: name, app: "birds")
            } catch {
                if error == .seatRefused(.taken) { return nil }
                guard error == .busy else { throw error }
            }
        }
        throw EngineFailure.busy
    }

    @Test(.timeLimit(.minutes(5)), arguments: StoryDatabase.allCases)
    func `nine of fifty people get the nine free seats of a group of ten`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(Self.seats, on: database) { stage in
            // An SQLite file can have only one server.
            var others: [Assembly] = []
            for _ in 1..<(database == .sqlite ? 1 : Self.servers) {
                others.append(
                    try await Assembly(
                        apps: [birds], databaseAddress: stage.shop.address,
                        simulatorRoot: stage.shop.authority.rootDER,
                        receiptRoot: try stage.shop.authority.receipts.rootDER,
                        now: { stage.shop.engine.context.serverTime },
                        logger: Logger(label: "race") { _ in SwiftLogNoOpLogHandler() }))
            }
            let engines = [stage.shop.engine] + others.map(\.engine)
            let ticket = SeatTicket.purchase(
                PurchaseID(TransactionID(rawValue: stage.original), in: .production))
            let names = (1...Self.members).map { CustomerID(rawValue: "member-\($0)") }
            // Each person sends two requests, to two servers.
            let found = try await withThrowingTaskGroup(
                of: (CustomerID, SeatClaimState?).self
            ) { tasks in
                for (number, name) in (names + names).enumerated() {
                    let engine = engines[(number + number / names.count) % engines.count]
                    tasks.addTask { (name, try await Self.claim(ticket, name, at: engine)) }
                }
                return try await tasks.reduce(into: [CustomerID: [SeatClaimState?]]()) {
                    $0[$1.0, default: []].append($1.1)
                }
            }
            let winners = found.filter { $0.value.contains { $0 != nil } }
            #expect(winners.count == Int(Self.seats) - 1)
            for states in winners.values.map({ $0.compactMap(\.self) }) {
                #expect(Set(states.map(\.claim.id)).count == 1)
                #expect(states.count(where: \.isNew) == 1)
            }
            var open = 0
            for name in names where try await stage.isOpen(name.rawValue) { open += 1 }
            #expect(open == Int(Self.seats) - 1)
            let group = try await stage.groupAnswer()
            #expect(group["claimed"] == 9 && group["available"] == 0 && group["waiting"] == 0)
            for other in others { other.database.close() }
        }
    }

    private static let early = ["early-1", "early-2", "early-3"]
    private static let runners = 4
    private static let turns = 12
    private static let hours = 24

    @Test(.timeLimit(.minutes(5)), arguments: StoryDatabase.allCases)
    func `if a renewal reduces the seats while people join and leave, the earliest members stay`(
        database: StoryDatabase
    ) async throws {
        try await SeatStage.with(Self.seats, on: database) { stage in
            for name in Self.early { try await stage.join(name) }
            try await stage.group.does("change-seats", ["seats": 5])
            try await stage.group.pass("P30D")
            let ticket = SeatTicket.purchase(
                PurchaseID(TransactionID(rawValue: stage.original), in: .production))
            let joined = try await withThrowingTaskGroup(of: [String].self) { tasks in
                tasks.addTask {
                    for _ in 0..<Self.hours { try await stage.group.pass("PT2H") }
                    return []
                }
                for runner in 1...Self.runners {
                    tasks.addTask { try await Self.comeAndGo(runner, by: ticket, stage) }
                }
                return try await tasks.reduce(into: [String]()) { $0 += $1 }
            }
            let books = try await stage.shop.simulator.get("/_sim/truth/anna")
            let seats = books["purchases"]?.array?.first?["seats"]?["count"]?.integer ?? 0
            #expect(seats == 5)
            let group = try await stage.groupAnswer()
            #expect(group["seats"] == .integer(seats))
            let claims = (group["claims"]?.array ?? []).map { $0["customer_id"]?.string ?? "" }
            #expect(Set(claims) == Set(Self.early + joined))
            #expect(claims.count == Self.early.count + joined.count)
            #expect(Array(claims.prefix(Self.early.count)) == Self.early)
            for (rank, name) in claims.enumerated() {
                #expect(try await stage.isOpen(name) == (rank < seats - 1), "\(rank), \(name)")
            }
        }
    }

    /// People join with invitations one after the other, and every second one leaves. Returns those
    /// who stay. Checks that no answer has more taken seats than there are.
    private static func comeAndGo(
        _ runner: Int, by ticket: SeatTicket, _ stage: SeatStage
    ) async throws -> [String] {
        var stayed: [String] = []
        for turn in 1...turns {
            let name = "late-\(runner)-\(turn)"
            let engine = stage.shop.engine
            let state = try await claim(ticket, CustomerID(rawValue: name), at: engine)
            let group = try await stage.groupAnswer()
            let held = (group["claims"]?.array ?? []).count { $0["standing"] == "held" }
            #expect(Int64(held) < group["seats"]?.integer ?? 0)
            guard let state else { continue }
            if turn % 2 == 0 {
                stayed.append(name)
            } else {
                #expect(try await stage.release(state.claim.id.rawValue).status == 200)
            }
        }
        return stayed
    }

    private static let kills = 5

    @Test(.timeLimit(.minutes(10)), arguments: StoryDatabase.allCases)
    func `an acknowledged claim survives a kill, and a repeated request returns the same claim`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            try await shop.simulator.post(
                "/_sim/reset",
                ["multi_seat": ["pro.monthly": true], "seat_invitations": "developer"])
            try await shop.addDevice("anna")
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "pro.monthly", "seats": 100])
            let original = try bought.text("original_transaction_id")
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await database.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: database, address)
                var first: [String: String] = [:]
                for kill in 1...Self.kills {
                    let server = try await program.start()
                    var wire = server.wire
                    wire.bearer = program.key
                    if kill == 1 {
                        try await wire.post(
                            "/v1/purchases",
                            [
                                "customer_id": "anna",
                                "signed_transactions": [
                                    .string(try bought.text("signed_transaction"))
                                ],
                            ])
                    }
                    // The response before the kill, if there was one, contained the same claim.
                    for (name, claim) in first {
                        let again = try await Self.ask(name, of: original, wire)
                        #expect(again?.status == 200)
                        #expect(try again?.json.text("claim_id") == claim)
                    }
                    let names = (1...8).map { "member-\(kill)-\($0)" }
                    let answered = await Self.claims(of: names, on: original, wire, server)
                    first.merge(answered) { one, _ in one }
                }
                let server = try await program.start()
                var wire = server.wire
                wire.bearer = program.key
                let group = try await wire.get("/v1/purchases/\(original)/seats?limit=500")
                let claims = try (group["claims"]?.array ?? []).map { try $0.text("claim_id") }
                #expect(Set(claims).isSuperset(of: first.values))
                let names = (group["claims"]?.array ?? []).map { $0["customer_id"]?.string }
                #expect(Set(names).count == names.count)
                #expect(!first.isEmpty)
                server.kill()
                try await program.expectClean()
            }
        }
    }

    /// Lets people claim at the same time, and kills the server meanwhile. Returns the people who
    /// got a response, each with the claim.
    private static func claims(
        of names: [String], on original: String, _ wire: Wire, _ server: ServerProgram.Running
    ) async -> [String: String] {
        await withTaskGroup(of: (String, String?).self) { tasks in
            for (number, name) in names.enumerated() {
                tasks.addTask {
                    let answer = try? await ask(name, of: original, wire)
                    if number == 3 { server.kill() }
                    return (name, try? answer?.json.text("claim_id"))
                }
            }
            return await tasks.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    private static func ask(
        _ name: String, of original: String, _ wire: Wire
    ) async throws -> Wire.Answer? {
        let body: JSON = [
            "customer_id": .string(name), "original_transaction_id": .string(original),
        ]
        return try await wire.send("POST", "/v1/seats/claims", body: body.bytes)
    }
}
