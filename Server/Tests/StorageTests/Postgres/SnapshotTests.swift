import Dispatch
import Eventually
import Ledger
import PostgresCluster
import StoragePostgres
import Synchronization
import Testing

@testable import Engine
@testable import Storage

private let token = "b7c2a5f0-1d3e-4c8a-9f60-1234567890ab"

private func bought(_ number: Int) -> PurchaseID {
    PurchaseID(TransactionID(rawValue: "\(1000 + number)"), in: .production)
}

/// A document about a separate purchase, or about a period of the given purchase. Document number
/// 1 begins the given purchase.
private func notification(
    _ number: Int, about purchase: PurchaseID? = nil, token: String? = nil,
    _ product: ProductID = "pro", kind: ProductKind = .autoRenewable
) -> DocumentWithFacts {
    let isFirst = purchase == nil || number == 1
    let purchase = purchase ?? bought(number)
    let payment = Payment(
        transaction: isFirst ? purchase.original : TransactionID(rawValue: "\(5000 + number)"),
        product: product, kind: kind, from: now + .days(30 * number),
        until: now + .days(30 * number + 30),
        price: Money(milliunits: 9_990, currency: "EUR"), accountToken: token)
    let attestedAt = now + .days(30 * number)
    return DocumentWithFacts(
        document(UInt8(number + 1), signedAt: attestedAt),
        [Fact(about: purchase, attestedAt: attestedAt, .payment(payment))])
}

private let rules = DatabaseRules(erasedHash: hash)

private func hash(_ id: CustomerID) -> [UInt8] {
    Array((Array(id.rawValue.lowercased().utf8) + Array(repeating: 0, count: 32)).prefix(32))
}

/// A database that records the isolation of each transaction.
private final class NotedDriver: DatabaseDriver {
    let driver: any DatabaseDriver
    let runs = Tally.List<WriteMode.Isolation>()

    init(_ driver: any DatabaseDriver) { self.driver = driver }

    var dialect: Dialect { driver.dialect }

    func write<Value: Sendable>(
        _ mode: WriteMode, _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        try await driver.write(mode) { [runs] connection in
            runs.add(mode.isolation)
            return try body(connection)
        }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value { try await driver.read(body) }

    func close() { driver.close() }
}

/// Documents recorded by different servers at the same time.
@Suite struct SnapshotTests {
    /// Two servers on one database, and another program that holds the lock of a table.
    fileprivate struct Scene {
        let servers: [Database]
        let drivers: [NotedDriver]
        fileprivate let other: PostgresDriver
        private let gate = DispatchSemaphore(value: 0)

        var runs: [WriteMode.Isolation] { drivers.flatMap(\.runs.all) }
        /// The recorded transactions, without those that only number events.
        var documentRuns: [WriteMode.Isolation] { runs.filter { $0 != .committed } }

        /// Starts the acts one after the other. Each act then waits for a lock on the table.
        /// Finally releases the table.
        func holding(
            _ table: String, _ acts: [@Sendable () async throws -> Void]
        ) async throws {
            async let holding: Void = other.write { [gate] connection in
                try connection.run("SET LOCAL idle_in_transaction_session_timeout = 0", [])
                try connection.run("LOCK TABLE \(table) IN EXCLUSIVE MODE", [])
                try gate.wait(for: "the end of the acts")
            }
            try await eventually("the table is locked") {
                try await locks(
                    "granted AND mode = 'ExclusiveLock' AND locktype = 'relation'") > 0
            }
            try await withThrowingTaskGroup { group in
                let ended = Tally.List<String>()
                for (index, act) in acts.enumerated() {
                    group.addTask {
                        do { try await act() } catch {
                            ended.add("\(error)")
                            throw error
                        }
                        ended.add("without an error")
                    }
                    try await eventually("the act waits for the lock") {
                        try #require(ended.all == [], "an act ended before the table was free")
                        return try await locks("NOT granted") == index + 1
                    }
                }
                gate.signal()
                try await group.waitForAll()
            }
            try await holding
        }

        private func locks(_ condition: String) async throws -> Int64 {
            try await other.read { connection in
                try connection.number(
                    "SELECT count(DISTINCT pid) FROM pg_locks WHERE \(condition) AND pid IN "
                        + "(SELECT pid FROM pg_stat_activity WHERE datname = current_database())")
            }
        }

        func events() async throws -> [LoggedEvent] {
            try await servers[0].readingLog { try $0.events.all(of: app, after: 0, limit: 500) }
        }
    }

    private func withScene(
        rules: DatabaseRules = rules, _ body: (Scene) async throws -> Void
    ) async throws {
        let url = try await PostgresCluster.shared.preparedDatabase()
        let drivers = try (0..<2).map { _ in NotedDriver(try PostgresDriver(url: url)) }
        let other = try PostgresDriver(url: url)
        defer { for driver in drivers { driver.close() } }
        defer { other.close() }
        try await body(
            Scene(
                servers: drivers.map { Database($0, rules: rules) }, drivers: drivers, other: other)
        )
        try await PostgresCluster.shared.drop(url)
    }

    /// The tables are nearly empty, so all rows are on the same pages.
    @Test
    func `documents about different purchases never conflict, even on the same database pages`()
        async throws
    {
        try await withScene { scene in
            try await scene.servers[0].touchHeaders()
            try await scene.holding(
                "pending_events",
                scene.servers.enumerated().map { number, server in
                    { _ = try await server.record(notification(number)) }
                })
            #expect(scene.documentRuns == [.serializable, .snapshot, .snapshot])
            #expect(try await scene.events().count == 2)
        }
    }

    @Test
    func `if two documents about one purchase are concurrent, the second transaction runs again`()
        async throws
    {
        try await withScene { scene in
            try await scene.servers[0].touchHeaders()
            try await scene.holding(
                "pending_events",
                [
                    { _ = try await scene.servers[0].record(notification(1, about: purchase)) },
                    { _ = try await scene.servers[1].record(notification(2, about: purchase)) },
                ])
            #expect(scene.runs.count { $0 == .snapshot } == 3)
            let found = try await scene.servers[0].read { tx in
                (
                    try tx.purchases.timeline(of: purchase, in: app),
                    try tx.consistency.moneyDifferences(of: purchase, in: app)
                )
            }
            let facts = [1, 2].flatMap { notification($0, about: purchase).facts }
            #expect(found.0 == Timeline(of: purchase, facts))
            #expect(found.1 == [])
            try await scene.expectCleanLog()
        }
    }

    /// A known fact changes no timeline, but it may change what is known of money.
    @Test func `a document that repeats known facts waits for other documents about its purchase`()
        async throws
    {
        try await withScene { scene in
            _ = try await scene.servers[0].record(notification(1, about: purchase))
            var again = notification(1, about: purchase)
            again.document = document(99, signedAt: again.document.signedAt)
            let before = scene.runs.count { $0 == .snapshot }
            try await scene.holding(
                "pending_events",
                [
                    { _ = try await scene.servers[0].record(notification(2, about: purchase)) },
                    { [again] in _ = try await scene.servers[1].record(again) },
                ])
            #expect(scene.runs.count { $0 == .snapshot } == before + 3)
        }
    }

    @Test func `if a document is recorded during a link, the document's event has the new owner`()
        async throws
    {
        try await withScene { scene in
            _ = try await scene.servers[0].record(notification(1, about: purchase))
            try await scene.servers[0].transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
            }
            try await scene.holding(
                "links",
                [
                    {
                        try await scene.servers[0].transaction { tx in
                            try OwnershipUpdates(tx).link(
                                purchase, to: "anna", by: .device, in: app, at: now)
                        }
                    },
                    { _ = try await scene.servers[1].record(notification(2, about: purchase)) },
                ])
            let events = try await scene.events()
            #expect(events.map(\.entry.change.kind) == [.purchased, .linked, .renewed])
            #expect(events.map(\.entry.customer) == [nil, "anna", "anna"])
            try await scene.expectCleanLog()
        }
    }

    @Test func `an erasure waits for the recording of a document that names the customer`()
        async throws
    {
        try await withScene { scene in
            let id = CustomerID(rawValue: token)
            try await scene.servers[0].transaction { tx in
                _ = try IdentityUpdates(tx).customer(id, in: app, at: now)
            }
            try await scene.holding(
                "money_subscriptions",
                [
                    { _ = try await scene.servers[0].record(notification(1, token: token)) },
                    {
                        try await scene.servers[1].transactionWithoutRecordings { tx in
                            let person = try #require(try tx.customers.find(known: id, in: app))
                            try CustomerErasure(tx).erase(
                                person, names: [id: "erased_1"], hashes: [hash(id)], in: app,
                                at: now)
                        }
                    },
                ])
            let events = try await scene.events()
            #expect(events.map(\.entry.change.kind) == [.purchased, .customerErased])
            _ = try await scene.servers[0].record(notification(2, token: token))
            let last = try await scene.events().last?.entry
            #expect(last?.change.kind == .purchased)
            #expect(last?.accountToken == nil)
        }
    }

    /// The balance of a wallet depends on more than one purchase.
    @Test func `documents that affect wallets are recorded as serializable`() async throws {
        let wallets = [app: WalletRules(credits: ["gems": ["gem": 10]])]
        try await withScene(rules: DatabaseRules(wallets: wallets)) { scene in
            let server = scene.servers[0]
            try await server.touchHeaders()
            _ = try await server.record(notification(1, token: token, "gem", kind: .consumable))
            #expect(scene.documentRuns == [.serializable, .serializable])
            // This document affects no wallet, whatever customer it names.
            _ = try await server.record(notification(2, token: token))
            _ = try await server.record(
                notification(3, about: bought(2), token: token.replacing("b7", with: "c8")))
            #expect(scene.documentRuns.dropFirst(2) == [.snapshot, .snapshot])
            _ = try await server.record(
                notification(4, about: bought(1), token: token, "gem", kind: .consumable))
            #expect(scene.documentRuns.dropFirst(4) == [.serializable])
            try await scene.expectCleanLog()
        }
    }

    @Test(arguments: [
        ("SELECT a FROM links WHERE b = $1", ["links"]),
        (
            "SELECT a FROM purchases LEFT JOIN links ON x WHERE EXISTS (SELECT 1 FROM shares)",
            ["purchases", "links", "shares"]
        ),
        (
            "SELECT a FROM facts, documents WHERE a = $1 FOR UPDATE SKIP LOCKED",
            ["facts", "documents"]
        ),
        ("INSERT INTO wallets (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET a = 1", ["wallets"]),
        ("UPDATE purchases SET reported_state = $1", ["purchases"]), ("SAVEPOINT writer", []),
        ("SELECT count(*) FROM (SELECT a FROM events ORDER BY b) AS waiting", ["events"]),
    ])
    func `the names of a statement's tables are found in its text`(sql: String, tables: [String]) {
        #expect(StatementTables.tables(in: sql) == Set(tables.map { Substring($0) }))
    }
}

extension SnapshotTests.Scene {
    /// Expects that each event of a purchase begins with the state at which the previous one
    /// ended.
    fileprivate func expectCleanLog() async throws {
        let differences = try await servers[0].readingLog { try $0.consistency.logDifferences() }
        #expect(differences.count == 0, "\(differences)")
    }
}

extension Database {
    /// Stores the certificate chain, so that later documents only look it up.
    fileprivate func touchHeaders() async throws {
        try await transaction { _ = try $0.documents.insert(document(0)) }
    }
}
