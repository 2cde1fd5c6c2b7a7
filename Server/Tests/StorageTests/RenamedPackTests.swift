import Ledger
import Testing

@testable import Engine
@testable import Storage

private let anna: CustomerID = "0b7c2a5f-01d3-4c8a-9f60-1234567890ab"
private let ben: CustomerID = "1c8d3b60-12e4-4d9b-8a71-2345678901bc"

private func rules(_ refunds: WalletRules.Refunds = .toZero) -> DatabaseRules {
    DatabaseRules(wallets: [
        app: WalletRules(
            credits: ["gems.100": ["gems": 100]], currencies: ["gems": .init(refunds: refunds)])
    ])
}

private func packID(_ number: Int) -> PurchaseID {
    PurchaseID(TransactionID(rawValue: "\(number)"), in: .production)
}

/// What one document says about a pack of 100 gems.
private struct Saying: Sendable {
    var day: Int
    var token: CustomerID?
    var isRefunded = false

    func fact(of pack: Int) -> Fact {
        Fact(
            about: packID(pack), attestedAt: now + .days(day),
            .payment(
                Payment(
                    transaction: TransactionID(rawValue: "\(pack)"), product: "gems.100",
                    kind: .consumable, from: now + .seconds(Int64(pack)), until: nil,
                    revocation: isRefunded ? Revocation(at: now + .days(1), kind: .refund) : nil,
                    accountToken: token?.rawValue)))
    }
}

extension Database {
    fileprivate func addPeople() async throws {
        try await transaction { tx in
            for id in [anna, ben] { _ = try IdentityUpdates(tx).customer(id, in: app, at: now) }
        }
    }

    fileprivate func hear(_ number: UInt8, _ saying: Saying, of pack: Int = 1) async throws {
        _ = try await record(DocumentWithFacts(document(number), [saying.fact(of: pack)]))
    }

    fileprivate func spend(_ amount: Int64, leaving balance: Int64) async throws {
        try await transaction { tx in
            let at = now + .seconds(10)
            let debit = Booking(
                .debit, id: BookingID(rawValue: "d\(amount)"), currency: "gems", amount: amount,
                reason: "",
                at: at)
            let kept = StoredBooking(debit, of: anna, in: .production, balance: balance)
            try WalletUpdates(tx).book(kept, key: nil, in: app, at: at)
        }
    }

    /// The reported balances of anna and ben. Also expects that the log is consistent.
    fileprivate func balances(
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> [Int64] {
        let wrong = try await read { try $0.consistency.logDifferences() }
        #expect(wrong.first == [], sourceLocation: location)
        return try await read { tx in
            try [anna, ben].map {
                try tx.wallets.reportedBalances(of: $0, in: app, .production)["gems"] ?? 0
            }
        }
    }

    fileprivate func owner(of pack: Int = 1) async throws -> Link? {
        try await read { try $0.links.find(of: packID(pack), in: app) }
    }
}

/// Packs that name one account, and later another one.
@Suite struct RenamedPackTests {
    /// Books a debit before any pack is known, so that the debit links no pack.
    fileprivate static func owe(_ amount: Int64, in store: Database) async throws {
        try await store.spend(amount, leaving: -amount)
    }

    @Test(arguments: Driver.allCases, [1, 30, 100] as [Int64])
    func `a partly spent pack stays with the customer whom it first named`(
        driver: Driver, spent: Int64
    ) async throws {
        try await driver.withStore(rules: rules()) { store in
            try await store.addPeople()
            try await Self.owe(spent, in: store)
            try await store.hear(1, Saying(day: 0, token: anna))
            #expect(try await store.owner() == nil)
            try await store.hear(2, Saying(day: 1, token: ben))
            #expect(try await store.balances() == [100 - spent, 0])
            let link = try await store.owner()
            #expect(link?.customer == anna && link?.evidence == .token)
            let log = try await store.readingLog {
                try $0.events.all(of: app, after: 0, limit: 500)
            }
            let told = log.map(\.entry).filter { $0.change.kind == .linked }
            #expect(told.map(\.customer) == [anna] && told.map(\.evidence) == [.token])
            // Both documents are repeated, and a third names no customer: nothing changes.
            try await store.hear(1, Saying(day: 0, token: anna))
            try await store.hear(3, Saying(day: 2, token: nil))
            #expect(try await store.balances() == [100 - spent, 0])
        }
    }

    @Test(arguments: Driver.allCases, WalletRules.Refunds.allCases)
    func `a spent pack stays with the customer whom it first named, even after a refund`(
        driver: Driver, refunds: WalletRules.Refunds
    ) async throws {
        try await driver.withStore(rules: rules(refunds)) { store in
            try await store.addPeople()
            try await Self.owe(100, in: store)
            try await store.hear(1, Saying(day: 0, token: anna))
            try await store.hear(2, Saying(day: 1, token: anna, isRefunded: true))
            try await store.hear(3, Saying(day: 2, token: ben, isRefunded: true))
            #expect(try await store.balances() == [refunds == .belowZero ? -100 : 0, 0])
            try await store.hear(4, Saying(day: 3, token: ben))
            #expect(try await store.balances() == [0, 0])
        }
    }

    @Test(arguments: Driver.allCases)
    func `if a spent and an unspent pack change their token, only the unspent pack moves`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules()) { store in
            try await store.addPeople()
            try await Self.owe(100, in: store)
            for pack in 1...2 {
                try await store.hear(UInt8(pack), Saying(day: 0, token: anna), of: pack)
            }
            // Both documents arrive in one transaction.
            _ = try await store.transaction { tx in
                try DocumentRecorder(tx).record(
                    [2, 1].map { pack in
                        DocumentWithFacts(
                            document(UInt8(pack + 2)), [Saying(day: 1, token: ben).fact(of: pack)])
                    })
            }
            #expect(try await store.balances() == [0, 100])
            #expect(try await store.owner(of: 1)?.customer == anna)
            #expect(try await store.owner(of: 2) == nil)
        }
    }

    private static let sayings = [
        Saying(day: 0, token: anna), Saying(day: 1, token: anna, isRefunded: true),
        Saying(day: 2, token: ben, isRefunded: true), Saying(day: 3, token: ben),
    ]

    /// All orders in which the four documents can arrive.
    private static let orders: [[Int]] = (0..<4).flatMap { a in
        (0..<4).flatMap { b in
            (0..<4).flatMap { c in
                (0..<4).compactMap { d in Set([a, b, c, d]).count == 4 ? [a, b, c, d] : nil }
            }
        }
    }

    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `without debits, the documents lead to the same result in every order`(
        driver: Driver
    ) async throws {
        for order in Self.orders {
            try await driver.withStore(rules: rules()) { store in
                try await store.addPeople()
                for index in order { try await store.hear(UInt8(index), Self.sayings[index]) }
                #expect(try await store.balances() == [0, 100], "\(order)")
                #expect(try await store.owner() == nil, "\(order)")
            }
        }
    }

    @Test(arguments: Driver.allCases, [0, 30] as [Int64])
    func `repeated rebuilds give the same result, even if documents name different accounts`(
        driver: Driver, spent: Int64
    ) async throws {
        try await driver.withStore(rules: rules()) { store in
            try await store.addPeople()
            if spent > 0 { try await Self.owe(spent, in: store) }
            try await store.hear(1, Saying(day: 0, token: anna))
            // This document has no facts.
            _ = try await store.record(DocumentWithFacts(document(2), []))
            for _ in 0..<2 {
                try await store.transaction { tx in
                    try tx.rebuild.begin()
                    for (number, token) in [(1, anna), (2, ben)] {
                        try tx.rebuild.add(
                            [Saying(day: number, token: token).fact(of: 1)],
                            from: document(UInt8(number)))
                    }
                    try RebuildUpdates(tx).swapRebuilt(at: now + .days(9))
                }
                #expect(try await store.balances() == (spent > 0 ? [70, 0] : [0, 100]))
                #expect(try await store.owner()?.customer == (spent > 0 ? anna : nil))
            }
        }
    }

    @Test(arguments: Driver.allCases)
    func `a debit links the packs that it spends, even if only their tokens name the customer`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules()) { store in
            try await store.addPeople()
            for pack in 1...3 {
                try await store.hear(UInt8(pack), Saying(day: 0, token: anna), of: pack)
            }
            try await store.spend(130, leaving: 170)
            for pack in 1...2 {
                let link = try await store.owner(of: pack)
                #expect(link?.customer == anna && link?.evidence == .token)
            }
            #expect(try await store.owner(of: 3) == nil)
            try await store.spend(60, leaving: 110)
            #expect(try await store.owner(of: 3) == nil)
            let log = try await store.readingLog {
                try $0.events.all(of: app, after: 0, limit: 500)
            }
            #expect(log.filter { $0.entry.change.kind == .linked }.count == 2)
            #expect(try await store.balances() == [110, 0])
        }
    }

    @Test(arguments: Driver.allCases)
    func `a rebuild links packs that were spent and are not linked yet`(
        driver: Driver
    ) async throws {
        try await driver.withStore(rules: rules()) { store in
            try await store.addPeople()
            try await Self.owe(30, in: store)
            for pack in 1...2 {
                try await store.hear(UInt8(pack), Saying(day: 0, token: anna), of: pack)
            }
            #expect(try await store.owner() == nil)
            try await store.transaction { tx in
                try tx.rebuild.begin()
                for pack in 1...2 {
                    try tx.rebuild.add(
                        [Saying(day: 0, token: anna).fact(of: pack)],
                        from: document(UInt8(pack)))
                }
                try RebuildUpdates(tx).swapRebuilt(at: now + .days(9))
            }
            #expect(try await store.owner()?.customer == anna)
            #expect(try await store.owner(of: 2) == nil)
            #expect(try await store.balances() == [170, 0])
        }
    }
}
