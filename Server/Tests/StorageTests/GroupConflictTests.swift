import Dispatch
import Eventually
import Ledger
import StorageSQLite
import Testing

@testable import Storage

/// Groups of writers that conflict with transactions of other servers.
@Suite struct GroupConflictTests {
    private static let count = 60

    private static func attested(_ number: Int) -> DocumentWithFacts {
        let id = TransactionID(rawValue: "\(number)")
        return DocumentWithFacts(
            document(UInt8(number)), [fact(id, about: PurchaseID(id, in: .production))])
    }

    /// The database is a file, because a transaction in memory runs at once and no group could
    /// form.
    private func withStore(
        _ conflicts: @escaping @Sendable ([UInt8]) -> Bool,
        body: (Database, DisturbedDatabase) async throws -> Void
    ) async throws {
        try await Driver.withFile { path in
            let driver = DisturbedDatabase(try SQLiteDriver(path: path), conflicts)
            defer { driver.close() }
            let store = Database(driver)
            try await store.migrate(at: 0)
            try await body(store, driver)
        }
    }

    @Test func `a group that always conflicts is recorded in parts, and no writer is refused`()
        async throws
    {
        let conflicts: @Sendable ([UInt8]) -> Bool = { $0.count > 1 }
        try await withStore(conflicts) { store, driver in
            let (gate, holds) = (DispatchSemaphore(value: 0), Tally())
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await store.transaction { _ in
                        _ = holds.next()
                        try gate.wait(for: "writers that wait")
                    }
                }
                try await eventually("the first transaction has begun") { holds.count > 0 }
                for number in 0..<Self.count {
                    group.addTask {
                        let isNew = try await store.record(Self.attested(number))
                        #expect(isNew)
                    }
                }
                try await eventually("all others wait, so that they are a group") {
                    store.commits.waitingCount == Self.count
                }
                gate.signal()
                try await group.waitForAll()
            }
            #expect(try await store.read { try $0.documents.count() } == Self.count)
            let limits = Set(driver.modes.all.map(\.runs))
            #expect(limits == [GroupCommit.groupRunsMax, WriteMode.runsMax])
        }
    }

    @Test func `only writers that conflict by themselves are refused`() async throws {
        let conflicts: @Sendable ([UInt8]) -> Bool = { $0.contains(7) || $0.contains(40) }
        try await withStore(conflicts) { store, _ in
            let refused = await withTaskGroup(of: Int?.self) { group -> [Int] in
                for number in 0..<Self.count {
                    group.addTask {
                        do {
                            _ = try await store.record(Self.attested(number))
                            return nil
                        } catch {
                            #expect((error as? StorageFailure)?.kind == .conflict)
                            return number
                        }
                    }
                }
                return await group.reduce(into: []) { numbers, number in
                    if let number { numbers.append(number) }
                }
            }
            #expect(refused.sorted() == [7, 40])
            let documents = try await store.read { connection in try connection.documents.count() }
            #expect(documents == Self.count - 2)
        }
    }

    @Test func `if many documents of one writer conflict, they are recorded in parts`() async throws
    {
        let conflicts: @Sendable ([UInt8]) -> Bool = { $0.count > 1 || $0.contains(7) }
        try await withStore(conflicts) { store, _ in
            let results = await store.record((0..<Self.count).map(Self.attested))
            #expect(results.count == Self.count)
            for (number, result) in results.enumerated() {
                switch result {
                case .success(let isNew): #expect(isNew && number != 7)
                case .failure: #expect(number == 7)
                }
            }
        }
    }

    /// A closure is one writer, however much it writes.
    @Test func `the closures of a conflicting group run in parts`() async throws {
        let conflicts: @Sendable ([UInt8]) -> Bool = { $0.contains(7) }
        try await withStore(conflicts) { store, _ in
            let refused = await withTaskGroup(of: Int.self) { group in
                for number in 0..<Self.count {
                    group.addTask {
                        do {
                            try await store.transaction { tx in
                                _ = try tx.documents.insert(document(UInt8(number)))
                            }
                            return 0
                        } catch {
                            return number
                        }
                    }
                }
                return await group.reduce(0, +)
            }
            #expect(refused == 7)
        }
    }
}

/// A database in which others conflict with the insertion of certain documents.
private final class DisturbedDatabase: DatabaseDriver {
    let modes = Tally.List<WriteMode>()
    private let driver: any DatabaseDriver
    private let conflicts: @Sendable ([UInt8]) -> Bool

    /// - Parameter conflicts: whether documents with these numbers conflict if inserted together.
    init(_ driver: any DatabaseDriver, _ conflicts: @escaping @Sendable ([UInt8]) -> Bool) {
        (self.driver, self.conflicts) = (driver, conflicts)
    }

    var dialect: Dialect { driver.dialect }

    func write<Value: Sendable>(
        _ mode: WriteMode, _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value {
        modes.add(mode)
        return try await driver.write(mode) { [conflicts] connection in
            try body(DisturbedConnection(connection: connection, conflicts: conflicts))
        }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any Connection) throws -> Value
    ) async throws -> Value { try await driver.read(body) }

    func close() { driver.close() }
}

private struct DisturbedConnection: Connection {
    let connection: any Connection
    let conflicts: @Sendable ([UInt8]) -> Bool

    var dialect: Dialect { connection.dialect }

    func rows(_ sql: String, _ values: [Value]) throws(StorageFailure) -> [Row] {
        try connection.rows(sql, values)
    }

    func run(_ sql: String, _ values: [Value]) throws(StorageFailure) -> Int {
        try connection.run(sql, values)
    }

    func rowsEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [[Row]] {
        try connection.rowsEach(sql, sets)
    }

    func runEach(_ sql: String, _ sets: [[Value]]) throws(StorageFailure) -> [Int] {
        if sql.hasPrefix("INSERT INTO documents"), conflicts(sets.compactMap(\.documentNumber)) {
            throw StorageFailure("another transaction interfered", kind: .conflict)
        }
        return try connection.runEach(sql, sets)
    }
}

extension [Value] {
    /// The number of the document that this row inserts.
    fileprivate var documentNumber: UInt8? {
        if case .bytes(let id) = self[2] { id.first } else { nil }
    }
}
