import Ledger
import Testing

@testable import Engine
@testable import Storage

@Suite struct LogEpochTests {
    private func tell(_ count: Int, in app: AppID, to store: Database) async throws {
        try await store.transaction { tx in
            for number in 0..<count {
                let customer = try IdentityUpdates(tx).customer(
                    CustomerID(rawValue: "c\(number)"), in: app, at: now
                ).customer
                try IdentityUpdates(tx).emitIdentityEvent(
                    .aliasAdded, of: customer, other: "other", in: app, at: now)
            }
        }
        try await store.numberEvents()
    }

    private func begin(_ name: String, in store: Database) async throws {
        try await store.transaction { tx in try tx.events.beginEpoch(named: name, at: now) }
    }

    private func epochs(of app: AppID, in store: Database) async throws -> LogEpochs {
        try await store.read { try $0.events.epochs(of: app) }
    }

    @Test(arguments: Driver.allCases)
    func `a restore begins a new epoch for later positions, and earlier positions stay the same`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            #expect(try await epochs(of: app, in: store) == .first)
            try await tell(3, in: app, to: store)
            try await begin("aaaaaaaaaa", in: store)
            try await tell(2, in: app, to: store)
            // No event is appended between these two epochs.
            try await begin("bbbbbbbbbb", in: store)
            try await begin("cccccccccc", in: store)
            let all = try await epochs(of: app, in: store)
            #expect(all.current == "cccccccccc")
            #expect(
                (1...6).map { all.position(of: $0).description } == [
                    "1", "2", "3", "aaaaaaaaaa_4", "aaaaaaaaaa_5", "cccccccccc_6",
                ])
            #expect(all.sharedCount(with: nil) == 3)
            #expect(all.sharedCount(with: "aaaaaaaaaa") == 5)
            #expect(all.sharedCount(with: "bbbbbbbbbb") == 5)
            #expect(all.sharedCount(with: "cccccccccc") == .max)
            #expect(all.sharedCount(with: "dddddddddd") == nil)
        }
    }

    @Test(arguments: Driver.allCases)
    func `an app without events in the backup has the new epoch from its first event on`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await tell(1, in: "zebra", to: store)
            try await begin("aaaaaaaaaa", in: store)
            try await tell(1, in: app, to: store)
            try await begin("bbbbbbbbbb", in: store)
            let own = try await epochs(of: app, in: store)
            #expect(own.sharedCount(with: nil) == 0)
            #expect([1, 2].map { own.position(of: $0).epoch } == ["aaaaaaaaaa", "bbbbbbbbbb"])
            let others = try await epochs(of: "zebra", in: store)
            #expect(others.sharedCount(with: nil) == 1)
            #expect(others.position(of: 2).epoch == "bbbbbbbbbb")
        }
    }

    @Test func `events that have no number in a backup get a number of the new epoch`() async throws
    {
        try await Driver.postgres.withStore { store in
            try await tell(2, in: app, to: store)
            // This is the state of a backup made in the milliseconds before this event was
            // numbered.
            try await store.transaction { tx in
                try IdentityUpdates(tx).emitIdentityEvent(
                    .aliasAdded, of: "c0", other: "other", in: app, at: now)
            }
            try await begin("aaaaaaaaaa", in: store)
            try await store.numberEvents()
            let epochs = try await epochs(of: app, in: store)
            let events = try await store.read { try $0.events.all(of: app, after: 0, limit: 9) }
            #expect(
                events.map { epochs.position(of: $0.sequence).description }
                    == ["1", "2", "aaaaaaaaaa_3"])
        }
    }

    @Test(arguments: Driver.allCases)
    func `the beginning of an epoch makes a backfill due, and its repetition changes nothing`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let worker = CheckWorker(holder: "w", lease: .seconds(1), checksPerSecond: 1)
            try await store.transaction { tx in
                let lease = try tx.appStore.lease(
                    .backfill, of: app, in: .production, at: now, every: .hours(1), for: worker)
                try tx.appStore.release(#require(lease), doneTo: now)
            }
            for _ in 1...2 { try await begin("aaaaaaaaaa", in: store) }
            #expect(try await epochs(of: app, in: store).marks.count == 1)
            let standing = try await store.read { try $0.appStore.health(of: app, in: .production) }
            #expect(standing.backfilledTo == now - .hours(1))
        }
    }

    @Test(arguments: ["0", "12", "9223372036854775807", "k3f9x2ab7c_12", "aaaaaaaaaa_0"])
    func `a position in the log is written as it was read`(text: String) throws {
        #expect(try #require(LogPosition(text)).description == text)
    }

    @Test(arguments: [
        "", "-1", "+1", "x", "1.0", " 1", "9223372036854775808", "_1", "12_", "k3f9x2ab7c",
        "k3f9x2ab7_1", "k3f9x2ab7cd_1", "3k3f9x2ab7_1", "K3F9X2AB7C_1", "k3f9x2ab7c_-1",
        "k3f9x2ab7c_1_1", "k3f9x2ab7c-1", "k3f9x2äb7_1", "١",
    ])
    func `a text in a wrong form is not read as a position in the log`(text: String) {
        #expect(LogPosition(text) == nil)
    }

    @Test func `the name of a new epoch is valid and unique`() {
        var random = SystemRandomNumberGenerator()
        let names = (0..<100).map { _ in LogPosition.newEpoch(by: &random) }
        #expect(Set(names).count == 100)
        #expect(names.allSatisfy { LogPosition("\($0)_7") == LogPosition($0, 7) })
    }
}
