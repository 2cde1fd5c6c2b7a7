import Ledger
import Testing

@testable import Engine
@testable import Storage

@Suite struct HandCreditEventTests {
    private func book(
        _ kind: Booking.Kind, _ amount: Int64, leaving balance: Int64, key: String,
        at moment: Instant, in store: Database
    ) async throws {
        let booking = Booking(
            kind, id: BookingID(rawValue: key), currency: "gems", amount: amount, reason: "sorry",
            at: moment)
        let stored = StoredBooking(booking, of: "anna", in: .production, balance: balance)
        try await store.transaction { tx in
            try WalletUpdates(tx).book(stored, key: key, in: app, at: moment)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a manual credit has its own type of event, and stays after a refund of a pack`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: GemPack.rules) { store in
            _ = try await store.record(DocumentWithFacts(document(1), [GemPack.fact(1)]))
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                try OwnershipUpdates(tx).link(
                    GemPack.id(1), to: "anna", by: .device, in: app, at: now)
            }
            try await book(
                .debit, 30, leaving: 70, key: "order-1", at: now + .seconds(1), in: store)
            try await book(
                .credit, 50, leaving: 120, key: "ticket-7", at: now + .seconds(2), in: store)
            _ = try await store.record(
                DocumentWithFacts(document(2), [GemPack.fact(1, refundedAt: now + .days(1))]))
            let events = try await store.readingLog {
                try $0.events.all(of: app, after: 0, limit: 500)
            }
            .map(\.entry).filter { $0.change.wallet?.currency == "gems" }
            #expect(
                events.map { "\($0.change.kind.rawValue) → \($0.change.wallet?.after ?? -1)" } == [
                    "wallet_credited → 100", "wallet_debited → 70",
                    "wallet_credited_by_hand → 120", "wallet_clawed_back → 50",
                ])
            let gift = try #require(events.first { $0.change.kind == .walletCreditedByHand })
            let wallet = try #require(gift.change.wallet)
            #expect(gift.cause == .request && gift.purchase == nil)
            #expect(gift.change.transaction == nil && gift.change.product == nil)
            #expect(wallet.credit == "ticket-7" && wallet.debit == nil)
            #expect(wallet.reason == "sorry" && wallet.key == "ticket-7")
            let sum = try await store.read {
                try $0.bookings.spendings(of: "anna", in: app, environment: .production)
            }
            #expect(sum == ["gems": Spending(amount: -20, lastAt: now + .seconds(2))])
            #expect(try await store.read { try $0.consistency.logDifferences() }.first == [])
        }
    }
}
