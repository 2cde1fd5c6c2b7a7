import Ledger
import Storage
import Testing

/// Which server reads the App Store's notification history, and where the next server continues.
@Suite struct HistoryWalkTests {
    private static let one = CheckWorker(holder: "one", lease: .seconds(300), checksPerSecond: 1)
    private static let two = CheckWorker(holder: "two", lease: .seconds(300), checksPerSecond: 1)

    private static func lease(
        _ store: Database, _ worker: CheckWorker, at moment: Instant = now
    ) async throws -> AppStoreLease? {
        try await store.transaction { tx in
            try tx.appStore.lease(
                .walk, of: app, in: .production, at: moment, every: .hours(12), for: worker)
        }
    }

    @Test(arguments: Driver.allCases)
    func `one server at a time reads the history, and the next one continues where it stopped`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let first = try #require(try await Self.lease(store, Self.one))
            #expect(first.from == nil)
            #expect(try await Self.lease(store, Self.two) == nil, "somebody walks already")
            let isHeld = try await store.transaction { tx in
                try tx.appStore.extend(first, doneTo: now - .hours(13))
            }
            #expect(isHeld)
            try await store.transaction { tx in try tx.appStore.release(first) }
            let second = try #require(try await Self.lease(store, Self.two))
            #expect(second.from == now - .hours(13))
            let isLost = try await store.transaction { tx in
                try tx.appStore.extend(first, doneTo: now + .days(9))
            }
            #expect(!isLost, "the lease has passed to another")
            try await store.transaction { tx in
                _ = try tx.appStore.extend(second, doneTo: now)
                try tx.appStore.release(second)
            }
            #expect(try await Self.lease(store, Self.one, at: now + .hours(11)) == nil)
            let third = try await Self.lease(store, Self.one, at: now + .hours(12))
            #expect(third?.from == now)
        }
    }

    @Test(arguments: Driver.allCases)
    func `if a server dies while reading the history, another server continues there`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let dead = CheckWorker(holder: "dead", lease: .zero, checksPerSecond: 1)
            let first = try #require(try await Self.lease(store, dead))
            _ = try await store.transaction { tx in
                try tx.appStore.extend(first, doneTo: now - .days(2))
            }
            #expect(try await Self.lease(store, Self.two)?.from == now - .days(2))
        }
    }

    @Test(arguments: Driver.allCases)
    func `the history is not read while requests are paused, and can be read beside a backfill`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.transaction { tx in
                try tx.appStore.paused(app, in: .production, until: now + .seconds(60))
            }
            #expect(try await Self.lease(store, Self.one) == nil)
            let later = now + .seconds(60)
            #expect(try await Self.lease(store, Self.one, at: later) != nil)
            let other = try await store.transaction { tx in
                try tx.appStore.lease(
                    .backfill, of: app, in: .production, at: later, every: .hours(1), for: Self.two)
            }
            #expect(other != nil)
        }
    }

    @Test(arguments: Driver.allCases)
    func `if a read of the history missed purchases, the next read starts from the beginning`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let walking = try #require(try await Self.lease(store, Self.one))
            let isHeld = try await store.transaction { tx in
                let isHeld = try tx.appStore.extend(walking, doneTo: now)
                try tx.appStore.walkAnew(of: app, from: now - .days(30))
                return isHeld
            }
            #expect(isHeld)
            // The database has no document yet, so a new walk would begin now and miss what it
            // should find.
            #expect(try await Self.extend(store, walking))
            try await store.keep(1)
            try await store.transaction { tx in
                try tx.appStore.walkAnew(of: "cats", from: now - .days(30))
                // The walk already begins early enough.
                try tx.appStore.walkAnew(of: app, from: now)
            }
            #expect(try await Self.extend(store, walking))
            try await store.transaction { tx in
                try tx.appStore.walkAnew(of: app, from: now - .days(30))
            }
            #expect(try await !Self.extend(store, walking), "it writes its place no more")
            let next = try #require(try await Self.lease(store, Self.two))
            #expect(next.from == nil)
        }
    }

    private static func extend(_ store: Database, _ lease: AppStoreLease) async throws -> Bool {
        try await store.transaction { tx in try tx.appStore.extend(lease, doneTo: now) }
    }

    @Test(arguments: Driver.allCases)
    func `the newest document of each app is found`(driver: Driver) async throws {
        try await driver.withStore { store in
            let none = try await store.read { tx in try tx.documents.newest(of: app) }
            #expect(none == nil)
            var other = document(3, signedAt: now + .days(70))
            other.app = "cats"
            let documents = [document(1, signedAt: now - .days(40)), document(2), other]
            _ = try await store.transaction { tx in try tx.documents.insert(documents) }
            let newest = try await store.read { tx in try tx.documents.newest(of: app) }
            #expect(newest == now)
        }
    }
}
