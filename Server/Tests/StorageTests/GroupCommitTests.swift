import Dispatch
import Eventually
import Foundation
import Ledger
import StorageSQLite
import Testing

@testable import Engine
@testable import Storage

private struct Poisoned: Error {}

@Suite struct GroupCommitTests {
    /// More writers than two groups can contain.
    private static let writers = 800

    private static func document(_ number: Int) -> StoredDocument {
        let id = (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) }
        return StoredDocument(
            app: app, id: id, kind: .notification, environment: .production, source: .notification,
            signedAt: now, receivedAt: now, parts: [0], headers: [])
    }

    @Test(.timeLimit(.minutes(10)), arguments: Driver.allCases)
    func `each of many concurrent writers gets its own result, and all rows are stored`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await withThrowingTaskGroup { group in
                for number in 0..<Self.writers {
                    group.addTask {
                        let answer = try await store.transaction { tx in
                            _ = try tx.documents.insert(Self.document(number))
                            return number
                        }
                        #expect(answer == number)
                    }
                }
                try await group.waitForAll()
            }
            let count = try await store.read { try $0.documents.count() }
            #expect(count == Self.writers)
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: Driver.allCases)
    func `if a writer throws, only this writer fails, and its rows are undone`(driver: Driver)
        async throws
    {
        try await driver.withStore { store in
            await withTaskGroup { group in
                for number in 0..<Self.writers {
                    group.addTask { await Self.write(number, to: store) }
                }
            }
            let kept = try await store.read {
                try $0.documents.all(of: app, after: .start, limit: 1000)
            }
            let expected = (0..<Self.writers).filter { $0 % 7 != 0 }.map { Self.document($0).id }
            #expect(Set(kept.map(\.id)) == Set(expected))
        }
    }

    /// Every seventh writer inserts its row and then throws.
    private static func write(_ number: Int, to store: Database) async {
        do {
            try await store.transaction { tx in
                _ = try tx.documents.insert(document(number))
                if number % 7 == 0 { throw Poisoned() }
            }
            #expect(number % 7 != 0)
        } catch {
            #expect(error is Poisoned && number % 7 == 0, "\(number): \(error)")
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: Driver.allCases)
    func `concurrent documents are stored once each, with their facts`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let new = await withTaskGroup(of: [Int].self) { group in
                for number in 0..<Self.writers {
                    group.addTask { await Self.keep(number / 2, in: store) }
                }
                return await group.reduce([], +)
            }
            let expected = (0..<Self.writers / 2).filter { $0 % 7 != 0 }
            #expect(new.sorted() == expected)
            try await store.read { tx in
                for number in 0..<Self.writers / 2 {
                    let facts = try tx.facts.all(about: Self.fact(number).purchase, in: app)
                    let timeline = try tx.purchases.timeline(
                        of: Self.fact(number).purchase, in: app)
                    #expect(facts.map(\.fact) == (number % 7 == 0 ? [] : [Self.fact(number)]))
                    #expect((timeline?.periods.count ?? 0) == facts.count)
                }
            }
        }
    }

    private static func fact(_ number: Int) -> Fact {
        let id = TransactionID(rawValue: "\(number)")
        return StorageTests.fact(id, about: PurchaseID(id, in: .production))
    }

    /// Returns the number if the document was new. The database refuses the id of every seventh
    /// document. Half of the other documents are recorded in a closure, which hides its documents
    /// from the store.
    private static func keep(_ number: Int, in store: Database) async -> [Int] {
        var document = document(number)
        if number % 7 == 0 { document.id.removeLast() }
        let attested = DocumentWithFacts(document, [fact(number)])
        do {
            let isNew =
                number.isMultiple(of: 2)
                ? try await store.record(attested)
                : try await store.transaction { try DocumentRecorder($0).record(attested) }
            #expect(number % 7 != 0)
            return isNew ? [number] : []
        } catch {
            #expect(number % 7 == 0 && (error as? StorageFailure)?.kind == .constraint, "\(error)")
            return []
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: Driver.allCases)
    func `each writer of a group learns which of its own documents are new`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let documents = (0..<Self.writers).map { DocumentWithFacts(Self.document($0), []) }
            let known = documents.indices.filter { $0 % 3 == 0 }
            for kept in await store.record(known.map { documents[$0] }) { _ = try kept.get() }
            await withTaskGroup { group in
                for first in stride(from: 0, to: documents.count, by: 2) {
                    group.addTask {
                        let kept = await store.record(Array(documents[first...first + 1]))
                        #expect(
                            kept.map { try? $0.get() } == [first, first + 1].map { $0 % 3 != 0 })
                    }
                }
            }
        }
    }

    /// The database refuses the fourth of seven documents. The last document repeats the first.
    @Test(.timeLimit(.minutes(10)), arguments: Driver.allCases)
    func `each document of a writer is stored or refused separately`(driver: Driver) async throws {
        try await driver.withStore { store in
            var documents = (0..<6).map { DocumentWithFacts(Self.document($0), [Self.fact($0)]) }
            documents[3].document.id.removeLast()
            let together = await withTaskGroup { group in
                for number in 10..<20 {
                    group.addTask { await Self.keep(number, in: store) }
                }
                let kept = await store.record(documents + [documents[0]])
                await group.waitForAll()
                return kept
            }
            #expect(together.map { try? $0.get() } == [true, true, true, nil, true, true, false])
            #expect(await store.record([]).isEmpty)
            let kept = try await store.read {
                try $0.documents.all(of: app, after: .start, limit: 1000)
            }
            let expected = [0, 1, 2, 4, 5] + (10..<20).filter { $0 != 14 }
            #expect(Set(kept.map(\.id)) == Set(expected.map { Self.document($0).id }))
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: Driver.allCases)
    func `if the database refuses a writer's row, only this writer fails`(driver: Driver)
        async throws
    {
        try await driver.withStore { store in
            let purchase = PurchaseID("1000", in: .production)
            try await store.transaction { tx in
                for name in 0..<Self.writers {
                    _ = try IdentityUpdates(tx).customer(
                        CustomerID(rawValue: "c\(name)"), in: app, at: now)
                }
            }
            let owners = await withTaskGroup(of: Bool.self) { group in
                for name in 0..<50 {
                    group.addTask {
                        let customer = CustomerID(rawValue: "c\(name)")
                        do {
                            try await store.transaction { tx in
                                try OwnershipUpdates(tx).link(
                                    purchase, to: customer, by: .device, in: app, at: now)
                            }
                            return true
                        } catch {
                            return false
                        }
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(owners == 1)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `if too many writers are waiting, the next writer is refused at once`() async throws {
        try await Driver.sqliteFile.withStore { store in
            let gate = DispatchSemaphore(value: 0)
            try await withThrowingTaskGroup { group in
                let holds = Tally()
                group.addTask {
                    try await store.transaction { _ in
                        _ = holds.next()
                        try gate.wait(for: "enough writers that are turned away")
                    }
                }
                try await eventually("the first transaction holds the database") { holds.count > 0 }
                // One transaction runs and `waitingMax` writers wait. The other writers are
                // refused.
                let turnedAway = Tally()
                for _ in 0..<2 * Self.waitingMax {
                    group.addTask {
                        do {
                            try await store.transaction { _ in }
                        } catch let failure as StorageFailure where failure.kind == .busy {
                            if turnedAway.next() == Self.waitingMax { gate.signal() }
                        }
                    }
                }
                try await group.waitForAll()
                #expect(turnedAway.count == Self.waitingMax)
            }
        }
    }

    private static let waitingMax = 4096

    @Test(.timeLimit(.minutes(10)))
    func `if the database is down, a group of writers tries once instead of once per writer`()
        async throws
    {
        let database = AbsentDatabase(holding: 1)
        let store = Database(database)
        try await withThrowingTaskGroup { group in
            for number in 0..<20 {
                group.addTask {
                    let failure = await #expect(throws: StorageFailure.self) {
                        try await store.transaction {
                            try $0.documents.insert(Self.document(number))
                        }
                    }
                    #expect(failure?.kind == .unavailable)
                }
            }
            try await eventually("19 writers wait") { store.commits.waitingCount == 19 }
            database.gate.signal()
            try await group.waitForAll()
        }
        #expect(database.writes.count == 1, "they waited for what the first had waited for")
        #expect(!database.statements.all.isEmpty)
        #expect(!database.statements.all.contains { $0.hasPrefix("SAVEPOINT") })
    }

    /// Another process has locked the file. Each attempt to write waits a second for the lock.
    @Test(.timeLimit(.minutes(10)))
    func `while the file is locked, waiting groups of writers fail together, not in turn`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "perennial-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "store.sqlite").path
        let (other, database) = (
            try SQLiteDriver(path: path), try SQLiteDriver(path: path, busyMilliseconds: 1_000)
        )
        let store = Database(database)
        try await store.migrate(at: 0)
        let (gate, locked) = (DispatchSemaphore(value: 0), Tally())
        try await withThrowingTaskGroup { group in
            group.addTask {
                try await other.write { _ in
                    _ = locked.next()
                    try gate.wait(for: "the end of the writers")
                }
            }
            try await eventually("the lock is held") { locked.count > 0 }
            let began = ContinuousClock.now
            await withTaskGroup { group in
                for number in 0..<600 {
                    group.addTask {
                        let failure = await #expect(throws: StorageFailure.self) {
                            try await store.transaction {
                                try $0.documents.insert(Self.document(number))
                            }
                        }
                        #expect(failure?.kind == .busy)
                    }
                }
            }
            // There are three groups. Each group would have waited for the group before it.
            #expect(ContinuousClock.now - began < .seconds(5))
            await #expect(throws: StorageFailure.self) { try await store.checkWrites(at: now) }
            gate.signal()
            try await group.waitForAll()
        }
        try await store.checkWrites(at: now)
        try await store.transaction { _ = try $0.documents.insert(Self.document(1)) }
        #expect(try await store.read { try $0.documents.count() } == 1)
        database.close()
        other.close()
    }

    /// One writer finds out whether the database is back; the others are refused meanwhile.
    @Test(.timeLimit(.minutes(10)))
    func `while the database does not answer, one writer at a time tries to write`() async throws {
        let database = AbsentDatabase(holding: 2)
        let store = Database(database)
        database.gate.signal()
        await #expect(throws: StorageFailure.self) {
            try await store.transaction { try $0.documents.insert(Self.document(1)) }
        }
        try await withThrowingTaskGroup { group in
            group.addTask { try await store.transaction { _ in } }
            while database.writes.count < 2 { await Task.yield() }
            for _ in 0..<10 {
                await #expect(throws: StorageFailure.self) { try await store.transaction { _ in } }
            }
            #expect(database.writes.count == 2)
            _ = database.returns.next()
            database.gate.signal()
            try await group.waitForAll()
        }
        try await store.transaction { _ in }
        #expect(database.writes.count == 3)
    }
}

/// No database exists. The first writers get the failure when the gate opens, and the other writers
/// get it at once.
private final class AbsentDatabase: DatabaseDriver, Connection {
    let gate = DispatchSemaphore(value: 0)
    let writes = Tally()
    let statements = Tally.List<String>()
    /// When the count is one, the database exists, without rows.
    let returns = Tally()
    let dialect = Dialect.sqlite
    private let heldCount: Int

    init(holding heldCount: Int) { self.heldCount = heldCount }

    func write<Value: Sendable>(
        _ mode: WriteMode, _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        if writes.next() <= heldCount {
            try await onOwnThread { [gate] in
                Result { try gate.wait(for: "the answer of the database") }
            }.get()
        }
        return try body(self)
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value { try body(self) }

    func close() {}

    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row] {
        try requireReturn(sql)
        return []
    }

    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int {
        try requireReturn(sql)
        return 0
    }

    func rowsEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [[Row]] {
        try requireReturn(sql)
        return sets.map { _ in [] }
    }

    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int] {
        try requireReturn(sql)
        return sets.map { _ in 0 }
    }

    private func requireReturn(_ sql: String) throws(StorageFailure) {
        statements.add(sql)
        guard returns.count > 0 else { throw StorageFailure("away", kind: .unavailable) }
    }
}
