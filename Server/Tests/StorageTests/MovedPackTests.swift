import Ledger
import Testing

@testable import Engine
@testable import Storage

private let rules = DatabaseRules(
    wallets: [app: WalletRules(credits: ["gems.100": ["gems": 100]])])

private func packID(_ number: Int) -> PurchaseID {
    PurchaseID(TransactionID(rawValue: "\(number)"), in: .production)
}

/// A pack of 100 gems.
private func pack(
    _ number: Int, attestedAt: Instant = now, refundedAt: Instant? = nil, token: String? = nil
) -> Fact {
    Fact(
        about: packID(number), attestedAt: refundedAt ?? attestedAt,
        .payment(
            Payment(
                transaction: TransactionID(rawValue: "\(number)"), product: "gems.100",
                kind: .consumable, from: now, until: nil,
                revocation: refundedAt.map { Revocation(at: $0, kind: .refund) },
                accountToken: token)))
}

extension Database {
    fileprivate func hear(_ number: UInt8, _ fact: Fact) async throws {
        _ = try await record(DocumentWithFacts(document(number), [fact]))
    }

    fileprivate func link(_ number: Int, to customer: CustomerID) async throws {
        try await transaction { tx in
            _ = try IdentityUpdates(tx).customer(customer, in: app, at: now)
            try OwnershipUpdates(tx).link(
                packID(number), to: customer, by: .device, in: app, at: now)
        }
    }

    fileprivate func move(_ number: Int, to customer: CustomerID) async throws -> StoredTransfer {
        try await transaction { tx in
            _ = try IdentityUpdates(tx).customer(customer, in: app, at: now)
            return try OwnershipUpdates(tx).move(
                packID(number), to: customer, by: .support, in: app, at: moved)
        }
    }

    fileprivate func walletEntries() async throws -> [EventEntry] {
        try await readingLog { try $0.events.all(of: app, after: 0, limit: 500) }.map(\.entry)
            .filter { $0.change.wallet != nil }
    }

    /// The events of wallets, as `customer transaction kind before → after`. Also expects that the
    /// log ends with the balance of every wallet.
    fileprivate func told(
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> [String] {
        let wrong = try await read { try $0.consistency.logDifferences() }
        #expect(wrong.first == [], sourceLocation: location)
        return try await walletEntries().map { entry in
            let wallet = try #require(entry.change.wallet)
            return "\(entry.customer?.rawValue ?? "nobody") "
                + "\(entry.change.transaction?.rawValue ?? "-") \(entry.change.kind.rawValue) "
                + "\(wallet.before) → \(wallet.after)"
        }
    }

    /// The sum of the reported amounts, by customer and transaction.
    fileprivate func sums() async throws -> [String: Int64] {
        var sums: [String: Int64] = [:]
        for entry in try await walletEntries() {
            let customer = entry.customer?.rawValue ?? "nobody"
            let transaction = entry.change.transaction?.rawValue ?? "-"
            sums["\(customer) \(transaction)", default: 0] += entry.change.wallet?.amount ?? 0
        }
        return sums
    }
}

private let moved = now + .days(2)

/// Consumable packs that move to another customer, or that get their first owner late.
@Suite struct MovedPackTests {
    @Test(arguments: Driver.allCases)
    func `if a pack moves after a refund, the refund is not reported as reversed`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(1, pack(1))
            try await store.link(1, to: "anna")
            try await store.hear(2, pack(1, refundedAt: now + .days(1)))
            let transfer = try await store.move(1, to: "ben")
            let first = [
                "anna 1 wallet_credited 0 → 100", "anna 1 wallet_clawed_back 100 → 0",
                "anna 1 wallet_adjusted 0 → 100", "anna 1 wallet_adjusted 100 → 0",
                "ben 1 wallet_credited 0 → 100", "ben 1 wallet_clawed_back 100 → 0",
            ]
            #expect(try await store.told() == first)
            #expect(try await store.sums() == ["anna 1": 0, "ben 1": 0])
            // The pack was taken from her at the time of the move, not of the purchase.
            let times = try await store.walletEntries().map(\.change.at)
            #expect(times == [now, now + .days(1), moved, moved, now, now + .days(1)])
            // Now the refund is reversed, for the present owner.
            try await store.hear(3, pack(1, attestedAt: now + .days(3)))
            try await store.transaction {
                try OwnershipUpdates($0).undo(transfer, in: app, at: moved)
            }
            #expect(
                try await store.told() == first + [
                    "ben 1 wallet_restored 0 → 100", "ben 1 wallet_adjusted 100 → 0",
                    "anna 1 wallet_credited 0 → 100",
                ])
            #expect(try await store.sums() == ["anna 1": 100, "ben 1": 0])
        }
    }

    @Test(arguments: Driver.allCases)
    func `the numbers of transfers increase`(driver: Driver) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(1, pack(1))
            let first = try await store.move(1, to: "anna")
            let second = try await store.move(1, to: "ben")
            #expect(StoredTransfer.firstNumber <= first.number && first.number < second.number)
            let log = try await store.readingLog {
                try $0.events.all(of: app, after: 0, limit: 500)
            }
            #expect(log.last?.entry.change.kind == .walletCredited)
        }
    }

    @Test(arguments: Driver.allCases)
    func `if a refund returns gems because a pack moved, no reversed refund is reported`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            for number in 1...2 {
                try await store.hear(UInt8(number), pack(number))
                try await store.link(number, to: "anna")
            }
            try await store.transaction { tx in
                let at = now + .seconds(1)
                let debit = Booking(
                    .debit, id: "d", currency: "gems", amount: 150, reason: "", at: at)
                let kept = StoredBooking(debit, of: "anna", in: .production, balance: 50)
                try WalletUpdates(tx).book(kept, key: nil, in: app, at: at)
            }
            try await store.hear(3, pack(2, refundedAt: now + .days(1)))
            _ = try await store.move(1, to: "ben")
            #expect(
                try await store.told() == [
                    "anna 1 wallet_credited 0 → 100", "anna 2 wallet_credited 100 → 200",
                    "anna - wallet_debited 200 → 50", "anna 2 wallet_clawed_back 50 → 0",
                    "anna 2 wallet_adjusted 0 → 50", "anna 1 wallet_adjusted 50 → -50",
                    "ben 1 wallet_credited 0 → 100",
                ])
            let sums = try await store.sums()
            #expect(sums == ["anna 1": 0, "anna 2": 100, "anna -": -150, "ben 1": 100])
        }
    }

    /// Nothing is credited twice. But the sum over the events of one transaction is too high. The
    /// additional amount that the refund took is reported with the merge, without a transaction.
    /// The amount that it gave back is reported with its transaction.
    @Test(arguments: Driver.allCases)
    func `if a pack leaves a wallet, an earlier refund returns what it had taken from this pack`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(1, pack(1))
            try await store.link(1, to: "anna")
            try await store.transaction { tx in
                let at = now + .seconds(1)
                let debit = Booking(
                    .debit, id: "d", currency: "gems", amount: 73, reason: "", at: at)
                let kept = StoredBooking(debit, of: "anna", in: .production, balance: 27)
                try WalletUpdates(tx).book(kept, key: nil, in: app, at: at)
            }
            try await store.hear(2, pack(1, refundedAt: now + .days(1)))
            try await store.hear(3, pack(2))
            try await store.link(2, to: "phone")
            try await store.transaction {
                try IdentityUpdates($0).merge("phone", into: "anna", in: app, at: now + .days(1))
            }
            _ = try await store.move(2, to: "ben")
            #expect(
                try await store.told() == [
                    "anna 1 wallet_credited 0 → 100", "anna - wallet_debited 100 → 27",
                    "anna 1 wallet_clawed_back 27 → 0", "phone 2 wallet_credited 0 → 100",
                    "anna - wallet_adjusted 0 → 27", "anna 1 wallet_adjusted 27 → 100",
                    "anna 2 wallet_adjusted 100 → 0", "ben 2 wallet_credited 0 → 100",
                ])
            #expect(try await store.sums()["anna 1"] == 146)
        }
    }

    @Test(arguments: Driver.allCases, [false, true])
    func `if a pack is linked after its refund, credit and debit events name separate documents`(
        driver: Driver, isNamed: Bool
    ) async throws {
        let anna = "0b7c2a5f-01d3-4c8a-9f60-1234567890ab"
        let token = isNamed ? anna : nil
        try await driver.withStore(rules: rules) { store in
            // The pack is refunded, the refund is reversed, and the pack is refunded again.
            try await store.hear(1, pack(1, token: token))
            try await store.hear(2, pack(1, refundedAt: now + .days(1), token: token))
            try await store.hear(3, pack(1, attestedAt: now + .days(2), token: token))
            for number: UInt8 in [4, 5] {
                try await store.hear(number, pack(1, refundedAt: now + .days(3), token: token))
            }
            let id = CustomerID(rawValue: anna)
            if isNamed {
                _ = try await store.transaction {
                    try IdentityUpdates($0).customer(id, in: app, at: moved)
                }
            } else {
                try await store.link(1, to: id)
            }
            #expect(
                try await store.told() == [
                    "\(anna) 1 wallet_credited 0 → 100", "\(anna) 1 wallet_clawed_back 100 → 0",
                ])
            let causes = try await store.walletEntries().map(\.cause)
            #expect(causes == [.document(document(1).id), .document(document(4).id)])
        }
    }

    @Test(arguments: Driver.allCases)
    func `if a pack's account token changes, the old and the new customer get events`(
        driver: Driver
    ) async throws {
        let anna = "0b7c2a5f-01d3-4c8a-9f60-1234567890ab"
        let ben = "1c8d3b60-12e4-4d9b-8a71-2345678901bc"
        try await driver.withStore(rules: rules) { store in
            try await store.transaction { tx in
                for id in [anna, ben] {
                    _ = try IdentityUpdates(tx).customer(CustomerID(rawValue: id), in: app, at: now)
                }
            }
            try await store.hear(1, pack(1, token: anna))
            // The app has set another account token, and the refund is the first document that has
            // it.
            try await store.hear(2, pack(1, refundedAt: now + .days(1), token: ben))
            #expect(
                try await store.told() == [
                    "\(anna) 1 wallet_credited 0 → 100", "\(anna) 1 wallet_adjusted 100 → 0",
                    "\(ben) 1 wallet_credited 0 → 100", "\(ben) 1 wallet_clawed_back 100 → 0",
                ])
            let last = try await store.walletEntries().suffix(3)
            #expect(last.allSatisfy { $0.cause == .document(document(2).id) && $0.other == nil })
        }
    }
}
