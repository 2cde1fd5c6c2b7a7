import Ledger
import Storage
import Testing

@testable import Engine

private let now = Instant(milliseconds: 1_767_268_800_000)
private let purchase = PurchaseID("1000", in: .production)

/// An app whose customers share purchases, and have a wallet of seeds.
private func engine() async throws -> Engine {
    let app = AppSettings(
        id: "birds", bundleID: "com.example.birds", entitlements: [:],
        wallets: WalletRules(credits: ["seeds.100": ["seeds": 100]]),
        restore: [.production: .share])
    return try await .empty(app, at: now)
}

@Suite struct SharedWalletTests {
    @Test func `a shared purchase credits only its owner's wallet`() async throws {
        let engine = try await engine()
        // This is possible if a receipt did not say at first that the product is a consumable.
        try await engine.context.db.transaction { tx in
            let payment = Payment(
                transaction: "1000", product: "seeds.100", kind: .consumable, from: now, until: nil)
            let document = StoredDocument(
                app: "birds", id: Array(repeating: 1, count: 32), kind: .transaction,
                environment: .production, source: .device, signedAt: now, receivedAt: now,
                parts: [0], headers: [])
            let fact = Fact(about: purchase, attestedAt: now, .payment(payment))
            _ = try DocumentRecorder(tx).record(DocumentWithFacts(document, [fact]))
            for id: CustomerID in ["anna", "ben"] {
                _ = try IdentityUpdates(tx).customer(id, in: "birds", at: now)
            }
            try OwnershipUpdates(tx).link(purchase, to: "anna", by: .device, in: "birds", at: now)
            try OwnershipUpdates(tx).share(purchase, with: "ben", in: "birds", at: now)
        }
        let anna = try await engine.customers.find("anna", app: "birds", environment: .production)
        #expect(anna.balances == ["seeds": 100])
        let ben = try await engine.customers.find("ben", app: "birds", environment: .production)
        #expect(ben.purchases.map(\.timeline.purchase) == [purchase])
        #expect(ben.balances.isEmpty)
        let wallet = try await engine.wallets.find(
            "seeds", of: "ben", app: "birds", environment: .production)
        #expect(wallet.entries.isEmpty)
        let order = NewBooking(.debit, currency: "seeds", amount: 1, reason: "an oak", key: nil)
        await #expect(throws: EngineFailure.insufficientBalance("seeds", balance: 0)) {
            _ = try await engine.wallets.book(
                order, of: "ben", app: "birds", environment: .production)
        }
        let kept = try await engine.wallets.book(
            order, of: "anna", app: "birds", environment: .production)
        #expect(kept.balance == 99)
    }
}
