import AppStoreFormats
import Engine
import Ledger
import Logging
import Simulator
import Storage
import Testing

@testable import Program

/// Consumables and their wallets. The example pack holds 100 seeds.
@Suite(.serialized) struct WalletStories {
    /// Buys a product. Returns the transaction's number and its signed form.
    private static func buy(
        for customer: String, in shop: Shop, quantity: Int64 = 1
    ) async throws -> (id: String, signed: String) {
        let bought = try await shop.simulator.post(
            "/_sim/devices/\(customer)-1/purchases",
            ["product_id": "seeds.100", "quantity": .integer(quantity)])
        let signed = try bought.text("signed_transaction")
        try await post(signed, as: customer, in: shop)
        return (try bought.text("transaction_id"), signed)
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

    private static func spend(
        _ amount: Int64, _ reason: String, by customer: String, in shop: Shop, key: String? = nil
    ) async throws -> Wire.Answer {
        let server = Wire(base: shop.server.base, bearer: Shop.secretKey)
        let body: JSON = ["amount": .integer(amount), "reason": .string(reason)]
        return try await server.send(
            "POST", "/v1/customers/\(customer)/wallets/seeds/debits", body: body.bytes,
            headers: key.map { ["Idempotency-Key": $0] } ?? [:])
    }

    private static func balance(of customer: String, in shop: Shop) async throws -> Int64? {
        try await shop.server.get("/v1/customers/\(customer)")["wallets"]?["seeds"]?["balance"]?
            .integer
    }

    private static func statement(of customer: String, in shop: Shop) async throws -> [String] {
        let wallet = try await shop.server.get("/v1/customers/\(customer)/wallets/seeds")
        return try (wallet["items"]?.array ?? []).map {
            "\(try $0.text("kind")) \($0["amount"]?.integer ?? 0) → \($0["balance"]?.integer ?? 0)"
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `seeds are bought, spent, refunded down to zero, and bought again`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice("anna")
            #expect(try await Self.balance(of: "anna", in: shop) == nil)
            let first = try await Self.buy(for: "anna", in: shop, quantity: 2)
            #expect(try await Self.balance(of: "anna", in: shop) == 200)
            #expect(try await Self.spend(150, "oaks", by: "anna", in: shop).status == 200)
            let tooMuch = try await Self.spend(51, "oaks", by: "anna", in: shop)
            #expect(tooMuch.status == 409)
            #expect(try tooMuch.json["code"] == "wallet_balance_too_low")

            try await shop.simulator.post("/_sim/clock", ["advance": "P1D"])
            try await shop.simulator.post("/_sim/transactions/\(first.id)/refund", [:])
            #expect(try await Self.balance(of: "anna", in: shop) == 0)
            try await shop.simulator.post("/_sim/clock", ["advance": "P1D"])
            _ = try await Self.buy(for: "anna", in: shop)
            #expect(
                try await Self.statement(of: "anna", in: shop) == [
                    "purchase 100 → 100", "refund -50 → 0", "debit -150 → 50", "purchase 200 → 200",
                ])
            try await shop.simulator.post("/_sim/transactions/\(first.id)/reverse-refund", [:])
            #expect(try await Self.balance(of: "anna", in: shop) == 150)
            #expect(
                try await Self.told(to: "anna", in: shop) == [
                    "wallet_credited 200: 0 → 200 document",
                    "wallet_debited -150: 200 → 50 request",
                    "wallet_clawed_back -50: 50 → 0 document",
                    "wallet_credited 100: 0 → 100 document",
                    "wallet_restored 50: 100 → 150 document",
                ])
            try await Self.expectWholeLog(of: shop)
            let history =
                try await Wire(base: shop.server.base, bearer: Shop.secretKey)
                .get("/v1/customers/anna/history")["items"]?.array ?? []
            #expect(
                history.contains {
                    $0["sentence"]?.string?.hasPrefix(
                        "Event: wallet debited, -150 seeds, from 200 to 50, by the key ") == true
                })
            let explained = try await shop.engine.customers.explain(
                "anna", app: "birds", environment: .production)
            #expect(explained.contains("wallet_clawed_back  \(first.id)  -50 seeds, from 50 to 0"))
        }
    }

    /// The log's events about a customer's wallets.
    private static func told(to customer: String, in shop: Shop) async throws -> [String] {
        let reader = Wire(base: shop.server.base, bearer: Shop.secretKey)
        let events = try await reader.get("/v1/events?limit=500&customer_id=\(customer)")
        return try (events["items"]?.array ?? []).compactMap { event in
            guard let wallet = event["wallet"], wallet != .null else { return nil }
            #expect(event["environment"] == "production" && wallet["currency"] == "seeds")
            return "\(try event.text("type")) \(wallet["amount"]?.integer ?? 0): "
                + "\(wallet["before"]?.integer ?? 0) → \(wallet["after"]?.integer ?? 0) "
                + "\(event["cause"]?["kind"]?.string ?? "")"
        }
    }

    private static func expectWholeLog(of shop: Shop) async throws {
        let report = try await shop.engine.maintenance.rebuild(verifyOnly: true)
        #expect(report.firstDifferences == [])
    }

    @Test func `a pack is credited once, even if several devices and notifications report it`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            try await shop.addDevice("anna")
            let pack = try await Self.buy(for: "anna", in: shop)
            for _ in 0..<3 { try await Self.post(pack.signed, as: "anna", in: shop) }
            for body in try await shop.notifications() {
                _ = try await shop.server.send("POST", "/apple/notifications", body: body)
            }
            try await shop.addDevice("anna")
            let restored = try await shop.simulator.post("/_sim/devices/anna-2/restore", [:])
            for transaction in restored["signed_transactions"]?.array ?? [] {
                try await Self.post(transaction.string ?? "", as: "anna", in: shop)
            }
            #expect(try await Self.balance(of: "anna", in: shop) == 100)
            #expect(
                try await Self.told(to: "anna", in: shop)
                    == ["wallet_credited 100: 0 → 100 document"])
            try await Self.expectWholeLog(of: shop)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an account token names the same customer in upper and lower case`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            let lower = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
            let upper = lower.uppercased()
            try await shop.addDevice("anna", ["app_account_token": .string(lower)])
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"])
            #expect(try await Self.balance(of: upper, in: shop) == 100)
            #expect(try await Self.spend(60, "oaks", by: upper, in: shop).status == 200)
            // The token is one id in upper case and in lower case.
            #expect(try await Self.balance(of: lower, in: shop) == 40)
            #expect(try await Self.spend(41, "oaks", by: lower, in: shop).status == 409)
            let stolen: JSON = [
                "customer_id": "ben",
                "signed_transactions": [.string(try bought.text("signed_transaction"))],
            ]
            let answer = try await shop.server.send("POST", "/v1/purchases", body: stolen.bytes)
            #expect(answer.status == 409)
            #expect(try await shop.post(bought, as: lower) == 200)
            #expect(try await Self.balance(of: lower, in: shop) == 40)
            #expect(
                try await Self.statement(of: lower, in: shop) == [
                    "debit -60 → 40", "purchase 100 → 100",
                ])
        }
    }

    @Test func `a debit with a key is made once, and the key works for no other debit`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            try await shop.addDevice("anna")
            _ = try await Self.buy(for: "anna", in: shop)
            let first = try await Self.spend(30, "oak", by: "anna", in: shop, key: "order-7")
            let again = try await Self.spend(30, "oak", by: "anna", in: shop, key: "order-7")
            #expect(first.status == 200 && again.body == first.body)
            #expect(try await Self.balance(of: "anna", in: shop) == 70)
            let other = try await Self.spend(31, "oak", by: "anna", in: shop, key: "order-7")
            #expect(other.status == 422)
            #expect(try other.json["code"] == "idempotency_key_reused")
            let stranger = try await Self.spend(30, "oak", by: "ben", in: shop, key: "order-7")
            #expect(stranger.status == 422)
            let elsewhere = try await Wire(base: shop.server.base, bearer: Shop.secretKey).send(
                "POST", "/v1/customers/anna/wallets/seeds/debits?environment=sandbox",
                body: Array(#"{"amount": 30, "reason": "oak"}"#.utf8),
                headers: ["Idempotency-Key": "order-7"])
            #expect(elsewhere.status == 422)
            #expect(try await Self.spend(30, "oak", by: "anna", in: shop).status == 200)
            #expect(try await Self.balance(of: "anna", in: shop) == 40)
            #expect(
                try await Self.told(to: "anna", in: shop) == [
                    "wallet_credited 100: 0 → 100 document", "wallet_debited -30: 100 → 70 request",
                    "wallet_debited -30: 70 → 40 request",
                ])
        }
    }

    @Test func `a debit needs a known currency and a positive amount`() async throws {
        try await withShop(on: .sqlite) { shop in
            let none = try await shop.server.send("GET", "/v1/customers/anna/wallets/gold")
            #expect(none.status == 404)
            #expect(try none.json["code"] == "currency_unknown")
            let nothing = try await Self.spend(0, "x", by: "anna", in: shop)
            #expect(try nothing.json["code"] == "amount_not_positive")
            let poor = try await Self.spend(1, "x", by: "anna", in: shop)
            #expect(poor.status == 409)
            #expect(try await Self.balance(of: "anna", in: shop) == nil)
        }
    }

    @Test func `after two ids are merged into one customer, the customer has one wallet`()
        async throws
    {
        try await withShop(on: .sqlite) { shop in
            for name in ["anna", "device-7"] {
                try await shop.addDevice(name)
                _ = try await Self.buy(for: name, in: shop)
                _ = try await Self.spend(40, "oak", by: name, in: shop)
            }
            try await shop.support.post("/v1/customers/anna/aliases", ["customer_id": "device-7"])
            #expect(try await Self.balance(of: "device-7", in: shop) == 120)
        }
    }

    /// The start of the simulator's clock, which stands still.
    private static let now = Instant(milliseconds: SimulatorSettings.defaultNow.milliseconds)
    /// The number of callers that send debits at the same time.
    private static let callers = 64
    /// The number of debits by each caller. All callers together try more debits than the wallet
    /// has seeds.
    private static let debitsEach = 40

    @Test(arguments: StoryDatabase.allCases)
    func `64 simultaneous callers debit one wallet without negative, lost or repeated debits`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database) { shop in
            try await shop.addDevice("anna")
            _ = try await Self.buy(for: "anna", in: shop, quantity: 10)
            _ = try await Self.buy(for: "anna", in: shop, quantity: 10)
            // An SQLite file can have only one server; a PostgreSQL database can have any number.
            let second = database == .postgres ? try await Self.secondServer(beside: shop) : nil
            defer { second?.database.close() }
            let engines = [shop.engine, second?.engine ?? shop.engine]
            let outcomes = try await withThrowingTaskGroup(of: [Bool].self) { callers in
                for caller in 0..<Self.callers {
                    callers.addTask {
                        try await Self.spendAll(caller, engines[caller % 2])
                    }
                }
                return try await callers.reduce(into: []) { $0 += $1 }
            }
            // Each of the 20 packs has 100 seeds, and each debit takes one seed, so exactly 2000
            // debits succeed.
            #expect(outcomes.count == Self.callers * Self.debitsEach)
            #expect(outcomes.filter { $0 }.count == 2000)
            let wallet = try await shop.engine.wallets.find(
                "seeds", of: "anna", app: "birds", environment: .production)
            #expect(wallet.balance == 0)
            #expect(wallet.entries.map(\.balance).min() == 0)
            #expect(wallet.entries.count == 2002)
            try await Self.expectWholeLog(of: shop)
        }
    }

    private static func secondServer(beside shop: Shop) async throws -> Assembly {
        try await Assembly(
            apps: [birds], databaseAddress: shop.address, simulatorRoot: shop.authority.rootDER,
            now: { now }, reconciliation: .disabled,
            logger: Logger(label: "second") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Sends each debit twice with the same key, as a caller does who got no response. Returns
    /// whether each debit was made.
    private static func spendAll(_ caller: Int, _ engine: Engine) async throws -> [Bool] {
        var made: [Bool] = []
        for index in 0..<debitsEach {
            let order = NewBooking(
                .debit, currency: "seeds", amount: 1, reason: "seed", key: "\(caller)-\(index)")
            var isMade: [Bool] = []
            for _ in 0..<2 {
                do {
                    _ = try await engine.wallets.book(
                        order, of: "anna", app: "birds", environment: .production)
                    isMade.append(true)
                } catch EngineFailure.insufficientBalance { isMade.append(false) }
            }
            #expect(isMade[0] == isMade[1])
            made.append(isMade[0])
        }
        return made
    }
}
