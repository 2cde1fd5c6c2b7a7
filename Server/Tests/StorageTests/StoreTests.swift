import Eventually
import Ledger
import Storage
import StorageSQLite
import Synchronization
import Testing

@testable import Engine

private struct Interrupted: Error {}

private final class Flag: Sendable {
    private let state = Mutex(false)

    var isSet: Bool { state.withLock(\.self) }
    func set() { state.withLock { $0 = true } }
}

@Suite struct StoreTests {
    @Test(arguments: Driver.allCases)
    func `a document is read as it was stored, and is stored once`(driver: Driver) async throws {
        try await driver.withStore { store in
            let first = try await store.transaction { try $0.documents.insert(document(1)) }
            let again = try await store.transaction { try $0.documents.insert(document(1)) }
            #expect(first && !again)
            let kept = try await store.read {
                try $0.documents.all(of: app, after: .start, limit: 10)
            }
            #expect(kept == [document(1)])
        }
    }

    @Test(arguments: Driver.allCases)
    func `each document of a batch is reported as new or known`(driver: Driver) async throws {
        try await driver.withStore { store in
            _ = try await store.transaction { try $0.documents.insert(document(2)) }
            let batch = (1...200).map { document($0) } + [document(1)]
            let added = try await store.transaction { try $0.documents.insert(batch) }
            #expect(added == batch.indices.map { $0 != 1 && $0 != 200 })
            let count = try await store.read { try $0.documents.count() }
            #expect(count == 200)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a failure within a batch of documents undoes the whole batch`(driver: Driver) async throws
    {
        try await driver.withStore { store in
            var bad = document(3)
            bad.id = [1, 2, 3]
            let batch = [document(1), document(2), bad, document(4)]
            await #expect(throws: StorageFailure.self) {
                try await store.transaction { try $0.documents.insert(batch) }
            }
            let again = try await store.transaction {
                try $0.documents.insert([document(1), document(2)])
            }
            #expect(again == [true, true])
        }
    }

    @Test(arguments: Driver.allCases)
    func `a row that refers to a missing row fails with a constraint failure`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let failure = await #expect(throws: StorageFailure.self) {
                try await store.transaction {
                    try DocumentRecorder($0).project([fact("1")], from: document(9))
                }
            }
            #expect(failure?.kind == .constraint)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a failed statement undoes the transaction even if the failure is caught`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            _ = try? await store.transaction { tx in
                _ = try tx.documents.insert(document(1))
                do { try DocumentRecorder(tx).project([fact("1")], from: document(9)) } catch {
                    throw error
                }
            }
            let count = try await store.read { try $0.documents.count() }
            #expect(count == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a scan visits every document once, in the order of the signing times`(driver: Driver)
        async throws
    {
        try await driver.withStore { store in
            let all = (1...7).map { document($0, signedAt: now - .seconds(Int($0 / 2))) }
            try await store.transaction { tx in
                for document in all { _ = try tx.documents.insert(document) }
            }
            var seen: [StoredDocument] = []
            var position = DocumentPosition.start
            while true {
                let from = position
                let batch = try await store.read {
                    try $0.documents.all(of: app, after: from, limit: 2)
                }
                guard let last = batch.last else { break }
                seen += batch
                position = DocumentPosition(after: last)
            }
            #expect(
                seen.map(\.id)
                    == all.sorted { ($0.signedAt, $0.id[0]) < ($1.signedAt, $1.id[0]) }.map(\.id))
        }
    }

    @Test(arguments: Driver.allCases)
    func `facts and their timeline are read as they were written`(driver: Driver) async throws {
        try await driver.withStore { store in
            let facts = [fact("1"), renewal]
            try await store.transaction { tx in
                _ = try tx.documents.insert(document(1))
                try DocumentRecorder(tx).project(facts, from: document(1))
            }
            let stored = try await store.read { try $0.facts.all(about: purchase, in: app) }
            #expect(stored.map(\.fact) == facts)
            #expect(stored.allSatisfy { $0.document == document(1).id })
            #expect(stored.allSatisfy { $0.kind == .notification && $0.source == .notification })
            let timeline = try await store.read { try $0.purchases.timeline(of: purchase, in: app) }
            #expect(timeline == Timeline(of: purchase, facts))
        }
    }

    @Test(arguments: Driver.allCases)
    func `a fact without a date is stored with the time of its arrival`(driver: Driver) async throws
    {
        let undated = Fact(
            about: purchase, attestedAt: now + .days(2), grade: .legacy,
            .renewal(Renewal(willRenew: true, renewsTo: "pro", receivedAt: now + .days(5))))
        for facts in [[undated], [renewal, undated]] {
            try await driver.withStore { store in
                for (number, fact) in facts.enumerated() {
                    try await store.transaction { tx in
                        _ = try tx.documents.insert(document(UInt8(number)))
                        try DocumentRecorder(tx).project([fact], from: document(UInt8(number)))
                    }
                }
                let stored = try await store.read { try $0.facts.all(about: purchase, in: app) }
                #expect(Set(stored.map(\.fact)) == Set(facts))
                let timeline = try #require(try await store.timeline())
                #expect(timeline == Timeline(of: purchase, facts))
                #expect(timeline.sourcedRenewal?.receivedAt == now + .days(5))
            }
        }
    }

    @Test(arguments: Driver.allCases)
    func `facts of several documents are projected into one timeline`(driver: Driver) async throws {
        try await driver.withStore { store in
            let batches = [
                [fact("1")], [renewal, fact("2")], [fact("1", attestedAt: now + .days(3))],
            ]
            for (number, facts) in batches.enumerated() {
                try await store.transaction { tx in
                    _ = try tx.documents.insert(document(UInt8(number)))
                    try DocumentRecorder(tx).project(facts, from: document(UInt8(number)))
                }
            }
            let timeline = try await store.read { try $0.purchases.timeline(of: purchase, in: app) }
            #expect(timeline == Timeline(of: purchase, batches.flatMap { $0 }))
        }
    }

    @Test(arguments: Driver.allCases)
    func `facts of one document about two purchases are projected into both`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let other = PurchaseID("999", in: .sandbox)
            let facts = [fact("1"), fact("7", about: other), renewal, fact("8", about: other)]
            try await store.transaction { tx in
                _ = try tx.documents.insert(document(1))
                try DocumentRecorder(tx).project(facts, from: document(1))
            }
            for purchase in [purchase, other] {
                let timeline = try await store.read {
                    try $0.purchases.timeline(of: purchase, in: app)
                }
                #expect(timeline == Timeline(of: purchase, facts))
            }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `the time per purchase does not grow with the number of purchases in a receipt`()
        async throws
    {
        try await Driver.sqliteMemory.withStore { store in
            let purchases = (1...30_000).map {
                PurchaseID(TransactionID(rawValue: "\($0)"), in: .production)
            }
            let facts = purchases.map { fact($0.original, about: $0) }
            _ = try await store.record(DocumentWithFacts(document(1), facts))
            for index in [0, 12_345, 29_999] {
                let purchase = purchases[index]
                let timeline = try await store.read {
                    try $0.purchases.timeline(of: purchase, in: app)
                }
                #expect(timeline == Timeline(of: purchase, [facts[index]]))
            }
        }
    }

    @Test(arguments: Driver.allCases)
    func `a fact without its document is refused`(driver: Driver) async throws {
        try await driver.withStore { store in
            await #expect(throws: StorageFailure.self) {
                try await store.transaction {
                    try DocumentRecorder($0).project([fact("1")], from: document(9))
                }
            }
        }
    }

    @Test(arguments: Driver.allCases)
    func `if a transaction throws, none of its rows are stored`(driver: Driver) async throws {
        try await driver.withStore { store in
            await #expect(throws: Interrupted.self) {
                try await store.transaction { tx in
                    _ = try tx.documents.insert(document(1))
                    throw Interrupted()
                }
            }
            let count = try await store.read { try $0.documents.count() }
            #expect(count == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `migrating a database a second time changes nothing`(driver: Driver) async throws {
        try await driver.withStore { store in
            _ = try await store.transaction { try $0.documents.insert(document(1)) }
            try await store.migrate(at: 5)
            let count = try await store.read { try $0.documents.count() }
            #expect(count == 1)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a damaged stored value is a failure`(driver: Driver) async throws {
        try await driver.withStore { store in
            try await store.transaction { tx in
                _ = try tx.documents.insert(document(1))
                try DocumentRecorder(tx).project([fact("1")], from: document(1))
            }
            for damaged: [UInt8] in [[], [99], [4, 2, 200], [4, 2, 1, 9], [4, 1], [4, 199, 7]] {
                try await store.driver.write { connection in
                    _ = try connection.run("UPDATE purchases SET timeline = $1", [.bytes(damaged)])
                }
                await #expect(throws: StorageFailure.self, "\(damaged)") {
                    try await store.read { try $0.purchases.timeline(of: purchase, in: app) }
                }
            }
        }
    }
}

@Suite struct SQLiteDatabaseTests {
    @Test func `a commit returns only after it was synced to the disk`() async throws {
        try await Driver.sqliteFile.withStore { store in
            let pragmas = try await store.driver.write { connection in
                [
                    try connection.rows("PRAGMA synchronous", [])[0],
                    try connection.rows("PRAGMA foreign_keys", [])[0],
                ]
            }
            #expect(pragmas.map(\.values) == [[.integer(2)], [.integer(1)]])
            let journal = try await store.driver.read {
                try $0.rows("PRAGMA journal_mode", [])[0].values
            }
            #expect(journal == [.text("wal")])
        }
    }

    /// A query that never ends.
    private static let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    @Test func `if a statement takes too long, it is interrupted, and the next statement succeeds`()
        async throws
    {
        try await Driver.withFile { path in
            let driver = try SQLiteDriver(path: path, statementSecondsMax: 0.1)
            defer { driver.close() }
            let failure = await #expect(throws: StorageFailure.self) {
                try await driver.scan { try $0.rows(Self.endless, []).count }
            }
            #expect(failure?.kind == .busy)
            let count = try await driver.scan { try $0.rows("SELECT 1", []).count }
            #expect(count == 1)
        }
    }

    @Test func `scans do not use up the threads for short reads`() async throws {
        try await Driver.withFile { path in
            let driver = try SQLiteDriver(path: path)
            defer { driver.close() }
            let hasRead = Flag()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                // More scans than there are threads: if scans used the threads for reads, the read
                // below would wait.
                for _ in 0..<64 {
                    tasks.addTask {
                        try await driver.scan { _ in
                            try blockUntil("the read") { hasRead.isSet }
                        }
                    }
                }
                _ = try await driver.read { try $0.rows("SELECT 1", []) }
                hasRead.set()
                try await tasks.waitForAll()
            }
        }
    }

    @Test func `a file that cannot be opened causes a failure with a clear message`() {
        #expect(throws: StorageFailure.self) {
            try SQLiteDriver(path: "/nowhere/at/all/store.sqlite")
        }
    }
}
