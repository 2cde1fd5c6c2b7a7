import Ledger
import Testing

@testable import Engine
@testable import Storage

private struct Undone: Error {}

private let old = "https://old.example.com/apple"
private let staging = "https://staging.example.com/apple"
private let body = ReceivedNotification(
    contentType: "application/json; charset=utf-8", body: [0x7B, 0, 0xFF, 0x7D])

private func attested(
    _ number: UInt8, to targets: [String] = [old, staging], leftOut: [String] = [],
    dueAt: Instant = now
) -> DocumentWithFacts {
    var attested = DocumentWithFacts(
        document(number), [fact(TransactionID(rawValue: "t\(number)"))])
    attested.forward = ForwardOrder(
        body, to: targets, leftOut: leftOut, createdAt: now + .seconds(Int(number)), dueAt: dueAt)
    return attested
}

extension Database {
    fileprivate func leases(
        to target: String = old, at moment: Instant = now, by holder: String = "a",
        limit: Int = 10, lease: Duration = .seconds(60)
    ) async throws -> [ForwardLease] {
        try await transaction {
            try $0.forwards.lease(
                to: target, of: app, dueBy: moment, limit: limit, for: holder, lease: lease)
        }
    }

    fileprivate func end(
        _ lease: ForwardLease, _ answer: ForwardResult, at moment: Instant = now,
        next: Instant? = now + .seconds(15)
    ) async throws {
        try await transaction {
            try $0.forwards.complete(lease, of: app, answer, at: moment, next: next)
        }
    }

    fileprivate func forwards(
        _ state: StoredForward.State? = nil, after position: ForwardPosition? = nil,
        limit: Int = 100
    ) async throws -> [StoredForward] {
        try await read { try $0.forwards.all(of: app, in: state, after: position, limit: limit) }
    }

    fileprivate func bodies() async throws -> Int64 {
        try await driver.read {
            try $0.number("SELECT count(*) FROM forward_bodies")
        }
    }
}

@Suite struct ForwardRowsTests {
    @Test(arguments: Driver.allCases)
    func `a notification is stored once for forwarding, together with its document`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            #expect(try await store.record(attested(1)))
            #expect(try await !store.record(attested(1)))
            for target in [old, staging] {
                let leases = try await store.leases(to: target)
                #expect(leases.map(\.target) == [target])
                #expect(leases.map(\.document) == [document(1).id])
                #expect(leases.map(\.notification) == [body])
            }
            #expect(try await store.forwards().count == 2)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a transaction that fails stores no forward`(driver: Driver) async throws {
        try await driver.withStore { store in
            await #expect(throws: Undone.self) {
                try await store.transaction { tx in
                    _ = try DocumentRecorder(tx).record(attested(1))
                    throw Undone()
                }
            }
            let (forwards, bodies) = (try await store.forwards(), try await store.bodies())
            #expect(forwards.isEmpty && bodies == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `concurrent servers lease each forward once`(driver: Driver) async throws {
        try await driver.withStore { store in
            for number in 0..<60 { _ = try await store.record(attested(UInt8(number))) }
            let taken = try await withThrowingTaskGroup(of: [ForwardLease].self) { tasks in
                for number in 0..<6 {
                    tasks.addTask {
                        var mine: [ForwardLease] = []
                        for _ in 0..<25 {
                            mine += try await store.leases(by: "\(number)", limit: 3)
                        }
                        return mine
                    }
                }
                return try await tasks.reduce(into: []) { $0 += $1 }
            }
            #expect(taken.count == 60)
            #expect(Set(taken.map(\.document)).count == 60)
        }
    }

    @Test(arguments: Driver.allCases)
    func `forwards are leased when they are due, and the longest overdue forward is first`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            for (number, seconds) in [(1, 30), (2, 10), (3, 20)] {
                _ = try await store.record(
                    attested(UInt8(number), to: [old], dueAt: now + .seconds(seconds)))
            }
            #expect(try await store.leases(at: now + .seconds(9)).isEmpty)
            let leases = try await store.leases(at: now + .seconds(20))
            #expect(leases.map(\.document[0]) == [2, 3])
        }
    }

    @Test(arguments: Driver.allCases)
    func `a failed forward is retried, and an accepted forward is finished`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            _ = try await store.record(attested(1, to: [old]))
            let first = try #require(try await store.leases().first)
            try await store.end(first, .status(500))
            #expect(try await store.leases().isEmpty)
            let waiting = try #require(try await store.forwards(.waiting).first)
            #expect(waiting.attempts == 1 && waiting.status == 500 && waiting.lastError == nil)
            #expect(waiting.dueAt == now + .seconds(15) && waiting.attemptedAt == now)
            let second = try #require(try await store.leases(at: now + .seconds(15)).first)
            #expect(second.attempts == 1 && second.notification == body)
            try await store.end(second, .status(204))
            let accepted = try #require(try await store.forwards(.accepted).first)
            #expect(accepted.attempts == 2 && accepted.status == 204)
            #expect(accepted.acceptedAt == now && accepted.dueAt == nil)
            #expect(try await store.forwards(.waiting).isEmpty)
            // No forward needs the body any more.
            #expect(try await store.bodies() == 0)
            _ = try await store.record(attested(1, to: [old]))
            #expect(try await store.leases(at: now + .days(1)).isEmpty)
            #expect(try await store.bodies() == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `the body of a notification is kept until the last address has accepted it`(driver: Driver)
        async throws
    {
        try await driver.withStore { store in
            _ = try await store.record(attested(1))
            try await store.end(try #require(try await store.leases().first), .status(200))
            #expect(try await store.bodies() == 1)
            let last = try #require(try await store.leases(to: staging).first)
            try await store.end(last, .noResponse("no route to host"), next: nil)
            // The forward is given up, and an operator may retry it.
            #expect(try await store.bodies() == 1)
            let lost = try #require(try await store.forwards(.givenUp).first)
            #expect(lost.target == staging && lost.lastError == "no route to host")
            #expect(lost.status == nil)
            _ = try await store.record(attested(2))
            for target in [old, staging] {
                let lease = try #require(try await store.leases(to: target).first)
                try await store.end(lease, .status(200))
            }
            #expect(try await store.bodies() == 1)
        }
    }

    @Test(arguments: Driver.allCases)
    func `if a lease expires, another server gets it, but the first server can report acceptance`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            _ = try await store.record(attested(1, to: [old]))
            let slow = try #require(try await store.leases(by: "slow", lease: .zero).first)
            let quick = try #require(try await store.leases(by: "quick").first)
            try await store.end(slow, .noResponse("timeout"))
            #expect(try await store.forwards(.waiting).first?.attempts == 0)
            #expect(try await store.leases(by: "third").isEmpty)
            try await store.end(slow, .status(200))
            try await store.end(quick, .status(500))
            let forward = try #require(try await store.forwards().first)
            #expect(forward.state == .accepted && forward.status == 200 && forward.attempts == 1)
        }
    }

    @Test(arguments: Driver.allCases)
    func `if the lease holder releases a forward, another server can lease it at once`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            _ = try await store.record(attested(1, to: [old]))
            let lease = try #require(try await store.leases().first)
            var others = lease
            others.holder = "b"
            let notTheirs = others
            try await store.transaction { try $0.forwards.release(notTheirs, of: app) }
            #expect(try await store.leases(by: "b").isEmpty)
            try await store.transaction { try $0.forwards.release(lease, of: app) }
            let again = try #require(try await store.leases(by: "b").first)
            #expect(again.attempts == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `all unleased forwards of a document can be leased, due or not`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            _ = try await store.record(attested(1, leftOut: ["third"], dueAt: now + .days(1)))
            func takeAll() async throws -> [String] {
                try await store.transaction { tx in
                    try tx.forwards.lease(
                        of: document(1).id, in: app, for: "b", lease: .seconds(60))
                }.map(\.target)
            }
            #expect(try await store.leases(to: staging, at: now + .days(1)).count == 1)
            #expect(try await takeAll() == [old, "third"])
            #expect(try await takeAll().isEmpty)
        }
    }

    @Test(arguments: Driver.allCases)
    func `an address whose queue is full is recorded as left out`(driver: Driver) async throws {
        try await driver.withStore { store in
            _ = try await store.record(attested(1, to: [], leftOut: [old]))
            let forward = try #require(try await store.forwards(.leftOut).first)
            #expect(forward.attempts == 0 && forward.dueAt == nil && forward.target == old)
            #expect(try await store.leases(at: now + .days(1)).isEmpty)
            #expect(try await store.bodies() == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `the list has every forward once, newest first, in pages of any size`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            for number in 0..<9 { _ = try await store.record(attested(UInt8(number))) }
            var all: [StoredForward] = []
            while true {
                let position = all.last.map { ForwardPosition(after: $0) }
                let page = try await store.forwards(after: position, limit: 4)
                all += page
                if page.count < 4 { break }
            }
            #expect(all.count == 18 && Set(all).count == 18)
            #expect(all.map(\.createdAt) == all.map(\.createdAt).sorted(by: >))
            let waiting = try await store.read { try $0.forwards.backlog(to: old, of: app) }
            #expect(waiting == QueueBacklog(count: 9, oldest: now))
        }
    }

    @Test(arguments: Driver.allCases)
    func `finished forwards are deleted first, and waiting forwards later`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            for number in 1...3 { _ = try await store.record(attested(UInt8(number), to: [old])) }
            let done = try #require(try await store.leases(limit: 1).first)
            try await store.end(done, .status(200))
            func forget(over: Instant, all: Instant) async throws -> Int {
                try await store.transaction {
                    try $0.forwards.delete(of: app, overBefore: over, allBefore: all, limit: 10)
                }
            }
            let later = now + .days(1)
            #expect(try await forget(over: now, all: now) == 0)
            #expect(try await forget(over: later, all: now) == 1)
            #expect(try await store.forwards().map(\.state) == [.waiting, .waiting])
            #expect(try await store.bodies() == 2)
            #expect(try await forget(over: later, all: later) == 2)
            #expect(try await store.forwards().isEmpty)
            #expect(try await store.bodies() == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a forward that was given up can be retried, and no other forward is changed`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            for number in 1...3 { _ = try await store.record(attested(UInt8(number), to: [old])) }
            let leases = try await store.leases(limit: 2)
            let (done, lost) = (leases[0], leases[1])
            try await store.end(done, .status(200))
            try await store.end(lost, .status(500), next: nil)
            let waiting = try await store.forwards(.waiting)
            func retry(_ document: [UInt8], to targets: [String]) async throws {
                _ = try await store.transaction {
                    try $0.forwards.retry(of: document, in: app, to: targets, at: now + .days(9))
                }
            }
            try await retry(lost.document, to: [staging])
            #expect(try await store.forwards(.givenUp).map(\.document) == [lost.document])
            for document in [done.document, lost.document] + waiting.map(\.document) {
                try await retry(document, to: [old, staging])
            }
            #expect(try await store.forwards(.accepted).map(\.document) == [done.document])
            let again = try await store.forwards(.waiting).first { $0.document == lost.document }
            #expect(again?.dueAt == now + .days(9) && again?.attempts == 0)
            let others = try await store.forwards(.waiting).filter { $0.document != lost.document }
            #expect(others == waiting)
            // The document that was accepted everywhere has no body left.
            #expect(try await store.bodies() == 2)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a forward that was given up is kept while it can be retried`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            _ = try await store.record(attested(1, to: [old]))
            let lease = try #require(try await store.leases().first)
            try await store.end(lease, .status(500), next: nil)
            func forget(all: Instant) async throws -> Int {
                try await store.transaction {
                    try $0.forwards.delete(
                        of: app, overBefore: now + .days(1), allBefore: all, limit: 10)
                }
            }
            #expect(try await forget(all: now) == 0)
            #expect(try await store.bodies() == 1)
            #expect(try await forget(all: now + .days(1)) == 1)
            #expect(try await store.bodies() == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `the time until a forward is deleted begins when the forward is accepted`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            _ = try await store.record(attested(1, to: [old]))
            let lease = try #require(try await store.leases().first)
            try await store.end(lease, .status(200), at: now + .days(9))
            for (days, count) in [(9, 0), (10, 1)] {
                let forgotten = try await store.transaction {
                    try $0.forwards.delete(
                        of: app, overBefore: now + .days(days), allBefore: now + .days(1),
                        limit: 10)
                }
                #expect(forgotten == count, "day \(days)")
            }
        }
    }

    @Test(arguments: [
        (199, false), (200, true), (204, true), (206, true), (207, false), (302, false),
        (410, false), (500, false),
    ])
    func `a forward is accepted with the status codes that Apple accepts`(
        status: Int, isAccepted: Bool
    ) {
        #expect(ForwardResult.status(status).isAccepted == isAccepted)
        #expect(!ForwardResult.noResponse("").isAccepted)
    }
}
