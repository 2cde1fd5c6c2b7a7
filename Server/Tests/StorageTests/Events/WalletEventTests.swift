import Ledger
import Testing

@testable import Engine
@testable import Storage

private let token = "b7c2a5f0-1d3e-4c8a-9f60-1234567890ab"
private let tokenID = CustomerID(rawValue: token.uppercased())

private func pack(
    _ number: Int, quantity: Int = 1, at moment: Instant = now, refundedAt: Instant? = nil,
    token: String? = nil
) -> Fact {
    GemPack.fact(number, quantity: quantity, at: moment, refundedAt: refundedAt, token: token)
}

private func inSandbox(_ fact: Fact) -> Fact {
    Fact(
        about: PurchaseID(fact.purchase.original, in: .sandbox), attestedAt: fact.attestedAt,
        fact.statement)
}

private func packID(_ number: Int) -> PurchaseID { GemPack.id(number) }

private let rules = GemPack.rules

extension Database {
    fileprivate func hear(_ document: StoredDocument, _ facts: Fact...) async throws {
        _ = try await record(DocumentWithFacts(document, facts))
    }

    /// The events of wallets, as `customer kind amount: before → after`.
    fileprivate func told(_ currency: CurrencyID = "gems") async throws -> [String] {
        try await walletEvents().filter { $0.entry.change.wallet?.currency == currency }.map {
            let wallet = try #require($0.entry.change.wallet)
            return "\($0.entry.customer?.rawValue ?? "nobody") \($0.entry.change.kind.rawValue) "
                + "\(wallet.amount): \(wallet.before) → \(wallet.after)"
        }
    }

    fileprivate func walletEvents() async throws -> [LoggedEvent] {
        try await readingLog { try $0.events.all(of: app, after: 0, limit: 500) }
            .filter { $0.entry.change.wallet != nil }
    }

    fileprivate func spend(
        _ amount: Int64, leaving balance: Int64, by customer: CustomerID = "anna",
        key: String? = nil
    ) async throws {
        try await transaction { tx in
            let debit = Booking(
                .debit, id: BookingID(rawValue: "d\(amount)"), currency: "gems", amount: amount,
                reason: "an oak", at: now + .seconds(1))
            let kept = StoredBooking(debit, of: customer, in: .production, balance: balance)
            try WalletUpdates(tx).book(kept, key: key, in: app, at: now + .seconds(1))
        }
    }

    fileprivate func link(
        _ number: Int, to customer: CustomerID, by evidence: OwnershipClaim.Evidence = .device
    ) async throws {
        try await transaction { tx in
            _ = try IdentityUpdates(tx).customer(customer, in: app, at: now)
            try OwnershipUpdates(tx).link(
                packID(number), to: customer, by: evidence, in: app, at: now)
        }
    }

    /// Expects for every wallet that the log ends with the stored balance.
    fileprivate func expectWholeLog(_ location: SourceLocation = #_sourceLocation) async throws {
        let wrong = try await read { try $0.consistency.logDifferences() }
        #expect(wrong.first == [], sourceLocation: location)
    }
}

@Suite struct WalletEventTests {
    @Test(arguments: Driver.allCases)
    func `a purchase, a debit, a refund and a reversed refund each cause one event`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(document(1), pack(1))
            #expect(try await store.told() == [])
            try await store.link(1, to: "anna")
            try await store.spend(30, leaving: 70, key: "order-7")
            try await store.hear(document(2), pack(1, refundedAt: now + .days(1)))
            try await store.hear(
                document(3),
                Fact(
                    about: packID(1), attestedAt: now + .days(2), pack(1).statement))
            #expect(
                try await store.told() == [
                    "anna wallet_credited 100: 0 → 100", "anna wallet_debited -30: 100 → 70",
                    "anna wallet_clawed_back -70: 70 → 0", "anna wallet_restored 70: 0 → 70",
                ])
            #expect(
                try await store.told("coins") == [
                    "anna wallet_credited 5: 0 → 5", "anna wallet_clawed_back -5: 5 → 0",
                    "anna wallet_restored 5: 0 → 5",
                ])
            let events = try await store.walletEvents()
                .filter { $0.entry.change.wallet?.currency == "gems" }.map(\.entry)
            #expect(
                events.map(\.cause) == [
                    .document(document(1).id), .request, .document(document(2).id),
                    .document(document(3).id),
                ])
            #expect(events.map(\.purchase) == [packID(1), nil, packID(1), packID(1)])
            #expect(events.map(\.change.transaction) == ["1", nil, "1", "1"])
            // The reversal of a refund is not dated, so its event has the time of arrival.
            #expect(
                events.map(\.change.at) == [now, now + .seconds(1), now + .days(1), now])
            let debit = try #require(events[1].change.wallet)
            #expect(debit.debit == "d30" && debit.reason == "an oak" && debit.key == "order-7")
            #expect(events.allSatisfy { $0.environment == .production })
            try await store.expectWholeLog()
        }
    }

    @Test(arguments: Driver.allCases)
    func `the wallet event of one pack's refund does not name another pack`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(document(1), pack(1))
            try await store.link(1, to: "anna")
            try await store.spend(30, leaving: 70)
            try await store.hear(document(2), pack(1, refundedAt: now + .days(1)))
            let count = try await store.walletEvents().count
            // This pack was bought earlier and linked later, so the refund can now debit
            // everything.
            try await store.hear(document(3), pack(2, at: now - .days(1)))
            try await store.link(2, to: "anna")
            let events = try await store.walletEvents().dropFirst(count).map(\.entry).filter {
                $0.change.wallet?.currency == "gems"
            }
            #expect(events.map { $0.change.wallet?.amount } == [100, -30])
            #expect(events.map(\.change.transaction) == ["2", "1"])
            #expect(events.map(\.purchase) == [packID(2), nil])
            try await store.expectWholeLog()
        }
    }

    @Test(arguments: Driver.allCases)
    func `documents of one transaction cause their events one after the other`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer(tokenID, in: app, at: now)
                let facts = [
                    pack(1, token: token), pack(2, quantity: 2, token: token),
                    pack(1, refundedAt: now + .days(1), token: token), pack(3),
                ]
                _ = try DocumentRecorder(tx).record(
                    facts.enumerated().map {
                        DocumentWithFacts(document(UInt8($0.offset)), [$0.element])
                    })
            }
            let name = tokenID.rawValue
            #expect(
                try await store.told() == [
                    "\(name) wallet_credited 100: 0 → 100",
                    "\(name) wallet_clawed_back -100: 100 → 0",
                    "\(name) wallet_credited 200: 0 → 200",
                ])
            try await store.expectWholeLog()
        }
    }

    @Test(arguments: Driver.allCases)
    func `a pack causes one event, whether its named customer is created before or after it`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(document(1), pack(1, token: token))
            try await store.hear(document(2), pack(2, token: token))
            try await store.hear(document(9), pack(9))
            #expect(try await store.told() == [])
            // Now a customer has the id that the packs name.
            try await store.link(1, to: tokenID, by: .token)
            let name = tokenID.rawValue
            let first = [
                "\(name) wallet_credited 100: 0 → 100", "\(name) wallet_credited 100: 100 → 200",
            ]
            #expect(try await store.told() == first)
            let causes = try await store.walletEvents().map(\.entry.cause)
            #expect(Set(causes) == [.document(document(1).id), .document(document(2).id)])
            try await store.link(2, to: tokenID, by: .token)
            try await store.hear(document(3), pack(3, token: token))
            #expect(
                try await store.told() == first + ["\(name) wallet_credited 100: 200 → 300"])
            try await store.expectWholeLog()
        }
    }

    @Test(arguments: Driver.allCases)
    func `a pack is credited when its account token becomes a customer's alias`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(document(1), pack(1, token: token))
            try await store.hear(document(2), inSandbox(pack(2, token: token)))
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                try IdentityUpdates(tx).addID(tokenID, to: "anna", in: app, at: now)
            }
            #expect(
                try await store.told() == [
                    "anna wallet_credited 100: 0 → 100", "anna wallet_credited 100: 0 → 100",
                ])
            #expect(
                try await store.walletEvents().compactMap(\.entry.environment?.rawValue).sorted()
                    == ["production", "production", "sandbox", "sandbox"])
            try await store.expectWholeLog()
        }
    }

    @Test(arguments: Driver.allCases)
    func `if a pack moves, both customers get events`(driver: Driver) async throws {
        try await driver.withStore(rules: rules) { store in
            for number in 1...2 {
                try await store.hear(document(UInt8(number)), pack(number))
                try await store.link(number, to: "anna")
            }
            try await store.spend(30, leaving: 170)
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("ben", in: app, at: now)
                let moved = try OwnershipUpdates(tx).move(
                    packID(1), to: "ben", by: .support, in: app, at: now)
                try OwnershipUpdates(tx).undo(moved, in: app, at: now)
                try OwnershipUpdates(tx).unlink(packID(2), in: app, at: now)
            }
            #expect(
                try await store.told().suffix(5) == [
                    "anna wallet_adjusted -100: 170 → 70", "ben wallet_credited 100: 0 → 100",
                    "ben wallet_adjusted -100: 100 → 0", "anna wallet_credited 100: 70 → 170",
                    "anna wallet_adjusted -100: 170 → 70",
                ])
            let others = try await store.walletEvents()
                .filter { $0.entry.change.wallet?.currency == "gems" }.map(\.entry.other)
            #expect(others.suffix(5) == ["ben", "anna", "anna", "ben", nil])
            try await store.expectWholeLog()
        }
    }

    @Test(arguments: Driver.allCases)
    func `merged customers have one wallet, and one event for each environment`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            for (number, name) in [(1, "anna"), (2, "phone")] {
                try await store.hear(document(UInt8(number)), pack(number))
                try await store.link(number, to: CustomerID(rawValue: name))
            }
            try await store.spend(30, leaving: 70, by: "phone")
            let other = inSandbox(pack(3))
            try await store.hear(document(3), other)
            try await store.transaction {
                try OwnershipUpdates($0).link(
                    other.purchase, to: "phone", by: .device, in: app, at: now)
            }
            try await store.transaction {
                try IdentityUpdates($0).merge("phone", into: "anna", in: app, at: now)
            }
            let last = try #require(try await store.walletEvents().last?.entry)
            #expect(
                try await store.told().suffix(2) == [
                    "anna wallet_adjusted 70: 100 → 170", "anna wallet_adjusted 100: 0 → 100",
                ])
            #expect(last.other == "phone" && last.cause == .request)
            try await store.expectWholeLog()
        }
    }

    @Test(arguments: Driver.allCases)
    func `a merge also reports a wallet that exists only in the sandbox`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            let pack = inSandbox(pack(1))
            try await store.hear(document(1), pack)
            try await store.transaction { tx in
                for name: CustomerID in ["anna", "phone"] {
                    _ = try IdentityUpdates(tx).customer(name, in: app, at: now)
                }
                try OwnershipUpdates(tx).link(
                    pack.purchase, to: "phone", by: .device, in: app, at: now)
                try IdentityUpdates(tx).merge("phone", into: "anna", in: app, at: now)
            }
            #expect(try await store.told().last == "anna wallet_adjusted 100: 0 → 100")
            try await store.expectWholeLog()
        }
    }

    @Test(arguments: Driver.allCases)
    func `no text about an erased customer's wallet is left`(driver: Driver) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(document(1), pack(1, token: token))
            try await store.link(1, to: tokenID)
            try await store.spend(30, leaving: 70, by: tokenID, key: "anna's order")
            try await store.transaction { tx in
                let person = try #require(try tx.customers.find(known: tokenID, in: app))
                try CustomerErasure(tx).erase(
                    person, names: [tokenID: "erased_1"], hashes: [GemPack.hash(tokenID)], in: app,
                    at: now)
            }
            let debit = try await store.walletEvents()
                .compactMap { $0.entry.change.wallet }.last
            #expect(debit?.amount == -30 && debit?.reason == "" && debit?.key == nil)
            try await store.expectWholeLog()
            // The customer returns. Packs that name the old account token do not belong to the
            // customer.
            let count = try await store.walletEvents().count
            _ = try await store.transaction {
                try IdentityUpdates($0).customer(tokenID, in: app, at: now)
            }
            try await store.hear(document(2), pack(2, token: token))
            #expect(try await store.walletEvents().count == count)
            try await store.expectWholeLog()
        }
    }

    @Test(arguments: Driver.allCases)
    func `under a new configuration, a balance equal to the reported balance causes no event`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(document(1), pack(1))
            try await store.link(1, to: "anna")
            let halved = WalletRules(credits: ["gems.100": ["gems": 50, "coins": 5]])
            let later = Database(store.driver, rules: DatabaseRules(wallets: [app: halved]))
            try await later.hear(document(2), pack(2))
            try await later.link(2, to: "anna")
            #expect(try await later.told() == ["anna wallet_credited 100: 0 → 100"])
            try await later.expectWholeLog()
        }
    }

    @Test(arguments: Driver.allCases)
    func `balances that a new configuration changes are reported at the next debit or rebuild`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            try await store.hear(document(1), pack(1))
            try await store.link(1, to: "anna")
            let later = Database(
                store.driver,
                rules: DatabaseRules(wallets: [
                    app: WalletRules(credits: ["gems.100": ["gems": 120, "coins": 6]])
                ]))
            #expect(
                try await later.read { try $0.consistency.logDifferences() }.first
                    == ["coins", "gems"].map {
                        "the last reported balance of wallet \($0) of anna is wrong"
                    }
            )
            try await later.spend(20, leaving: 100)
            #expect(
                try await later.told().suffix(2) == [
                    "anna wallet_adjusted 20: 100 → 120", "anna wallet_debited -20: 120 → 100",
                ])
            try await later.transaction { tx in
                try tx.rebuild.begin()
                try tx.rebuild.add([pack(1)], from: document(1))
                try RebuildUpdates(tx).swapRebuilt(at: now)
            }
            #expect(try await later.told("coins").last == "anna wallet_adjusted 1: 5 → 6")
            #expect(try await later.walletEvents().last?.entry.cause == .rebuild)
            try await later.expectWholeLog()
        }
    }

    @Test func `the check of the log finds damage to a wallet`() async throws {
        for (sql, told) in [
            (
                "UPDATE wallets SET balance = 7",
                "the events of gems of anna end with another balance"
            ),
            ("DELETE FROM wallets", "the wallet coins of anna is not stored"),
            ("DELETE FROM debits", "the last reported balance of wallet gems of anna is wrong"),
            (
                "DELETE FROM events WHERE sequence = 5",
                "does not start from its wallet's last balance"
            ),
        ] {
            try await Driver.sqliteMemory.withStore(rules: rules) { store in
                try await store.hear(document(1), pack(1))
                try await store.link(1, to: "anna")
                try await store.spend(30, leaving: 70)
                try await store.spend(10, leaving: 60)
                try await store.expectWholeLog()
                try await store.driver.write { _ = try $0.run(sql, []) }
                let wrong = try await store.read { try $0.consistency.logDifferences() }.first
                #expect(wrong.contains { $0.contains(told) }, "\(sql): \(wrong)")
            }
        }
    }
}
