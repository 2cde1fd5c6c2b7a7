import Ledger
import PostgresCluster
import StorageSQLite
import Testing

@testable import Storage

/// From one engine to another, and back.
private struct Way: CustomTestStringConvertible, Sendable {
    var from: Driver
    var to: Driver

    var testDescription: String { "\(from) to \(to)" }

    static let all = [
        Way(from: .sqliteFile, to: .postgres), Way(from: .postgres, to: .sqliteFile),
    ]
}

@Suite struct CopyTests {
    /// More rows than one batch holds, ids that languages sort differently, and every kind of row.
    private func fill(_ store: Store) async throws {
        try await store.transaction { tx in
            for number in 0..<1_100 {
                var each = document(UInt8(number % 250), signedAt: now + .seconds(number))
                each.parts += Array(repeating: 7, count: number)
                _ = try tx.add(each)
                let own = PurchaseID(TransactionID(rawValue: "\(number % 300)"), in: .sandbox)
                try tx.add([fact(TransactionID(rawValue: "t\(number)"), about: own)], from: each)
            }
            for name in ["Z", "a", "ä", "Ö", "_", "é", "🙂", "aa", "A"] {
                let id = CustomerID(rawValue: name)
                _ = try tx.customer(id, in: app, at: now)
                try tx.addID(CustomerID(rawValue: name + "-2"), to: id, in: app, at: now)
                let own = PurchaseID(TransactionID(rawValue: name), in: .production)
                try tx.link(own, to: id, by: .support, in: app, at: now)
            }
            for name in ["Z", "a"] {
                let own = PurchaseID(TransactionID(rawValue: name), in: .production)
                _ = try tx.move(own, to: "ä", by: .support, reason: "x", in: app, at: now)
                try tx.share(own, with: "Ö", in: app, at: now)
                try tx.block(own, of: "ä", reason: "x", in: app, at: now)
                try tx.add(
                    KeptGrant(
                        Grant(
                            id: GrantID(rawValue: name), entitlement: "pro", from: now, until: nil,
                            reason: "x"), to: "ä", in: .production), in: app)
            }
            for rules in ["a", "b"] { try tx.beginReminders(by: rules, of: app) }
            let person = StoredCustomer(customer: "aa", ids: ["aa", "aa-2"])
            try tx.erase(
                person, names: ["aa": "erased_1", "aa-2": "erased_2"],
                hashes: [Array(repeating: 1, count: 32), Array(repeating: 2, count: 32)], in: app,
                at: now)
            try tx.addKey(
                hash: Array(repeating: 5, count: 32), app: app, kind: .app, name: "", at: now)
        }
    }

    @Test(arguments: Way.all)
    fileprivate func `a copy holds every row, in the other engine`(way: Way) async throws {
        try await way.from.withStore { source in
            try await fill(source)
            try await way.to.withStore { copy in
                let rows = try await copy.copy(from: source)
                let events = try await source.reading { try $0.lastSequence(of: app) }
                #expect(events > 300)
                // Of nine customers one is erased, with two ids and a link.
                let decisions = 4 + 2 + 2 + 2 + 2 + 1
                #expect(
                    rows == 1 + 1_100 + 8 + 16 + 8 + 1 + 1_100 + 300 + 1 + Int(events) + decisions)
                let documents = try await copy.reading {
                    try $0.documents(after: .start, limit: 2_000)
                }
                let originals = try await source.reading {
                    try $0.documents(after: .start, limit: 2_000)
                }
                #expect(documents == originals)
                let link = try await copy.reading {
                    try $0.link(of: PurchaseID("🙂", in: .production), in: app)
                }
                #expect(link?.customer == "🙂")
            }
        }
    }

    @Test func `a store that has rows is no place for a copy`() async throws {
        try await Driver.sqliteMemory.withStore { source in
            try await Driver.sqliteMemory.withStore { copy in
                _ = try await copy.transaction { try $0.customer("anna", in: app, at: now) }
                let failure = await #expect(throws: StorageFailure.self) {
                    try await copy.copy(from: source)
                }
                #expect(failure?.what.contains("customers") == true)
            }
        }
    }

    @Test func `what is written meanwhile is told, not lost silently`() async throws {
        try await Driver.sqliteMemory.withStore { source in
            try await Driver.sqliteMemory.withStore { copy in
                try await source.keep(1)
                // The first of the source's own rows to change behind the copy's back.
                try await copy.database.write { connection in
                    try connection.run(
                        "CREATE TRIGGER spoil AFTER INSERT ON facts BEGIN "
                            + "UPDATE documents SET received_at_ms = 5; END", [])
                    return
                }
                let failure = await #expect(throws: StorageFailure.self) {
                    try await copy.copy(from: source)
                }
                #expect(failure?.what.contains("documents differs after row 0") == true)
            }
        }
    }

    @Test(arguments: [Driver.sqliteMemory])
    func `a copy knows every table and every column`(driver: Driver) async throws {
        try await driver.withStore { store in
            let columns = try await store.database.read { connection in
                try connection.rows(
                    "SELECT tables.name, columns.name FROM sqlite_master AS tables "
                        + "JOIN pragma_table_info(tables.name) AS columns "
                        + "WHERE tables.type = 'table' AND tables.name <> 'schema_versions'", [])
            }
            let found = Set(try columns.map { "\(try $0.text(0)).\(try $0.text(1))" })
            let known = CopiedTable.all.flatMap { table in
                table.columns.map { "\(table.name).\($0)" }
            }
            #expect(found == Set(known))
        }
    }
}
