import Ledger
import PostgresCluster
import Testing

@testable import Engine
@testable import Storage

private let worker = CheckWorker(holder: "a", lease: .seconds(60), checksPerSecond: 100_000)

extension Database {
    fileprivate func leases(
        _ limit: Int = 100, by holder: String = "a", at moment: Instant = now,
        lease: Duration = .seconds(60), perSecond: Int = 100_000
    ) async throws -> [CheckLease] {
        let worker = CheckWorker(holder: holder, lease: lease, checksPerSecond: perSecond)
        return try await transaction {
            try $0.checks.lease(
                of: app, in: .production, dueBy: moment, limit: limit, for: worker)
        }
    }

    fileprivate func leasesOfBoth(_ limit: Int) async throws -> [PurchaseID] {
        try await transaction {
            try $0.checks.lease(of: app, dueBy: now, limit: limit, for: worker)
        }.map(\.purchase)
    }

    fileprivate func leaseCatchUp(
        at moment: Instant, for taker: CheckWorker = worker
    ) async throws -> AppStoreLease? {
        try await transaction {
            try $0.appStore.lease(
                .backfill, of: app, in: .production, at: moment, every: .hours(1), for: taker)
        }
    }

    fileprivate func endCatchUp(_ lease: AppStoreLease, upTo moment: Instant?) async throws {
        try await transaction {
            try $0.appStore.release(lease, doneTo: moment)
        }
    }

    fileprivate func fill(_ count: Int, in environment: Environment = .production) async throws {
        for number in 0..<count {
            let own = PurchaseID(TransactionID(rawValue: "\(number)"), in: environment)
            let document = document(
                UInt8(environment == .production ? number : 255 - number),
                signedAt: now + .seconds(number))
            try await transaction { tx in
                _ = try DocumentRecorder(tx).record(
                    DocumentWithFacts(
                        document, [fact(TransactionID(rawValue: "t\(number)"), about: own)]))
            }
        }
    }

    fileprivate func due() async throws -> Instant? {
        try await read { try $0.checks.history(of: purchase, in: app)?.dueAt }
    }
}

@Suite struct CheckRowsTests {
    @Test(arguments: Driver.allCases)
    func `a purchase is due for a check as soon as it is known, and is leased once`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.keep(1)
            #expect(try await store.leases(at: now - .milliseconds(1)).isEmpty)
            let leases = try await store.leases()
            #expect(leases.map(\.purchase) == [purchase])
            #expect(leases.map(\.history) == [CheckHistory(knownAt: now)])
            #expect(leases.first?.timeline.periods.count == 1)
            #expect(try await store.leases(by: "b").isEmpty)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a batch of checks is limited over both environments, and begins with production`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.fill(2, in: .sandbox)
            try await store.fill(2)
            let first = try await store.leasesOfBoth(3)
            #expect(first.map(\.environment) == [.production, .production, .sandbox])
            let second = try await store.leasesOfBoth(3)
            #expect(second.map(\.environment) == [.sandbox] && !first.contains(second[0]))
            #expect(try await store.leasesOfBoth(3).isEmpty)
        }
    }

    @Test(arguments: Driver.allCases)
    func `concurrent workers lease every purchase exactly once`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.fill(60)
            let taken = try await withThrowingTaskGroup(of: [CheckLease].self) { tasks in
                for number in 0..<8 {
                    tasks.addTask {
                        var mine: [CheckLease] = []
                        for _ in 0..<20 { mine += try await store.leases(3, by: "\(number)") }
                        return mine
                    }
                }
                return try await tasks.reduce(into: []) { $0 += $1 }
            }
            #expect(taken.count == 60)
            #expect(Set(taken.map(\.purchase)).count == 60)
        }
    }

    @Test(arguments: Driver.allCases)
    func `if a lease expires, another server gets it, and the first server records nothing`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.keep(1)
            let slow = try await store.leases(by: "slow", lease: .zero)
            let quick = try await store.leases(by: "quick")
            #expect(slow.count == 1 && quick.count == 1)
            try await store.transaction { try $0.checks.fail(slow[0], at: now) }
            let history = try await store.read {
                try $0.checks.history(of: purchase, in: app)?.history
            }
            #expect(history?.failures == 0)
            #expect(try await store.leases(by: "third").isEmpty)
            try await store.transaction {
                try $0.checks.complete(purchase, of: app, asked: now, isWhole: true)
            }
            #expect(try await store.due().map { $0 > now } == true)
        }
    }

    @Test(arguments: Driver.allCases)
    func
        `after a success the next check follows the timeline; after a failure it is a minute later`(
            driver: Driver
        ) async throws
    {
        try await driver.withStore { store in
            try await store.keep(1)
            let leases = try await store.leases()
            try await store.transaction { try $0.checks.fail(leases[0], at: now) }
            #expect(try await store.due() == now + .seconds(60))
            let again = try await store.leases(at: now + .seconds(60))
            #expect(again.map(\.history.failures) == [1])
            try await store.transaction {
                try $0.checks.save(revision: "r7", of: purchase, in: app)
                try $0.checks.complete(purchase, of: app, asked: now + .seconds(60), isWhole: true)
            }
            let timeline = try #require(try await store.timeline())
            let asked = CheckHistory(knownAt: now, askedAt: now + .seconds(60))
            #expect(try await store.due() == timeline.nextCheck(asked))
            let later = try await store.leases(at: now + .days(2000))
            #expect(later.map(\.revision) == ["r7"])
        }
    }

    @Test(arguments: Driver.allCases)
    func `new facts change the time of the next check, but a rebuild does not`(driver: Driver)
        async throws
    {
        try await driver.withStore { store in
            try await store.keep(1)
            try await store.transaction {
                try $0.checks.complete(purchase, of: app, asked: now, isWhole: true)
            }
            let before = try await store.due()
            try await store.transaction { tx in
                _ = try tx.documents.insert(document(2))
                try DocumentRecorder(tx).project([renewal, unrevoked], from: document(2))
            }
            let heard = try await store.due()
            #expect(before != heard)
            let differences = try await store.transaction { tx in
                try tx.rebuild.begin()
                try tx.rebuild.add([fact("t1")], from: document(1))
                try tx.rebuild.add([renewal, unrevoked], from: document(2))
                let found = try tx.rebuild.differences()
                try RebuildUpdates(tx).swapRebuilt(at: now)
                return found.first
            }
            #expect(differences.isEmpty)
            #expect(try await store.due() == heard)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a rebuild removes purchases that no document attests, and repairs damaged purchases`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.fill(2)
            try await store.keep(3)
            try await store.driver.write { connection in
                _ = try connection.run("UPDATE purchases SET timeline = $1", [.bytes([99])])
            }
            try await store.transaction { tx in
                try tx.rebuild.begin()
                try tx.rebuild.add([fact("t3")], from: document(3))
                try RebuildUpdates(tx).swapRebuilt(at: now)
            }
            #expect(try await store.timeline() == Timeline(of: purchase, [fact("t3")]))
            #expect(try await store.leases().map(\.purchase) == [purchase])
        }
    }

    @Test(arguments: Driver.allCases)
    func `no server asks a failing App Store before the pause is over`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.keep(1)
            try await store.transaction {
                try $0.appStore.failed(app, in: .production, pausedUntil: now + .seconds(15))
            }
            #expect(try await store.leases(at: now + .seconds(14)).isEmpty)
            #expect(try await store.leases(at: now + .seconds(15)).count == 1)
            let standing = try await store.transaction { tx in
                try tx.appStore.responded(app, in: .production, at: now)
                return try tx.appStore.health(of: app, in: .production)
            }
            #expect(standing.failures == 0 && standing.respondedAt == now)
        }
    }

    @Test(arguments: Driver.allCases)
    func `all servers together run no more checks per second than the limit`(driver: Driver)
        async throws
    {
        try await driver.withStore { store in
            try await store.fill(30)
            let began = ContinuousClock.now
            let first = try await store.leases(by: "a", perSecond: 5)
            let second = try await store.leases(by: "b", perSecond: 5)
            // The number of checks that the limit has allowed since then: none or one on a fast
            // machine.
            let allowed = Int(5 * ((ContinuousClock.now - began) / .seconds(1))) + 1
            #expect(first.count == 5)
            #expect(second.count <= allowed)
        }
    }

    @Test(arguments: Driver.allCases)
    func `one server at a time backfills notifications, starting where the last server stopped`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let first = try #require(try await store.leaseCatchUp(at: now))
            #expect(
                first
                    == AppStoreLease(
                        task: .backfill, app: app, environment: .production, from: nil,
                        worker: worker))
            #expect(try await store.leaseCatchUp(at: now) == nil)
            try await store.endCatchUp(first, upTo: now)
            #expect(try await store.leaseCatchUp(at: now + .hours(1) - .seconds(1)) == nil)
            let next = try #require(try await store.leaseCatchUp(at: now + .hours(1)))
            #expect(next.from == now)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a server whose backfill lease has expired cannot end another server's lease`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let slow = CheckWorker(holder: "slow", lease: .zero, checksPerSecond: 1)
            let late = try #require(try await store.leaseCatchUp(at: now, for: slow))
            let held = try #require(try await store.leaseCatchUp(at: now))
            let ends: [Instant?] = [nil, now]
            for end in ends {
                try await store.endCatchUp(late, upTo: end)
                let standing = try await store.read {
                    try $0.appStore.health(of: app, in: .production)
                }
                #expect(standing.backfilledTo == nil)
                #expect(try await store.leaseCatchUp(at: now, for: slow) == nil)
            }
            try await store.endCatchUp(held, upTo: now)
            let standing = try await store.read { try $0.appStore.health(of: app, in: .production) }
            #expect(standing.backfilledTo == now)
        }
    }

    @Test func `due checks are found by an index`() async throws {
        try await Driver.sqliteMemory.withStore { store in
            let plan = try await store.plan(
                of: LeaseQueue.checks.selectDue(.sqlite),
                [.integer(0), .text("birds"), .text("production"), .integer(0), .integer(9)])
            #expect(plan.count == 1 && plan[0].contains("purchases_by_due"), "\(plan)")
        }
    }
}

/// The payment of the cast, no longer refunded.
private var unrevoked: Fact {
    var fact = fact("t1", attestedAt: now + .days(3))
    guard case .payment(var payment) = fact.statement else { return fact }
    payment.revocation = nil
    payment.isUpgraded = false
    fact.statement = .payment(payment)
    return fact
}
