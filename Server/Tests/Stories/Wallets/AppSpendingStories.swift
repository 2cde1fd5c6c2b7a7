import AppStoreFormats
import Crypto
import Engine
import Ledger
import Simulator
import Testing

@testable import Program

/// An app spends by itself, without a server of its developer. The example pack holds 100 seeds.
@Suite(.serialized) struct AppSpendingStories {
    private static let secret = "0123456789abcdef0123456789abcdef"

    private static func shop(
        spentBy spender: WalletRules.Spender, wantsProof: Bool = false
    ) -> AppConfiguration {
        var app = birds
        app.settings.wallets.currencies["seeds"] = .init(spender: spender)
        if wantsProof { app.settings.proof = .hmac(AppSecret(secret)) }
        return app
    }

    private static func proof(of id: String) -> String {
        let end = SimulatorSettings.defaultNow.milliseconds / 1000 + 3600
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("\(id)\n\(end)".utf8), using: SymmetricKey(data: Array(secret.utf8)))
        return "\(end).\(code.withUnsafeBytes { Hexadecimal.text($0) })"
    }

    private static func spend(
        _ amount: Int64 = 30, of customer: String = "anna", over wire: Wire, key: String?,
        provenBy person: String? = nil
    ) async throws -> Wire.Answer {
        let body: JSON = ["amount": .integer(amount), "reason": "an oak"]
        var headers: [String: String] = [:]
        headers["Idempotency-Key"] = key
        headers["Perennial-Customer-Proof"] = person.map { proof(of: $0) }
        return try await wire.send(
            "POST", "/v1/customers/\(customer)/wallets/seeds/debits", body: body.bytes,
            headers: headers)
    }

    private static func buyPack(in shop: Shop) async throws {
        try await shop.addDevice("anna")
        let bought = try await shop.simulator.post(
            "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"])
        let body: JSON = [
            "customer_id": "anna",
            "signed_transactions": [.string(try bought.text("signed_transaction"))],
        ]
        let posted = try await shop.support.send("POST", "/v1/purchases", body: body.bytes)
        try #require(posted.status == 200)
    }

    private static func balance(in shop: Shop) async throws -> Int64? {
        try await shop.support.get("/v1/customers/anna")["wallets"]?["seeds"]?["balance"]?.integer
    }

    @Test(arguments: StoryDatabase.allCases)
    func `a debit that a phone repeats with the same key is made once`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.shop(spentBy: .app)) { shop in
            try await Self.buyPack(in: shop)
            let first = try await Self.spend(over: shop.server, key: "one")
            #expect(first.status == 200)
            #expect(try first.json["balance"] == 70)
            for _ in 0..<3 {
                let again = try await Self.spend(over: shop.server, key: "one")
                #expect(again.status == 200 && again.body == first.body)
            }
            #expect(try await Self.balance(in: shop) == 70)
            let other = try await Self.spend(31, over: shop.server, key: "one")
            #expect(try other.json["code"] == "idempotency_key_reused")
            let tooMuch = try await Self.spend(71, over: shop.server, key: "two")
            #expect(try tooMuch.json["code"] == "wallet_balance_too_low")
            #expect(try await Self.spend(70, over: shop.server, key: "three").status == 200)
            #expect(try await Self.balance(in: shop) == 0)
            let report = try await shop.engine.maintenance.rebuild(verifyOnly: true)
            #expect(report.isClean, "\(report)")
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `no customer can spend another customer's balance`(database: StoryDatabase) async throws {
        let app = Self.shop(spentBy: .app, wantsProof: true)
        try await withShop(on: database, app: app) { shop in
            try await Self.buyPack(in: shop)
            let silent = try await Self.spend(over: shop.server, key: "one")
            #expect(silent.status == 401)
            #expect(try silent.json["code"] == "customer_proof_missing")
            let stranger = try await Self.spend(over: shop.server, key: "two", provenBy: "ben")
            #expect(stranger.status == 401)
            #expect(try stranger.json["code"] == "customer_proof_not_valid")
            let own = try await Self.spend(
                of: "ben", over: shop.server, key: "three", provenBy: "ben")
            #expect(try own.json["code"] == "wallet_balance_too_low")
            #expect(try await Self.balance(in: shop) == 100)
            let anna = try await Self.spend(over: shop.server, key: "four", provenBy: "anna")
            #expect(anna.status == 200)
            // The idempotency key of one customer does not work for another.
            let taken = try await Self.spend(
                of: "ben", over: shop.server, key: "four", provenBy: "ben")
            #expect(try taken.json["code"] == "idempotency_key_reused")
            #expect(try await Self.balance(in: shop) == 70)
        }
    }

    @Test(arguments: StoryDatabase.allCases)
    func `an app spends only what the configuration allows, and never credits`(
        database: StoryDatabase
    ) async throws {
        try await withShop(on: database, app: Self.shop(spentBy: .server)) { shop in
            try await Self.buyPack(in: shop)
            for key in ["one", nil] {
                let refused = try await Self.spend(over: shop.server, key: key)
                #expect(refused.status == 403)
                #expect(try refused.json["code"] == "spending_not_allowed")
                #expect(try refused.json.text("remedy").contains("spend: app"))
            }
            #expect(try await Self.spend(over: shop.support, key: nil).status == 200)
        }
        try await withShop(on: database, app: Self.shop(spentBy: .app)) { shop in
            try await Self.buyPack(in: shop)
            let keyless = try await Self.spend(over: shop.server, key: nil)
            #expect(keyless.status == 400)
            #expect(try keyless.json["code"] == "idempotency_key_missing")
            for amount: Int64 in [0, -30, .min] {
                let added = try await Self.spend(amount, over: shop.server, key: "a\(amount)")
                #expect(try added.json["code"] == "amount_not_positive")
            }
            #expect(try await Self.balance(in: shop) == 100)
        }
    }

    // Anybody can extract an app key, and can guess the next idempotency key of a server.
    @Test func `an app cannot use up the idempotency key of a server's debit`() async throws {
        try await withShop(on: .sqlite, app: Self.shop(spentBy: .app)) { shop in
            try await Self.buyPack(in: shop)
            #expect(try await Self.spend(1, over: shop.server, key: "order-7").status == 200)
            #expect(try await Self.spend(30, over: shop.support, key: "order-7").status == 200)
            #expect(try await Self.balance(in: shop) == 69)
        }
    }
}
