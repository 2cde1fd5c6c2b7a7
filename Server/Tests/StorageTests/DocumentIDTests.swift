import Ledger
import Testing

@testable import Storage

/// Documents that were kept before their id was that of what is signed, and how much devices may
/// bring.
@Suite struct DocumentIDTests {
    private static func id(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    /// The same document as ``document(_:)``, as it is named now.
    private static func renamed(_ number: UInt8, signedAt: Instant = now) -> StoredDocument {
        var document = document(number, signedAt: signedAt)
        (document.id, document.formerID) = (id(number + 100), id(number))
        return document
    }

    /// As the database of an earlier version is brought up to date.
    private static func upgrade(_ store: Database) async throws {
        try await store.driver.write { connection in
            try connection.run("DROP TABLE former_ids", [])
            try connection.run("ALTER TABLE purchases DROP COLUMN documents_full_at_ms", [])
            for statement in Schema.documentIDTables(connection.dialect) {
                try connection.run(statement, [])
            }
        }
    }

    @Test(arguments: Driver.allCases)
    func `a document kept before the upgrade is found again, and keeps its id and bytes`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            var old = DocumentWithFacts(document(1), [fact("1")])
            old.document.id = Self.id(1)
            #expect(try await store.record(old))
            try await Self.upgrade(store)
            let again = Database(store.driver)
            var other = Self.renamed(1)
            other.parts = [0, 1, 9]
            let isNew = try await again.record(DocumentWithFacts(other, [fact("1")]))
            #expect(!isNew)
            let kept = try await again.read { tx in
                try tx.documents(of: app, after: .start, limit: 9)
            }
            #expect(kept == [document(1)])
            let known = try await again.read { tx in try tx.storedID(of: Self.renamed(1)) }
            #expect(known == Self.id(1))
        }
    }

    @Test(arguments: Driver.allCases)
    func `of each app is known until when its documents may have former ids`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            var other = document(4, signedAt: Self.ahead + .days(70))
            other.app = "cats"
            var old = document(5, signedAt: now)
            old.app = "dogs"
            let documents = [
                document(1), document(2, signedAt: now - .days(90)),
                document(3, signedAt: Self.ahead + .days(2)), other, old,
            ]
            _ = try await store.transaction { tx in try tx.insert(documents) }
            try await Self.upgrade(store)
            let rows = try await store.driver.read { connection in
                try connection.rows(
                    "SELECT app, signed_until_ms FROM former_ids ORDER BY app", [])
            }
            #expect(
                rows.prefix(2).map(\.values) == [
                    [.text("birds"), .integer((Self.ahead + .days(2)).milliseconds)],
                    [.text("cats"), .integer((Self.ahead + .days(70)).milliseconds)],
                ])
            // An old server may go on beside the new one: until the upgrade, and not less.
            #expect(try rows[2].text(0) == "dogs" && rows[2].integer(1) > now.milliseconds)
        }
    }

    /// Later than the clock of any machine that upgrades: 2096.
    private static let ahead = Instant(milliseconds: 4_000_000_000_000)

    @Test(arguments: Driver.allCases)
    func `what was signed long after the upgrade is not looked for under a former id`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let late = Self.ahead + FormerIDs.margin + .seconds(1)
            _ = try await store.transaction { tx in
                try tx.insert([document(1), document(3, signedAt: Self.ahead)])
            }
            try await Self.upgrade(store)
            let again = Database(store.driver)
            // It stands there, as no document of an earlier version can.
            _ = try await again.transaction { tx in try tx.insert(document(2, signedAt: late)) }
            let known = try await again.read { tx in
                try tx.storedID(of: Self.renamed(2, signedAt: late))
            }
            #expect(known == Self.id(102))
            let kept = try await again.read { tx in
                try tx.areStored(
                    [
                        (signedAt: now, id: Self.id(101), formerID: Self.id(1)),
                        (signedAt: now, id: Self.id(1), formerID: Self.id(9)),
                        (signedAt: now, id: Self.id(9), formerID: Self.id(8)),
                        (signedAt: late, id: Self.id(1), formerID: Self.id(1)),
                    ], of: app)
            }
            #expect(kept == [true, true, false, false])
        }
    }

    @Test func `a budget may be used at once, and is there again after an hour`() {
        let budget = DocumentBudget(perHour: 6)
        var fullAt: Instant?
        func take(_ count: Int, after minutes: Int) -> DocumentBudget.Outcome {
            let taking = budget.consume(count, fullAt: fullAt, at: now + .seconds(minutes * 60))
            if case .consumed(let end) = taking { fullAt = end }
            return taking
        }
        #expect(take(4, after: 0) == .consumed(fullAt: now + .seconds(40 * 60)))
        #expect(take(3, after: 0) == .exhausted(until: now + .seconds(10 * 60)))
        #expect(take(2, after: 0) == .consumed(fullAt: now + .seconds(60 * 60)))
        #expect(take(1, after: 9) == .exhausted(until: now + .seconds(10 * 60)))
        #expect(take(1, after: 10) == .consumed(fullAt: now + .seconds(70 * 60)))
        #expect(take(6, after: 70) == .consumed(fullAt: now + .seconds(130 * 60)))
        // A clock that was put back by a day locks nobody out.
        #expect(take(6, after: -1_440) == .consumed(fullAt: now - .days(1) + .seconds(3_600)))
    }

    @Test(arguments: Driver.allCases)
    func `what is beyond the budget is undone as a whole, and other purchases are not touched`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let budget = DocumentBudget(perHour: 2)
            let other = PurchaseID("2000", in: .production)
            func post(_ numbers: [UInt8], about purchase: PurchaseID) async throws {
                try await store.transaction { tx in
                    let new = numbers.map {
                        DocumentWithFacts(
                            document($0), [fact(TransactionID(rawValue: "\($0)"), about: purchase)])
                    }
                    let kept = try new.filter { try tx.record($0) }
                    try tx.spend(budget, on: kept, at: now)
                }
            }
            try await post([1, 2], about: purchase)
            try await post([1, 2], about: purchase)
            let spent = await #expect(throws: DocumentBudgetExhausted.self) {
                try await post([3], about: purchase)
            }
            #expect(spent == DocumentBudgetExhausted(purchase: purchase, wait: .seconds(1800)))
            try await post([4], about: other)
            let count = try await store.read { tx in try tx.documentCount() }
            #expect(count == 3)
        }
    }
}
