import AppStoreFormats
import Engine
import Ledger
import Logging
import Testing

@testable import Program

/// The app's configuration first says that account tokens are not customer ids, and later that they
/// are.
@Suite(.serialized) struct ForeignTokenStories {
    private static let uma: CustomerID = "0f4c7b9e-1d2a-4c3b-8e5f-6a7b8c9d0e1f"
    private static let seeds: CurrencyID = "seeds"

    /// Returns whether a customer gets the purchase under another configuration of the same
    /// database.
    private static func isTaken(
        _ bought: JSON, by id: CustomerID, where tokens: AccountTokens, in shop: Shop
    ) async throws -> Bool {
        try await reading(tokens, in: shop) { engine in
            let evidence = PurchaseEvidence(
                signedTransactions: [try bought.text("signed_transaction")])
            do {
                _ = try await engine.recording.record(evidence, of: id, app: "birds")
            } catch let failure as EngineFailure {
                guard case .belongsToAnotherCustomer = failure else { throw failure }
                return false
            }
            return true
        }
    }

    private static func balances(
        where tokens: AccountTokens, in shop: Shop
    ) async throws -> [Int64] {
        try await reading(tokens, in: shop) { engine in
            var balances: [Int64] = []
            for id in [uma, "carl"] {
                let state = try await engine.customers.find(
                    id, app: "birds", environment: .production)
                balances.append(state.balances[seeds] ?? 0)
            }
            return balances
        }
    }

    private static func reading<Answer>(
        _ tokens: AccountTokens, in shop: Shop, _ body: (Engine) async throws -> Answer
    ) async throws -> Answer {
        var app = birds
        app.settings.accountTokens = tokens
        let assembly = try await Assembly(
            apps: [app], databaseAddress: shop.address, simulatorRoot: shop.authority.rootDER,
            receiptRoot: try shop.authority.receipts.rootDER, now: { StoryClock().now },
            logger: Logger(label: "story") { _ in SwiftLogNoOpLogHandler() })
        defer { assembly.database.close() }
        return try await body(assembly.engine)
    }

    @Test(arguments: [0, 30, 100] as [Int64], StoryDatabase.allCases)
    func `if account_tokens is changed and changed back, a spent pack is credited only once`(
        spent: Int64, database: StoryDatabase
    ) async throws {
        try await withShop(on: database, notifies: false) { shop in
            try await shop.addDevice(
                "anna", ["app_account_token": .string(Self.uma.rawValue)])
            let bought = try await shop.simulator.post(
                "/_sim/devices/anna-1/purchases", ["product_id": "seeds.100"])
            // A notification announced the pack. Only its token shows that the pack is uma's.
            try await shop.support.post(
                "/v1/customers/uma/aliases", ["customer_id": .string(Self.uma.rawValue)])
            #expect(try await shop.post(bought, as: "carl") == 409)
            if spent > 0 {
                try await shop.support.post(
                    "/v1/customers/uma/wallets/seeds/debits",
                    ["amount": .integer(spent), "reason": "an oak"])
            }
            let isSpent = spent > 0
            let left = isSpent ? [100 - spent, 0] : [0, 100]
            #expect(try await Self.balances(where: .customers, in: shop) == [100 - spent, 0])
            let isCarls = try await Self.isTaken(bought, by: "carl", where: .other, in: shop)
            #expect(isCarls == !isSpent)
            #expect(try await Self.balances(where: .other, in: shop) == left)
            #expect(try await Self.balances(where: .customers, in: shop) == left)
            // Tokens are customer ids again. If carl has spent nothing of the pack, the pack goes
            // to uma.
            #expect(try await Self.isTaken(bought, by: Self.uma, where: .customers, in: shop))
            #expect(try await Self.balances(where: .customers, in: shop) == [100 - spent, 0])
            #expect(
                try await !Self.isTaken(bought, by: "carl", where: .customers, in: shop))
            #expect(try await Self.balances(where: .customers, in: shop) == [100 - spent, 0])
        }
    }
}
