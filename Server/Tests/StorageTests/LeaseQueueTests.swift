import Ledger
import Testing

@testable import Storage

private let strict = LeaseQueue(
    table: "parcels", key: ["app", "id"], scope: ["app", "target"], columns: "attempts",
    attempts: "attempts", trouble: "trouble", troubleCharactersMax: 5,
    unfinished: "ended_at_ms IS NULL")

/// A queue on the table of `strict`, in which finished work counts even if its lease was lost.
private var lenient: LeaseQueue {
    var queue = strict
    queue.completesWithoutLease = true
    return queue
}

private let key: [Value] = [.text("birds"), .text("1")]

/// The columns that the tests check, of the row with ``key``.
private struct Parcel: Equatable {
    var due: Instant?
    var attempts: Int64 = 0
    var trouble: String?
    var isLeased = false
}

extension Database {
    fileprivate func makeParcels(_ count: Int, target: String = "u") async throws {
        let dialect = driver.dialect
        try await driver.write { connection in
            let (text, integer) = (dialect.text, dialect.integer)
            try connection.run(
                "CREATE TABLE IF NOT EXISTS parcels (app \(text) NOT NULL, id \(text) NOT NULL, "
                    + "target \(text) NOT NULL, due_at_ms \(integer), "
                    + "attempts \(integer) NOT NULL, trouble \(text), ended_at_ms \(integer), "
                    + "lease_until_ms \(integer) NOT NULL, lease_holder \(text), "
                    + "PRIMARY KEY (app, id))", [])
            try connection.runEach(
                "INSERT INTO parcels (app, id, target, due_at_ms, attempts, lease_until_ms) "
                    + "VALUES ('birds', $1, $2, $3, 0, 0)",
                (1...max(1, count)).map {
                    // The last of these rows is the longest overdue.
                    [.text("\($0)"), .text(target), .integer((now - .seconds($0)).milliseconds)]
                })
        }
    }

    /// Returns the ids of the leased rows.
    fileprivate func lease(
        by holder: String, lease: Duration = .seconds(60), limit: Int = 100, target: String = "u",
        at moment: Instant = now
    ) async throws -> [String] {
        try await transaction { tx in
            try tx.queues.leaseDue(
                strict, in: [.text("birds"), .text(target)], by: moment, limit: limit,
                for: holder, lease: lease
            ).read { row throws(StorageFailure) in
                try row.skip(2)
                return try row.text()
            }
        }
    }

    fileprivate func complete(
        _ queue: LeaseQueue, _ outcome: LeaseOutcome?, by holder: String
    ) async throws -> Bool {
        try await transaction { tx in
            guard let outcome else { return try tx.queues.release(key, of: queue, by: holder) }
            return try tx.queues.complete(key, of: queue, outcome, by: holder)
        }
    }

    fileprivate func parcel() async throws -> Parcel {
        try await driver.read { connection in
            try connection.rows(
                "SELECT due_at_ms, attempts, trouble, lease_holder FROM parcels "
                    + "WHERE app = $1 AND id = $2", key
            ) { row throws(StorageFailure) in
                Parcel(
                    due: try row.optionalInstant(), attempts: try row.integer(),
                    trouble: try row.optionalText(), isLeased: try row.optionalText() != nil)
            }[0]
        }
    }
}

@Suite struct LeaseQueueTests {
    private struct Outcome {
        var name: String
        var queue = strict
        /// What the holder records; nil if the holder releases the lease.
        var outcome: LeaseOutcome?
        /// Whether the lease expires and another server leases the work before the outcome.
        var isLost = false
        /// The row afterwards; nil if nothing is recorded and the other server's lease stays.
        var expected: Parcel?
    }

    private static let due = now - .seconds(1)
    private static let later = now + .seconds(15)
    private static let outcomes = [
        Outcome(name: "done", outcome: .completed(), expected: Parcel(attempts: 1)),
        Outcome(
            name: "done, and due again", outcome: .completed(next: later),
            expected: Parcel(due: later, attempts: 1)),
        Outcome(
            name: "retried", outcome: .failed("503 Service", next: later),
            expected: Parcel(due: later, attempts: 1, trouble: "503 S")),
        Outcome(
            name: "given up", outcome: .failed("gone", next: nil),
            expected: Parcel(attempts: 1, trouble: "gone")),
        Outcome(name: "released", outcome: nil, expected: Parcel(due: due)),
        Outcome(name: "done late", outcome: .completed(), isLost: true),
        Outcome(
            name: "done late, which counts", queue: lenient, outcome: .completed(), isLost: true,
            expected: Parcel(attempts: 1)),
        Outcome(
            name: "failed late", queue: lenient, outcome: .failed("x", next: later), isLost: true),
        Outcome(
            name: "given up late", queue: lenient, outcome: .failed("x", next: nil), isLost: true),
        Outcome(name: "released late", queue: lenient, outcome: nil, isLost: true),
    ]

    @Test(arguments: Driver.allCases)
    func `only the lease holder records an outcome, except in queues with late completion`(
        driver: Driver
    ) async throws {
        for row in Self.outcomes {
            try await driver.withStore { store in
                try await store.makeParcels(1)
                let lease: Duration = row.isLost ? .zero : .seconds(60)
                #expect(try await store.lease(by: "a", lease: lease) == ["1"], "\(row.name)")
                if row.isLost { #expect(try await store.lease(by: "b") == ["1"], "\(row.name)") }
                let isRecorded = try await store.complete(row.queue, row.outcome, by: "a")
                #expect(isRecorded == (row.expected != nil), "\(row.name)")
                let expected = row.expected ?? Parcel(due: Self.due, isLeased: true)
                #expect(try await store.parcel() == expected, "\(row.name)")
                // Work that is due and not leased can be leased by any server.
                let isFree = !expected.isLeased && expected.due.map { $0 <= now } ?? false
                #expect(try await store.lease(by: "c") == (isFree ? ["1"] : []), "\(row.name)")
            }
        }
    }

    @Test(arguments: Driver.allCases)
    func `the outcome of work is recorded once`(driver: Driver) async throws {
        try await driver.withStore { store in
            try await store.makeParcels(1)
            _ = try await store.lease(by: "a")
            let failed = LeaseOutcome.failed("503", next: now)
            #expect(try await store.complete(lenient, failed, by: "a"))
            #expect(try await !store.complete(lenient, failed, by: "a"))
            #expect(try await store.parcel().attempts == 1)
            try await store.driver.write { connection in
                _ = try connection.run("UPDATE parcels SET ended_at_ms = 1", [])
            }
            #expect(try await !store.complete(lenient, .completed(), by: "a"), "it is finished")
        }
    }

    @Test(arguments: Driver.allCases)
    func `a batch has the longest overdue work of one scope, up to the limit`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.makeParcels(5)
            #expect(try await store.lease(by: "a", target: "other").isEmpty)
            #expect(try await store.lease(by: "a", at: now - .seconds(6)).isEmpty, "not due")
            #expect(try await store.lease(by: "a", limit: 2) == ["5", "4"])
            #expect(try await store.lease(by: "a") == ["3", "2", "1"])
        }
    }

    @Test(arguments: Driver.allCases)
    func `an expired lease passes to another server, but an extended lease does not`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            func extend(by holder: String) async throws -> Bool {
                try await store.transaction { tx in
                    try tx.queues.updateLease(
                        key, of: strict, by: holder, [("lease_until_ms", .integer(.max))])
                }
            }
            try await store.makeParcels(1)
            #expect(try await store.lease(by: "a", lease: .zero) == ["1"])
            #expect(try await extend(by: "a"))
            #expect(try await store.lease(by: "b").isEmpty)
            #expect(try await store.complete(strict, nil, by: "a"))
            #expect(try await store.lease(by: "a", lease: .zero) == ["1"])
            #expect(try await store.lease(by: "b") == ["1"])
            #expect(try await !extend(by: "a"))
        }
    }

    @Test(arguments: Driver.allCases)
    func `work that is not leased or finished can be leased by its key, even before it is due`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            func lease(_ key: [Value]) async throws -> [String] {
                try await store.transaction { tx in
                    try tx.queues.lease(strict, key: key, for: "a", lease: .seconds(60)).read {
                        row throws(StorageFailure) in
                        try row.skip(2)
                        return try row.text()
                    }
                }
            }
            try await store.makeParcels(4)
            try await store.driver.write { connection in
                try connection.run("UPDATE parcels SET due_at_ms = NULL WHERE id = '2'", [])
                try connection.run("UPDATE parcels SET ended_at_ms = 1 WHERE id = '3'", [])
            }
            #expect(try await lease(key) == ["1"])
            #expect(try await lease([.text("birds")]) == ["2", "4"])
            #expect(try await lease([.text("birds")]).isEmpty)
        }
    }

    @Test(arguments: Driver.allCases)
    func `concurrent servers never lease the same work`(driver: Driver) async throws {
        try await driver.withStore { store in
            try await store.makeParcels(60)
            let leased = try await withThrowingTaskGroup(of: [String].self) { tasks in
                for server in 0..<4 {
                    tasks.addTask {
                        var all: [String] = []
                        while true {
                            let batch = try await store.lease(by: "\(server)", limit: 7)
                            if batch.isEmpty { return all }
                            all += batch
                        }
                    }
                }
                return try await tasks.reduce(into: []) { $0 += $1 }
            }
            #expect(leased.count == 60)
            #expect(Set(leased).count == 60)
        }
    }

    @Test(arguments: Driver.allCases)
    func `the backlog counts due work or all work, and has the oldest time`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.makeParcels(3)
            let scope: [Value] = [.text("birds"), .text("u")]
            let (due, all) = try await store.read { tx in
                (
                    try tx.queues.backlog(of: strict, in: scope, dueBy: now - .seconds(2)),
                    try tx.queues.backlog(of: strict, in: scope)
                )
            }
            #expect(due == QueueBacklog(count: 2, oldest: now - .seconds(3)))
            #expect(all == QueueBacklog(count: 3, oldest: now - .seconds(3)))
            let none = try await store.read { tx in
                try tx.queues.backlog(of: strict, in: [.text("cats"), .text("u")])
            }
            #expect(none == QueueBacklog(count: 0, oldest: nil))
        }
    }
}
