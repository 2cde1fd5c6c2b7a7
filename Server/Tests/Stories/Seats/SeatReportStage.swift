import AppStoreClient
import AppStoreFormats
import AsyncHTTPClient
import Engine
import Ledger
import Logging
import Simulator
import Storage
import Synchronization
import Testing

@testable import Program

/// A group in the sandbox. The app invites the members, and anna pays. The server reports claims to
/// the App Store when the story says so, and the simulator's books contain the reported claims.
struct SeatReportStage: Sendable {
    let shop: Shop
    let original: String

    private static let roundsMax = 50

    static func with(
        _ seats: Int64, on database: StoryDatabase, habits: JSON = [:],
        _ story: @escaping @Sendable (SeatReportStage) async throws -> Void
    ) async throws {
        try await withShop(on: database) { shop in
            let original = try await Self.buy(seats, in: shop, habits: habits)
            try await story(SeatReportStage(shop: shop, original: original))
            #expect(try await shop.engine.maintenance.rebuild(verifyOnly: true).isClean)
        }
    }

    /// Anna buys seats for a year, which lasts twelve hours in the sandbox, and her app posts them.
    private static func buy(
        _ seats: Int64, in shop: Shop, habits: JSON
    ) async throws -> String {
        try await shop.simulator.post(
            "/_sim/reset",
            [
                "multi_seat": ["pro.yearly": true], "seat_invitations": "developer",
                "habits": habits, "sandbox_renewal_minutes": 60,
            ])
        try await shop.addDevice("anna", ["environment": "sandbox"])
        let bought = try await shop.simulator.post(
            "/_sim/devices/anna-1/purchases",
            ["product_id": "pro.yearly", "seats": .integer(seats)])
        #expect(try await shop.post(bought, as: "anna") == 200)
        return try bought.text("original_transaction_id")
    }

    // MARK: - Servers

    /// A client of the simulator.
    ///
    /// - Parameter answer: returns the part of an answer that arrives, or throws if nothing
    ///   arrives.
    func client(
        _ answer:
            @escaping @Sendable (AppStoreRequest, AppStoreResponse) throws ->
            AppStoreResponse = { $1 }
    ) throws -> AppStoreClient {
        let engine = shop.engine
        let send = httpSender(HTTPClient.shared, hosts: .simulator(shop.simulator.base))
        return AppStoreClient(
            try .simulated(bundleID: birds.settings.bundleID),
            now: { AppStoreDate(milliseconds: engine.context.serverTime.milliseconds) },
            send: { request in try answer(request, try await send(request)) })
    }

    /// The shop's server, with this client of the App Store.
    func engine(
        _ client: AppStoreClient, telling environments: Set<Ledger.Environment> = [.sandbox]
    ) throws -> Engine {
        var app = birds
        app.settings.seatReports = environments
        let roots = SimulatorRoots(
            signatures: shop.authority.rootDER, receipts: try shop.authority.receipts.rootDER)
        return shop.engine.replacing(
            apps: [app.settings], verifiers: try Assembly.verifiers(of: [app], roots),
            signers: [:],
            reconciliation: ReconciliationSettings(worker: .ofThisProcess()) { _ in client })
    }

    /// Another server on the same database.
    func other(_ client: AppStoreClient) async throws -> Assembly {
        let engine = shop.engine
        return try await Assembly(
            apps: [birds], databaseAddress: shop.address,
            simulatorRoot: shop.authority.rootDER,
            receiptRoot: try shop.authority.receipts.rootDER, now: { engine.context.serverTime },
            reconciliation: ReconciliationSettings(worker: .ofThisProcess()) { _ in client },
            logger: Logger(label: "other") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Lets a server report all due claims to the App Store.
    func tell(by engine: Engine? = nil) async throws {
        let engine = try engine ?? self.engine(try client())
        for _ in 0..<Self.roundsMax {
            guard try await engine.seats.report() > 0 else { return }
        }
        Issue.record("the server reports to the App Store without end")
    }

    /// Lets a server ask the App Store for its count and report the differences.
    func compare() async throws {
        let engine = try engine(try client())
        for _ in 0..<Self.roundsMax {
            guard try await engine.seats.compare() > 0 else { return try await tell(by: engine) }
        }
        Issue.record("the server asks the App Store without end")
    }

    // MARK: - Acts

    func pass(_ duration: String) async throws {
        try await shop.simulator.post("/_sim/clock", ["advance": .string(duration)])
    }

    /// Requests a seat for a customer. Returns the status of the response.
    func joining(_ customer: String) async throws -> Int { try await claim(customer).status }

    private func claim(_ customer: String) async throws -> Wire.Answer {
        let body: JSON = [
            "customer_id": .string(customer), "original_transaction_id": .string(original),
        ]
        return try await shop.support.send(
            "POST", "/v1/seats/claims?environment=sandbox", body: body.bytes)
    }

    /// Claims a seat for a customer. Returns the id of the claim.
    @discardableResult
    func join(_ customer: String) async throws -> String {
        let answer = try await claim(customer)
        #expect(answer.status == 201, "\(customer)")
        try await pass("PT1M")
        return try answer.json.text("claim_id")
    }

    func leave(_ claim: String) async throws {
        #expect(
            try await shop.support.send("DELETE", "/v1/seats/claims/\(claim)").status == 200)
    }

    func refund(_ seats: Int64) async throws {
        try await does("refund", ["seats": .integer(seats)])
    }

    /// Changes anna's subscription by a verb of the simulator, and notifies the server.
    func does(_ verb: String, _ body: JSON = [:]) async throws {
        try await shop.simulator.post("/_sim/subscriptions/\(original)/\(verb)", body)
        try await pass("PT1S")
    }

    /// Posts a notification about ended claims, signed as the simulator signs. Returns the status.
    func unclaim(
        _ info: JSON, id: String = "unclaim-1", by authority: SigningAuthority? = nil
    ) async throws -> Int {
        let payload: JSON = [
            "notificationType": "UNCLAIM_SEATS", "notificationUUID": .string(id),
            "version": "2.0", "signedDate": .integer(shop.engine.context.serverTime.milliseconds),
            "unclaimInfo": info,
        ]
        let body: JSON = [
            "signedPayload": .string(try (authority ?? shop.authority).sign(payload))
        ]
        return try await shop.server.send("POST", "/apple/notifications", body: body.bytes).status
    }

    static func ours(_ ids: [String]) -> JSON {
        [
            "bundleId": .string(birds.settings.bundleID), "environment": "Sandbox",
            "unclaimSeatIds": .array(ids.map { .string($0) }),
        ]
    }

    // MARK: - Checks

    /// The claims that the simulator counts, by its books.
    func claimsThere() async throws -> [String] {
        let books = try await shop.simulator.get("/_sim/truth/anna")
        let seats = try #require(books["purchases"]?.array?.first?["seats"])
        return (seats["claims"]?.array ?? []).compactMap(\.string)
    }

    func group() async throws -> JSON {
        try await shop.support.get("/v1/purchases/\(original)/seats?environment=sandbox")
    }

    /// Each open claim with its member, its state, and its state at the App Store.
    func claims() async throws -> [String] {
        (try await group()["claims"]?.array ?? []).map { claim in
            ["customer_id", "standing", "apple_state"].map { claim[$0]?.string ?? "-" }
                .joined(separator: " ")
        }
    }

    /// The stored row of every claim: the member, the state, and the id at the App Store.
    func rows() async throws -> [(customer: String, state: String, id: String?)] {
        try await shop.database.read { connection in
            try connection.rows(
                "SELECT customer, apple_state, apple_claim FROM seat_claims "
                    + "ORDER BY claimed_at_ms, claim", []
            ) { row throws(StorageFailure) in
                (try row.text(), try row.text(), try row.optionalText())
            }
        }
    }

    /// The ids at the App Store of the members' claims, in the order in which they joined.
    func idsThere() async throws -> [String] { try await rows().compactMap(\.id) }

    /// The customers among the given ones who have access.
    func open(_ customers: String...) async throws -> [String] {
        var open: [String] = []
        for customer in customers {
            let answer = try await shop.support.get(
                "/v1/customers/\(customer)?environment=sandbox")
            if answer["entitlements"]?["pro"]?["active"] == true { open.append(customer) }
        }
        return open
    }

    /// The ended claims, each with its member and its cause.
    func ends() async throws -> [String] {
        _ = try await shop.engine.events.numberEvents()
        let list = try await shop.support.get("/v1/events?limit=500")
        return (list["items"]?.array ?? []).compactMap { event in
            guard event["type"] == "seat_released" else { return nil }
            return [event["customer_id"]?.string ?? "-", event["seat"]?["cause"]?.string ?? "-"]
                .joined(separator: " ")
        }
    }
}

/// Loses the first answers of the App Store.
final class LostAnswers: Sendable {
    struct Lost: Error {}

    private let left: Mutex<Int>

    init(_ count: Int) { left = Mutex(count) }

    @Sendable func answer(
        _ request: AppStoreRequest, _ response: AppStoreResponse
    ) throws -> AppStoreResponse {
        let isLost = left.withLock { left in
            left -= 1
            return left >= 0
        }
        if isLost { throw Lost() }
        return response
    }
}
