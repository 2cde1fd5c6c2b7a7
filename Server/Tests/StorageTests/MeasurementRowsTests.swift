import Ledger
import Testing

@testable import Engine
@testable import Storage

@Suite struct MeasurementRowsTests {
    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `events without numbers are counted, with the time of the oldest event`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            for number in 1...3 { try await store.tell(number, of: "anna") }
            let waiting = try await store.read { try $0.measurements.unnumberedEvents(of: app) }
            let others = try await store.read { try $0.measurements.unnumberedEvents(of: "cats") }
            #expect(others == QueueBacklog(count: 0, oldest: nil))
            // SQLite numbers events when they are committed.
            #expect(
                waiting
                    == (store.driver.dialect == .sqlite
                        ? QueueBacklog(count: 0, oldest: nil)
                        : QueueBacklog(count: 3, oldest: now + .seconds(1))))
            try await store.numberEvents()
            let rest = try await store.read { try $0.measurements.unnumberedEvents(of: app) }
            #expect(rest == QueueBacklog(count: 0, oldest: nil))
        }
    }

    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `the oldest change that is caused by time alone is found when it is due`(driver: Driver)
        async throws
    {
        try await driver.withStore { store in
            try await store.transaction { tx in
                let document = document(1)
                _ = try tx.documents.insert(document)
                try DocumentRecorder(tx).project([fact("t")], from: document)
            }
            let due = try await store.driver.read { connection in
                Instant(
                    milliseconds: try connection.number(
                        "SELECT min(next_change_at_ms) FROM purchases"))
            }
            for (moment, since) in [(due - .milliseconds(1), nil), (due, due)]
                as [(Instant, Instant?)]
            {
                let found = try await store.read {
                    try $0.measurements.oldestDueTransition(of: app, at: moment)
                }
                #expect(found == since)
            }
        }
    }

    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `the oldest due change can be the end of a grant`(driver: Driver) async throws {
        try await driver.withStore { store in
            try await store.transaction { tx in
                _ = try IdentityUpdates(tx).customer("anna", in: app, at: now)
                let grant = Grant(
                    id: GrantID(rawValue: "a"), entitlement: "pro", from: now,
                    until: now + .days(1), reason: "")
                try GrantUpdates(tx).add(
                    StoredGrant(grant, to: "anna", in: .production), in: app)
            }
            let found = try await store.read { tx in
                try [0, 2].map {
                    try tx.measurements.oldestDueTransition(of: app, at: now + .days($0))
                }
            }
            #expect(found == [nil, now + .days(1)])
        }
    }

    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `changes not yet in the money sums are counted, with the time of the oldest change`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            for (name, seconds) in [("birds", 3), ("birds", 2), ("cats", 1)] {
                _ = try await store.driver.write { connection in
                    try connection.run(
                        "INSERT INTO money_changes (app, environment, purchase, known_at_ms, "
                            + "changes) VALUES ($1, 'production', '1', $2, $3)",
                        [
                            .text(name), .integer((now + .seconds(seconds)).milliseconds),
                            .bytes([0]),
                        ])
                }
            }
            let waiting = try await store.read { try $0.measurements.unsummedChanges(of: app) }
            #expect(waiting == QueueBacklog(count: 2, oldest: now + .seconds(2)))
            let none = try await store.read { try $0.measurements.unsummedChanges(of: "dogs") }
            #expect(none == QueueBacklog(count: 0, oldest: nil))
        }
    }

    @Test(arguments: [Driver.sqliteMemory, .postgres])
    func `a database has a size`(driver: Driver) async throws {
        try await driver.withStore { store in
            let bytes = try await store.read { try $0.measurements.databaseBytes() }
            #expect(bytes > 100_000)
        }
    }
}
