import AppStoreFormats
import Engine
import Ledger
import Logging
import Simulator
import Storage
import Testing

@testable import Program

/// Manual credits, which support adds to a wallet. The example pack holds 100 seeds.
@Suite(.serialized) struct HandCreditStories {
    private static func buy(for customer: String, in shop: Shop) async throws -> JSON {
        let bought = try await shop.simulator.post(
            "/_sim/devices/\(customer)-1/purchases", ["product_id": "seeds.100"])
        try #require(try await shop.post(bought, as: customer) == 200)
        return bought
    }

    private static func give(
        _ amount: Int64 = 50, _ reason: String = "ticket 7", to customer: String = "anna",
        over wire: Wire, key: String? = "ticket-7", currency: String = "seeds", _ query: String = ""
    ) async throws -> Wire.Answer {
        let body: JSON = ["amount": .integer(amount), "reason": .string(reason)]
        return try await wire.send(
            "POST", "/v1/customers/\(customer)/wallets/\(currency)/credits\(query)",
            body: body.bytes, headers: key.map { ["Idempotency-Key": $0] } ?? [:])
    }

    private static func spend(
        _ amount: Int64, by customer: String = "anna", in shop: Shop, key: String? = nil
    ) async throws -> Wire.Answer {
        let body: JSON = ["amount": .integer(amount), "reason": "an oak"]
        return try await shop.support.send(
            "POST", "/v1/customers/\(customer)/wallets/seeds/debits", body: body.bytes,
            headers: key.map { ["Idempotency-Key": $0] } ?? [:])
    }

    private static func balance(
        of customer: String = "anna", in shop: Shop, _ query: String = ""
    ) async throws -> Int64? {
        try await shop.server.get("/v1/customers/\(customer)\(query)")["wallets"]?["seeds"]?[
            "balance"]?.integer
    }

    private static func statement(of customer: String, in shop: Shop) async throws -> [String] {
        let wallet = try await shop.server.get("/v1/customers/\(customer)/wallets/seeds")
        return try (wallet["items"]?.array ?? []).map {
            "\(try $0.text("kind")) \($0["amount"]?.integer ?? 0) → \($0["balance"]?.integer ?? 0)"
        }
    }

    /// The log's events about wallets.
    private static func told(in shop: Shop) async throws -> [String] {
        let events = try await shop.support.get("/v1/events?limit=500")
        return try (events["items"]?.array ?? []).compactMap { event in
            guard let wallet = event["wallet"], wallet != .null else { return nil }
            return "\(try event.text("type")) \(wallet["amount"]?.integer ?? 0): "
                + "\(wallet["before"]?.integer ?? 0) → \(wallet["after"]?.integer ?? 0)"
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a manual credit stays when a purchase is refunded`(database: StoryDatabase) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice("anna")
            let pack = try await Self.buy(for: "anna", in: shop)
            let given = try await Self.give(over: shop.support)
            #expect(given.status == 200)
            #expect(try given.json["balance"] == 150 && given.json["amount"] == 50)
            let id = try given.json.text("credit_id")
            #expect(try await Self.spend(60, in: shop).status == 200)
            try await shop.simulator.post("/_sim/clock", ["advance": "P1D"])
            let transaction = try pack.text("transaction_id")
            try await shop.simulator.post("/_sim/transactions/\(transaction)/refund")
            #expect(try await Self.balance(in: shop) == 50)
            #expect(
                try await Self.statement(of: "anna", in: shop) == [
                    "refund -40 → 50", "debit -60 → 90", "credit 50 → 150", "purchase 100 → 100",
                ])
            #expect(try await Self.spend(51, in: shop).status == 409)
            #expect(try await Self.spend(20, in: shop).status == 200)
            try await shop.simulator.post("/_sim/transactions/\(transaction)/reverse-refund")
            #expect(try await Self.balance(in: shop) == 70)
            #expect(
                try await Self.told(in: shop) == [
                    "wallet_credited 100: 0 → 100", "wallet_credited_by_hand 50: 100 → 150",
                    "wallet_debited -60: 150 → 90", "wallet_clawed_back -40: 90 → 50",
                    "wallet_debited -20: 50 → 30", "wallet_restored 40: 30 → 70",
                ])
            let line = try await shop.server.get("/v1/customers/anna/wallets/seeds")["items"]?
                .array?
                .first { $0["kind"] == "credit" }
            #expect(line?["credit_id"]?.string == id && line?["debit_id"] == .null)
            #expect(line?["reason"] == "ticket 7" && line?["transaction_id"] == .null)
            try await Self.expectToldEverywhere(of: id, in: shop)
            try await shop.expectCleanRebuild()
        }
    }

    /// Expects the credit in the event, the history, the explanation, and the row that operators
    /// read with SQL.
    private static func expectToldEverywhere(of id: String, in shop: Shop) async throws {
        let all = try await shop.support.get("/v1/events?limit=500")["items"]?.array ?? []
        let events = all.filter { $0["type"] == "wallet_credited_by_hand" }
        #expect(events.count == 1)
        let wallet = try #require(events.first?["wallet"])
        #expect(wallet["credit_id"]?.string == id && wallet["debit_id"] == .null)
        #expect(wallet["reason"] == "ticket 7" && wallet["idempotency_key"] == "ticket-7")
        #expect(events.first?["cause"]?["kind"] == "request")
        #expect(events.first?["product_id"] == .null)
        let history = try await shop.support.get("/v1/customers/anna/history")["items"]?.array ?? []
        let line = history.first { $0["kind"] == "credit" }
        #expect(line?["sentence"] == "50 of seeds added by hand: ticket 7")
        #expect(line?["reference"]?.string == id)
        let explained = try await shop.engine.customers.explain(
            "anna", app: "birds", environment: .production)
        #expect(explained.contains("+50  → 150  ticket 7, credit by hand \(id)"))
        _ = try await shop.engine.events.numberEvents()
        while try await shop.engine.customers.show() > 0 {}
        let rows = try await shop.database.read { connection in
            try connection.rows(
                "SELECT kind, amount, balance, credit_id, reason FROM wallet_entries "
                    + "WHERE customer_id = 'anna' AND credit_id IS NOT NULL AND debit_id IS NULL",
                []
            ) { row throws(StorageFailure) in
                "\(try row.text()) \(try row.integer()) \(try row.integer()) \(try row.text()) "
                    + (try row.text())
            }
        }
        #expect(rows == ["credit 50 150 \(id) ticket 7"])
    }

    // MARK: - Once

    @Test(arguments: StoryDatabase.allCases)
    func `a repeated request makes one manual credit, and its key works for no other request`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let first = try await Self.give(over: shop.support)
            #expect(first.status == 200)
            for _ in 0..<3 {
                let again = try await Self.give(over: shop.support)
                #expect(again.status == 200 && again.body == first.body)
            }
            let others = [
                try await Self.give(51, over: shop.support),
                try await Self.give(50, "ticket 8", over: shop.support),
                try await Self.give(to: "ben", over: shop.support),
                try await Self.give(over: shop.support, "?environment=sandbox"),
                try await Self.spend(50, in: shop, key: "ticket-7"),
            ]
            for other in others {
                #expect(other.status == 422)
                #expect(try other.json["code"] == "idempotency_key_reused")
            }
            #expect(try await Self.spend(20, in: shop, key: "order-7").status == 200)
            let taken = try await Self.give(20, "an oak", over: shop.support, key: "order-7")
            #expect(taken.status == 422)
            #expect(try await Self.balance(in: shop) == 30)
            #expect(try await Self.balance(of: "ben", in: shop) == nil)
            #expect(try await Self.balance(in: shop, "?environment=sandbox") == nil)
            #expect(
                try await Self.told(in: shop) == [
                    "wallet_credited_by_hand 50: 0 → 50", "wallet_debited -20: 50 → 30",
                ])
        }
    }

    /// The start of the simulator's clock, which stands still.
    private static let now = Instant(milliseconds: SimulatorSettings.defaultNow.milliseconds)
    private static let keys = 20
    private static let callersOfKey = 8

    @Test(arguments: StoryDatabase.allCases)
    func `simultaneous requests with one key, also to two servers, make only one credit`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            // An SQLite file can have only one server; a PostgreSQL database can have any number.
            let second = database == .postgres ? try await Self.secondServer(beside: shop) : nil
            defer { second?.database.close() }
            let engines = [shop.engine, second?.engine ?? shop.engine]
            let kept = try await withThrowingTaskGroup(of: StoredBooking.self) { callers in
                for number in 0..<Self.keys * Self.callersOfKey {
                    let order = NewBooking(
                        .credit, currency: "seeds", amount: 7, reason: "sorry",
                        key: "\(number % Self.keys)")
                    callers.addTask {
                        try await engines[number / Self.keys % 2].wallets.book(
                            order, of: "anna", app: "birds", environment: .production)
                    }
                }
                return try await callers.reduce(into: Set<StoredBooking>()) { $0.insert($1) }
            }
            #expect(kept.count == Self.keys)
            #expect(
                kept.map(\.balance).sorted() == (1...Self.keys).map { Int64($0) * 7 })
            let wallet = try await shop.engine.wallets.find(
                "seeds", of: "anna", app: "birds", environment: .production)
            #expect(wallet.balance == Int64(Self.keys) * 7 && wallet.entries.count == Self.keys)
            #expect(try await Self.told(in: shop).count == Self.keys)
            try await shop.expectCleanRebuild()
        }
    }

    private static func secondServer(beside shop: Shop) async throws -> Assembly {
        try await Assembly(
            apps: [birds], databaseAddress: shop.address, simulatorRoot: shop.authority.rootDER,
            now: { now }, reconciliation: .disabled,
            logger: Logger(label: "second") { _ in SwiftLogNoOpLogHandler() })
    }

    // MARK: - Permissions and limits

    @Test
    func `only a secret key can credit, and needs an idempotency key, an amount and a reason`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            let rows: [(Wire.Answer, Int, String)] = [
                (try await Self.give(over: shop.server), 403, "key_not_secret"),
                (try await Self.give(over: shop.support, key: nil), 400, "idempotency_key_missing"),
                (try await Self.give(50, "", over: shop.support), 400, "body_not_understood"),
                (try await Self.give(50, " \n", over: shop.support), 400, "body_not_understood"),
                (try await Self.give(0, over: shop.support), 400, "amount_not_positive"),
                (try await Self.give(-50, over: shop.support), 400, "amount_not_positive"),
                (
                    try await Self.give(Wallet.amountMax + 1, over: shop.support), 400,
                    "amount_not_positive"
                ),
                (
                    try await Self.give(over: shop.support, currency: "gold"), 404,
                    "currency_unknown"
                ),
                (
                    try await Self.give(to: "erased_x", over: shop.support, currency: "gold"), 404,
                    "currency_unknown"
                ),
                (
                    try await Self.give(to: "guest", over: shop.support), 422,
                    "customer_id_not_valid"
                ),
            ]
            for (answer, status, code) in rows {
                #expect(answer.status == status, "\(code)")
                #expect(try answer.json["code"]?.string == code)
            }
            #expect(try await Self.balance(in: shop) == nil)
            #expect(try await Self.told(in: shop) == [])
            // The refusals have not used up the idempotency key.
            #expect(try await Self.give(Wallet.amountMax, over: shop.support).status == 200)
            #expect(try await Self.balance(in: shop) == Wallet.amountMax)
        }
    }

    // MARK: - With other wallets

    @Test(arguments: StoryDatabase.allCases)
    func `an erased customer who returns has no credit, and an old key does not restore it`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice("anna")
            let pack = try await Self.buy(for: "anna", in: shop)
            #expect(try await Self.give(50, "sorry, anna", over: shop.support).status == 200)
            #expect(try await Self.give(9, over: shop.support, key: "ticket-8").status == 200)
            #expect(try await shop.support.send("DELETE", "/v1/customers/anna").status == 200)
            #expect(try await Self.balance(in: shop) == nil)
            #expect(try await shop.post(pack, as: "anna") == 409)
            let again = try await Self.give(50, "sorry, anna", over: shop.support)
            #expect(again.status == 422)
            #expect(try await Self.balance(in: shop) == nil)
            let log = try await shop.support.get("/v1/events?limit=500")
            #expect(!log.text.contains("anna") && !log.text.contains("ticket-7"))
            let reasons = try await shop.database.read { connection in
                try connection.texts("SELECT reason FROM debits")
            }
            #expect(reasons == ["", ""])
            // A refund still counts, under the pseudonym, and leaves the credit.
            let transaction = try pack.text("transaction_id")
            try await shop.simulator.post("/_sim/transactions/\(transaction)/refund")
            #expect(try await Self.told(in: shop).last == "wallet_clawed_back -100: 159 → 59")
            let name = try #require(
                try await shop.support.get("/v1/customers?query=\(transaction)")["items"]?.array?
                    .first
            ).text("customer_id")
            let dead = try await Self.give(to: name, over: shop.support, key: "ticket-9")
            #expect(dead.status == 422)
            #expect(try dead.json["code"] == "customer_id_not_valid")
            // The returned customer can get a new credit.
            #expect(try await Self.give(3, over: shop.support, key: "ticket-9").status == 200)
            #expect(try await Self.balance(in: shop) == 3)
            _ = try await shop.engine.maintenance.rebuild(verifyOnly: false)
            #expect(try await Self.balance(in: shop) == 3)
            try await shop.expectCleanRebuild()
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `merged ids keep the manual credits of each id, and a transfer moves no manual credit`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice("anna")
            let pack = try await Self.buy(for: "anna", in: shop)
            #expect(try await Self.give(over: shop.support).status == 200)
            let phone = try await Self.give(5, to: "phone", over: shop.support, key: "ticket-8")
            #expect(phone.status == 200)
            try await shop.support.post("/v1/customers/anna/aliases", ["customer_id": "phone"])
            #expect(try await Self.balance(of: "phone", in: shop) == 155)
            // A repeat by either id is still the same request.
            let again = try await Self.give(5, to: "anna", over: shop.support, key: "ticket-8")
            #expect(again.status == 200 && again.body == phone.body)
            #expect(try await Self.balance(in: shop) == 155)

            try await shop.support.post(
                "/v1/customers/ben/transfers",
                [
                    "original_transaction_id": .string(try pack.text("original_transaction_id")),
                    "reason": "ticket 9",
                ])
            #expect(try await Self.balance(in: shop) == 55)
            #expect(try await Self.balance(of: "ben", in: shop) == 100)
            try await shop.expectCleanRebuild()
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a manual credit first reduces a negative balance`(database: StoryDatabase) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice("anna")
            let pack = try await Self.buy(for: "anna", in: shop)
            #expect(try await Self.spend(80, in: shop).status == 200)
            // A customer has a debt if support moves a purchase of which they have spent something.
            try await shop.support.post(
                "/v1/customers/ben/transfers",
                [
                    "original_transaction_id": .string(try pack.text("original_transaction_id")),
                    "reason": "ticket 9",
                ])
            #expect(try await Self.balance(in: shop) == -80)
            #expect(try await Self.give(over: shop.support).json["balance"] == -30)
            #expect(try await Self.give(over: shop.support, key: "b").json["balance"] == 20)
            #expect(try await Self.spend(21, in: shop).status == 409)
            try await shop.expectCleanRebuild()
        }
    }
}
