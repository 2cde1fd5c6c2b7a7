import Ledger
import Testing

@testable import Engine
@testable import Storage

@Suite struct CustomerRowsTests {
    @Test(arguments: Driver.allCases)
    func `an id identifies the same customer at every read`(driver: Driver) async throws {
        try await driver.withStore { store in
            let first = try await store.transaction {
                try IdentityUpdates($0).customer("anna", in: app, at: now)
            }
            let again = try await store.transaction {
                try IdentityUpdates($0).customer("anna", in: app, at: now + .days(1))
            }
            let unknown = try await store.read { try $0.customers.find(known: "ben", in: app) }
            #expect(first == again)
            #expect(unknown == nil)
        }
    }

    @Test(arguments: Driver.allCases)
    func `merged customers share every id and every purchase`(driver: Driver) async throws {
        try await driver.withStore { store in
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                _ = try IdentityUpdates(tx).customer("device-7", in: app, at: now + .seconds(1))
                try OwnershipUpdates(tx).link(
                    purchase, to: "device-7", by: .device, in: app, at: now)
                try IdentityUpdates(tx).merge("device-7", into: "anna", in: app, at: now)
            }
            let merged = try await store.read { try $0.customers.find(known: "device-7", in: app) }
            let link = try await store.read { try $0.links.find(of: purchase, in: app) }
            #expect(merged == StoredCustomer(customer: "anna", ids: ["anna", "device-7"]))
            #expect(link == Link(customer: "anna", evidence: .device, since: now))
        }
    }

    @Test(arguments: Driver.allCases)
    func `the customer's total spending is known, with the time of the last booking`(
        driver: Driver
    ) async throws {
        let wallets = DatabaseRules(wallets: [app: WalletRules(credits: ["pack": ["gems": 100]])])
        try await driver.withStore(rules: wallets) { store in
            for (amount, days) in [(30, 2), (7, 1)] as [(Int64, Int)] {
                try await store.transaction { tx in
                    _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                    let debit = Booking(
                        .debit, id: BookingID(rawValue: "d\(amount)"), currency: "gems",
                        amount: amount,
                        reason: "", at: now + .days(days))
                    let kept = StoredBooking(debit, of: "anna", in: .production, balance: 0)
                    try WalletUpdates(tx).book(kept, key: nil, in: app, at: now)
                }
            }
            let spent = try await store.read {
                try $0.bookings.spendings(of: "anna", in: app, environment: .production)
            }
            #expect(spent["gems"]?.amount == 37 && spent["gems"]?.lastAt == now + .days(2))
        }
    }

    @Test(arguments: Driver.allCases)
    func `a purchase belongs to one customer at most`(driver: Driver) async throws {
        try await driver.withStore { store in
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                _ = try IdentityUpdates(tx).customer("ben", in: app, at: now)
                try OwnershipUpdates(tx).link(purchase, to: "anna", by: .device, in: app, at: now)
            }
            await #expect(throws: StorageFailure.self) {
                try await store.transaction { tx in
                    try OwnershipUpdates(tx).link(
                        purchase, to: "ben", by: .device, in: app, at: now)
                }
            }
        }
    }

    @Test(arguments: Driver.allCases)
    func `apps do not see one another's customers`(driver: Driver) async throws {
        try await driver.withStore { store in
            let found = try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                return try tx.customers.find(known: "anna", in: "rage")
            }
            #expect(found == nil)
        }
    }

    @Test(arguments: Driver.allCases)
    func `an id is stored as text, even if it looks like a number`(driver: Driver) async throws {
        try await driver.withStore { store in
            let nasty: CustomerID = "x'; DROP TABLE customers; --"
            let count = try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer(nasty, in: app, at: now)
                return try tx.customers.find(known: nasty, in: app)?.ids.count
            }
            #expect(count == 1)
        }
    }

    @Test(arguments: Driver.allCases)
    func `an API key is found only by its hash`(driver: Driver) async throws {
        try await driver.withStore { store in
            let hash = [UInt8](repeating: 7, count: 32)
            try await store.transaction { tx in
                for _ in 0..<2 {
                    try tx.keys.add(hash: hash, app: app, kind: .secret, name: "server", at: now)
                }
            }
            let found = try await store.read { try $0.keys.find(hash: hash) }
            let other = try await store.read {
                try $0.keys.find(hash: [UInt8](repeating: 8, count: 32))
            }
            let count = try await store.read { try $0.keys.count(of: app) }
            #expect(found?.app == app)
            #expect(found?.kind == .secret)
            #expect(other == nil)
            #expect(count == 1)
        }
    }

    @Test(arguments: Driver.allCases)
    func `the use of an API key is written at most once an hour`(driver: Driver) async throws {
        try await driver.withStore { store in
            let hash = [UInt8](repeating: 7, count: 32)
            let end = Instant(milliseconds: now.milliseconds + 9_000_000)
            try await store.transaction { tx in
                try tx.keys.add(
                    hash: hash, app: app, kind: .secret, name: "", scopes: [.read, .money],
                    until: end, at: now)
            }
            let unused = try #require(try await store.read { try $0.keys.find(hash: hash) })
            #expect(unused.scopes == [.read, .money] && unused.until == end)
            #expect(unused.lastUsedAt == nil)
            for (minutes, recorded) in [(0, 0), (59, 0), (60, 60), (61, 60)] as [(Int64, Int64)] {
                let moment = Instant(milliseconds: now.milliseconds + minutes * 60_000)
                let use = try #require(KeyUse(of: unused, at: moment))
                try await store.transaction { tx in try tx.keys.record(use) }
                let key = try await store.read { try $0.keys.find(hash: hash) }
                #expect(key?.lastUsedAt?.milliseconds == now.milliseconds + recorded * 60_000)
                let next = key.flatMap { KeyUse(of: $0, at: moment) }
                #expect(next == nil)
            }
        }
    }

    @Test(arguments: Driver.allCases)
    func `a deleted API key is not found any more, and the other keys stay`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let hashes = [UInt8(9), 7, 8].map { [UInt8](repeating: $0, count: 32) }
            try await store.transaction { tx in
                for hash in hashes {
                    try tx.keys.add(hash: hash, app: app, kind: .app, name: "phone", at: now)
                }
            }
            let all = try await store.read { try $0.keys.all(of: app) }
            #expect(all.map { $0.hash[0] } == [7, 8, 9])
            #expect(all.allSatisfy { $0.kind == .app && $0.name == "phone" && $0.app == app })
            #expect(all.allSatisfy { $0.createdAt == now })
            for _ in 0..<2 {
                try await store.transaction { tx in
                    try tx.keys.remove(hash: all[1].hash, of: app)
                }
            }
            let rest = try await store.read { try $0.keys.all(of: app) }
            #expect(rest == [all[0], all[2]])
            let gone = try await store.read { try $0.keys.find(hash: all[1].hash) }
            #expect(gone == nil)
        }
    }
}
