import Ledger
import Testing

@testable import Engine
@testable import Storage

/// How events get their numbers, on every kind of database.
@Suite struct EventNumberTests {
    @Test(arguments: Driver.allCases)
    func `events are numbered by app and by customer, in the order of their commits`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let customers: [CustomerID?] = ["anna", "ben", nil]
            for number in 0..<30 { try await store.tell(number, of: customers[number % 3]) }
            let first = try await store.readingLog {
                try $0.events.all(of: app, after: 0, limit: 500)
            }
            #expect(first.map(\.number) == Array(0..<30))
            for number in 30..<60 { try await store.tell(number, of: customers[number % 3]) }
            try await store.numberEvents()
            let all = try await store.numbered()
            #expect(all.map(\.number) == Array(0..<60))
            expectCounted(all)
            #expect(try await store.pendingCount() == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `erasing a customer removes the id from events that have no number yet`(driver: Driver)
        async throws
    {
        try await driver.withStore { store in
            try await store.keep(1)
            try await store.transaction { tx in
                for id: CustomerID in ["anna", "ben"] {
                    _ = try IdentityUpdates(tx).customer(id, in: app, at: now)
                }
                try OwnershipUpdates(tx).link(purchase, to: "anna", by: .device, in: app, at: now)
            }
            _ = try await store.transaction {
                try OwnershipUpdates($0).move(purchase, to: "ben", by: .device, in: app, at: now)
            }
            let person = StoredCustomer(customer: "anna", ids: ["anna"])
            _ = try await store.transaction { tx in
                try CustomerErasure(tx).erase(
                    person, names: ["anna": "erased_1"],
                    hashes: [Array(repeating: 1, count: 32)], in: app, at: now)
            }
            let log = try await store.readingLog {
                try $0.events.all(of: app, after: 0, limit: 500)
            }
            let names = log.flatMap { [$0.entry.customer, $0.entry.other] }.compactMap(\.self)
            #expect(Set(names) == ["erased_1", "ben"])
            expectCounted(log)
            #expect(try await store.read { try $0.consistency.logDifferences() }.count == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a rebuild finds the last event of a lost purchase, whether or not it is numbered`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let told = fact("1000")
            _ = try await store.record(DocumentWithFacts(document(1), [told]))
            try await store.driver.write { _ = try $0.run("DELETE FROM purchases", []) }
            try await store.transaction { tx in
                try tx.rebuild.begin()
                try tx.rebuild.add([told], from: document(1))
                try RebuildUpdates(tx).swapRebuilt(at: now)
            }
            let log = try await store.readingLog {
                try $0.events.all(of: app, after: 0, limit: 500)
            }
            #expect(!log.isEmpty && !log.contains { $0.entry.cause == .rebuild })
            #expect(try await store.read { try $0.consistency.logDifferences() }.count == 0)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a copy numbers the events without a number, and leaves its source unchanged`(
        driver: Driver
    ) async throws {
        try await driver.withStore { source in
            try await source.tell(0, of: "anna")
            try await source.numberEvents()
            for number in 1..<4 { try await source.tell(number, of: "anna") }
            let pending = try await source.pendingCount()
            #expect((pending > 0) == (driver == .postgres))
            for target in [Driver.sqliteMemory, .postgres] {
                try await target.withStore { copy in
                    try await copy.copy(from: source)
                    let log = try await copy.numbered()
                    #expect(log.map(\.number) == Array(0..<4))
                    expectCounted(log)
                    try await copy.tell(4, of: "anna")
                    try await copy.numberEvents()
                    expectCounted(try await copy.numbered())
                }
            }
            #expect(try await source.pendingCount() == pending)
        }
    }

    @Test(arguments: Driver.allCases)
    func `transfers are numbered in the order of their commits, regardless of the clock`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.keep(1)
            try await store.transaction { tx in
                for id: CustomerID in ["anna", "ben"] {
                    _ = try IdentityUpdates(tx).customer(id, in: app, at: now)
                }
                try OwnershipUpdates(tx).link(purchase, to: "anna", by: .device, in: app, at: now)
            }
            var numbers: [Int64] = []
            for (customer, hours) in [(CustomerID("ben"), 5), ("anna", 3), ("ben", 3), ("anna", 9)]
            {
                let transfer = try await store.transaction {
                    try OwnershipUpdates($0).move(
                        purchase, to: customer, by: .support, in: app, at: now + .hours(hours))
                }
                numbers.append(transfer.number)
            }
            #expect(numbers == numbers.sorted() && Set(numbers).count == 4)
            try await store.transaction { try $0.events.beginEpoch(named: "aaaaaaaaaa", at: now) }
            let later = try await store.read { try $0.transfers.all(of: "anna", in: app) }
            #expect(later.map(\.number) == numbers)
        }
    }
}
