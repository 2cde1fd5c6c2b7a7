import Ledger
import Testing

@testable import Engine
@testable import Storage

private let accountToken = "b7c2a5f0-1d3e-4c8a-9f60-1234567890ab"
private let tokenID = CustomerID(rawValue: accountToken.uppercased())

private let rules = DatabaseRules(
    wallets: [app: WalletRules(credits: ["gems.100": ["gems": 100, "coins": 5]])])

private func packID(_ number: Int) -> PurchaseID {
    PurchaseID(TransactionID(rawValue: "\(number)"), in: .production)
}

/// A pack of 100 gems that also has 5 coins.
private func pack(
    _ number: Int, transaction: Int? = nil, refundedAt: Instant? = nil,
    token: String? = accountToken
) -> Fact {
    let moment = now - .seconds(number)
    return Fact(
        about: packID(number), attestedAt: refundedAt ?? moment,
        .payment(
            Payment(
                transaction: TransactionID(rawValue: "\(transaction ?? number)"),
                product: "gems.100", kind: .consumable, from: moment, until: nil,
                revocation: refundedAt.map { Revocation(at: $0, kind: .refund) },
                accountToken: token)))
}

extension Database {
    fileprivate func hear(_ number: UInt8, _ facts: [Fact]) async throws {
        _ = try await record(DocumentWithFacts(document(number), facts))
    }

    /// The last reported balance. Also expects that the log ends with the balance of every wallet.
    fileprivate func gems(
        of customer: CustomerID, _ location: SourceLocation = #_sourceLocation
    ) async throws -> Int64? {
        let wrong = try await read { try $0.consistency.logDifferences() }
        #expect(wrong.first == [], sourceLocation: location)
        return try await read {
            try $0.wallets.reportedBalances(of: customer, in: app, .production)["gems"]
        }
    }

    /// The wallet events of gems, each with the balance after it.
    fileprivate func toldOfGems() async throws -> [String] {
        let events = try await readingLog { try $0.events.all(of: app, after: 0, limit: 500) }
        return events.map(\.entry.change).compactMap { change in
            guard let wallet = change.wallet, wallet.currency == "gems" else { return nil }
            return "\(change.kind.rawValue) \(wallet.after)"
        }
    }
}

@Suite struct ManyPacksTests {
    @Test(.timeLimit(.minutes(3)))
    func `the time per pack does not grow with the number of packs in a receipt`() async throws {
        try await Driver.sqliteMemory.withStore(rules: rules) { store in
            let count = 4000
            _ = try await store.transaction {
                try IdentityUpdates($0).customer(tokenID, in: app, at: now)
            }
            try await store.hear(1, (1...count).map { pack($0) })
            #expect(try await store.gems(of: tokenID) == Int64(count) * 100)
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func `the time per pack does not grow with the number of packs of a customer`()
        async throws
    {
        try await Driver.sqliteMemory.withStore(rules: rules) { store in
            let count = 2000
            try await store.hear(1, (1...count).map { pack($0, token: nil) })
            let before = try await store.readingLog { try $0.events.lastSequence(of: app) }
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                var walletCache = WalletProjectionCache()
                for number in 1...count {
                    try OwnershipUpdates(tx).link(
                        packID(number), to: "anna", by: .device, in: app, at: now, &walletCache)
                }
            }
            #expect(try await store.gems(of: "anna") == Int64(count) * 100)
            // Each pack causes its event of the link, and then those of its credits.
            let first = try await store.readingLog {
                try $0.events.all(of: app, after: before, limit: 6)
            }
            #expect(
                first.map(\.entry.change.kind) == [
                    .linked, .walletCredited, .walletCredited, .linked, .walletCredited,
                    .walletCredited,
                ])
            #expect(first.compactMap(\.entry.change.wallet?.after) == [5, 100, 10, 200])
        }
    }

    @Test(arguments: Driver.allCases)
    func `documents recorded in one transaction cause the same events as in several transactions`(
        driver: Driver
    ) async throws {
        let facts = [
            pack(9), pack(3), pack(7, token: nil), pack(9, refundedAt: now), pack(5), pack(4),
        ]
        for isTogether in [true, false] {
            try await driver.withStore(rules: rules) { store in
                _ = try await store.transaction {
                    try IdentityUpdates($0).customer(tokenID, in: app, at: now)
                }
                if isTogether {
                    try await store.transaction { tx in
                        var walletCache = WalletProjectionCache()
                        for (number, fact) in facts.enumerated() {
                            let one = DocumentWithFacts(document(UInt8(number)), [fact])
                            _ = try DocumentRecorder(tx).record(one, &walletCache)
                        }
                        try OwnershipUpdates(tx).link(
                            packID(7), to: tokenID, by: .device, in: app, at: now, &walletCache)
                    }
                } else {
                    for (number, fact) in facts.enumerated() {
                        try await store.hear(UInt8(number), [fact])
                    }
                    try await store.transaction {
                        try OwnershipUpdates($0).link(
                            packID(7), to: tokenID, by: .device, in: app, at: now)
                    }
                }
                #expect(try await store.gems(of: tokenID) == 400)
                let told = try await store.toldOfGems()
                #expect(
                    told == [
                        "wallet_credited 100", "wallet_credited 200", "wallet_clawed_back 100",
                        "wallet_credited 200", "wallet_credited 300", "wallet_credited 400",
                    ])
            }
        }
    }

    @Test(arguments: Driver.allCases)
    func `in a document with packs and refunds, each payment is credited once`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules) { store in
            _ = try await store.transaction {
                try IdentityUpdates($0).customer(tokenID, in: app, at: now)
            }
            try await store.hear(1, [pack(1), pack(2), pack(3)])
            // One of the payments has another number, one is refunded at once, and one is
            // unchanged.
            try await store.hear(
                2, [pack(4, transaction: 2), pack(5), pack(6, refundedAt: now), pack(7), pack(3)])
            #expect(try await store.gems(of: tokenID) == 500)
            try await store.hear(3, [pack(1, refundedAt: now), pack(8), pack(9, transaction: 8)])
            #expect(try await store.gems(of: tokenID) == 500)
            #expect(
                try await store.toldOfGems() == [
                    "wallet_credited 100", "wallet_credited 200", "wallet_credited 300",
                    "wallet_credited 400", "wallet_credited 500", "wallet_clawed_back 400",
                    "wallet_credited 500", "wallet_clawed_back 400", "wallet_credited 500",
                ])
        }
    }
}
