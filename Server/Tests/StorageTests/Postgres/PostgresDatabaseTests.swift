import Dispatch
import Eventually
import Ledger
import PostgresCluster
import Storage
import Testing

@testable import Engine
@testable import StoragePostgres

@Suite struct PostgresDatabaseTests {
    /// Two servers on one database, each with its own connections.
    private func withServers(
        limits: PostgresDriver.Limits = PostgresDriver.Limits(),
        _ body: ([Database], String) async throws -> Void
    ) async throws {
        let url = try await PostgresCluster.shared.preparedDatabase()
        let databases = try (0..<2).map { _ in try PostgresDriver(url: url, limits: limits) }
        defer { for database in databases { database.close() } }
        try await body(databases.map { Database($0) }, url)
        try await PostgresCluster.shared.drop(url)
    }

    @Test func `concurrent facts about one purchase are all stored`() async throws {
        try await withServers { servers, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in UInt8(1)...60 {
                    let server = servers[Int(number) % 2]
                    group.addTask { try await server.keep(number) }
                }
                try await group.waitForAll()
            }
            let facts = (UInt8(1)...60).map { fact(TransactionID(rawValue: "t\($0)")) }
            #expect(try await servers[0].timeline() == Timeline(of: purchase, facts))
        }
    }

    @Test func `if one document is posted twice at once, one transaction reports it as new`()
        async throws
    {
        try await withServers { servers, _ in
            let news = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<20 {
                    let server = servers[number % 2]
                    group.addTask {
                        try await server.transaction { try $0.documents.insert(document(1)) }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(news.count { $0 } == 1 && news.count == 20)
        }
    }

    @Test func `transactions that create the same customer at the same time create one customer`()
        async throws
    {
        try await withServers { servers, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    let server = servers[number % 2]
                    group.addTask {
                        _ = try await server.transaction {
                            try IdentityUpdates($0).customer("anna", in: app, at: now)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let anna = try await servers[0].read { try $0.customers.find(known: "anna", in: app) }
            #expect(anna?.ids == ["anna"])
        }
    }

    @Test func `two transactions that wait for each other's lock both succeed`() async throws {
        try await withServers { servers, _ in
            try await servers[0].transaction { tx in
                for id: CustomerID in ["anna", "ben"] {
                    _ = try IdentityUpdates(tx).customer(id, in: app, at: now)
                }
            }
            let runs = Tally()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for order in [["anna", "ben"], ["ben", "anna"]] {
                    group.addTask {
                        try await servers[0].driver.write { connection in
                            _ = runs.next()
                            for id in order {
                                try connection.run(
                                    "UPDATE customers SET created_at_ms = created_at_ms + 1 "
                                        + "WHERE customer = $1", [.text(id)])
                                _ = try connection.rows("SELECT pg_sleep(0.05)::TEXT", [])
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let changes = try await servers[0].driver.read {
                try $0.rows("SELECT created_at_ms FROM customers ORDER BY customer", [])
            }
            let twice = Row([.integer(now.milliseconds + 2)])
            #expect(changes == [twice, twice])
            #expect(runs.count > 2)
        }
    }

    @Test func `writers beyond the limit of the queue are refused as busy, and the others succeed`()
        async throws
    {
        var limits = PostgresDriver.Limits()
        (limits.writers, limits.waiting) = (1, 1)
        try await withServers(limits: limits) { servers, _ in
            let gate = DispatchSemaphore(value: 0)
            let kinds = await withTaskGroup(of: StorageFailure.Kind?.self) { group in
                for _ in 0..<7 {
                    group.addTask {
                        do {
                            try await servers[0].driver.write { _ in
                                try gate.wait(for: "the writers that are turned away")
                            }
                            return nil
                        } catch {
                            return (error as? StorageFailure)?.kind ?? .other
                        }
                    }
                }
                var kinds: [StorageFailure.Kind?] = []
                for await kind in group {
                    kinds.append(kind)
                    // One writer runs and one waits. Both writers may continue now.
                    if kinds.count == 5 { for _ in 0..<2 { gate.signal() } }
                }
                return kinds
            }
            #expect(kinds == [.busy, .busy, .busy, .busy, .busy, nil, nil])
        }
    }

    @Test func `if a write waits too long for a lock, it fails as busy and blocks no other write`()
        async throws
    {
        var limits = PostgresDriver.Limits()
        limits.lockWait = .milliseconds(100)
        try await withServers(limits: limits) { servers, _ in
            let gate = DispatchSemaphore(value: 0)
            let (held, tell) = AsyncStream.makeStream(of: Void.self)
            async let holding: Void = servers[1].driver.write { connection in
                // Without this setting, PostgreSQL would end this idle transaction, and the other
                // write would succeed.
                try connection.run("SET LOCAL idle_in_transaction_session_timeout = 0", [])
                try connection.run("LOCK TABLE documents IN EXCLUSIVE MODE", [])
                tell.yield()
                try gate.wait(for: "the refused write")
            }
            defer { gate.signal() }
            try await held.first("the lock")
            let failure = await #expect(throws: StorageFailure.self) {
                try await servers[0].keep(1)
            }
            #expect(failure?.kind == .busy && failure?.sqlState == "55P03", "\(failure as Any)")
            gate.signal()
            try await holding
            try await servers[0].keep(1)
            #expect(try await servers[0].read { try $0.documents.count() } == 1)
        }
    }

    @Test
    func `the default wait for a lock exceeds the time for which a stalled server holds a lock`()
        async throws
    {
        try await withServers { servers, _ in
            let found = try await servers[0].driver.write {
                try $0.rows("SELECT current_setting('lock_timeout')", [])
            }
            #expect(found == [Row([.text("\(PostgresConnection.lockSecondsMax)s")])])
            #expect(
                PostgresConnection.lockSecondsMax > PostgresConnection.idleTransactionSecondsMax)
        }
    }

    @Test func `commits wait for the disk even if the database is configured otherwise`()
        async throws
    {
        try await withServers { servers, url in
            let name = try #require(url.split(separator: "?")[0].split(separator: "/").last)
            try Administration.run(
                "ALTER DATABASE \(name) SET synchronous_commit = off", at: url)
            let found = try await servers[0].driver.write {
                try $0.rows("SELECT current_setting('synchronous_commit')", [])
            }
            #expect(found == [Row([.text("on")])])
        }
    }

    @Test func `if an address names several hosts, a host that answers is used`() async throws {
        let url = try await PostgresCluster.shared.preparedDatabase()
        let several = url.replacing("host=", with: "host=/nowhere/at/all,")
        let database = try PostgresDriver(url: several)
        let store = Database(database)
        try await store.keep(1)
        #expect(try await store.read { try $0.documents.count() } == 1)
        database.close()
        try await PostgresCluster.shared.drop(url)
    }

    @Test func `a closed database fails with a clear message`() async throws {
        let database = try PostgresDriver(url: "postgres://nowhere.invalid/x")
        database.close()
        let failure = await #expect(throws: StorageFailure.self) {
            try await database.read { _ in }
        }
        #expect(failure?.message == "the database is closed")
    }
}

@Suite struct PostgresAddressTests {
    private func word(_ name: String, in address: PostgresAddress) -> String? {
        address.parameters.first { $0.name == name }?.value
    }

    @Test(arguments: ["postgres", "postgresql"])
    func `parameters in a database address stay, and missing ones get our defaults`(scheme: String)
        throws
    {
        let plain = try PostgresAddress("\(scheme)://anna@one,two/birds?sslmode=verify-full")
        #expect(word("host", in: plain) == "one,two")
        #expect(word("sslmode", in: plain) == "verify-full")
        #expect(word("target_session_attrs", in: plain) == "read-write")
        let own = try PostgresAddress("host=one target_session_attrs=any connect_timeout=77")
        #expect(word("target_session_attrs", in: own) == "any")
        #expect(word("connect_timeout", in: own) == "77")
    }

    @Test(arguments: [
        "postgres://anna:secret@[one/birds", "postgres://anna:secret@one/b?x=1", "secret",
        "host='secret",
    ])
    func `an unreadable database address is refused, and the message does not repeat it`(
        text: String
    ) {
        let failure = #expect(throws: StorageFailure.self) { try PostgresAddress(text) }
        #expect(failure?.message.contains("secret") == false, "\(String(describing: failure))")
    }
}

@Suite struct RetryTests {
    private func runs(of kind: StorageFailure.Kind, jitter: Double = 1) -> (Int, Double) {
        var (runs, seconds) = (1, 0.0)
        let failure = StorageFailure("", kind: kind)
        while case .again(let pause) = Retry.decision(
            after: failure, runs: runs, seconds: seconds, jitter: jitter)
        {
            runs += 1
            seconds += pause
        }
        return (runs, seconds)
    }

    @Test
    func `the kind of a database failure decides how often and how long a transaction is repeated`()
    {
        #expect(runs(of: .other) == (1, 0))
        #expect(runs(of: .busy) == (1, 0))
        #expect(runs(of: .constraint).0 == Retry.constraintRunsMax)
        #expect(runs(of: .conflict).0 == WriteMode.runsMax)
        #expect(runs(of: .conflict).1 < 2)
        #expect(runs(of: .unavailable).0 == Retry.outageRunsMax)
        #expect((4.0...10.0).contains(runs(of: .unavailable).1))
        #expect((4.0...10.0).contains(runs(of: .unavailable, jitter: 0).1))
    }

    @Test func `if runs of a transaction are slow, their time is limited instead of their number`()
    {
        let lost = StorageFailure("", kind: .unavailable)
        let soon = Retry.decision(after: lost, runs: 2, seconds: 9, jitter: 0)
        let late = Retry.decision(
            after: lost, runs: 2, seconds: Retry.outageSecondsMax, jitter: 0)
        #expect(soon != .giveUp && late == .giveUp)
    }

    @Test(
        arguments: [
            ("40001", .conflict), ("40P01", .conflict), ("23505", .constraint),
            ("23503", .constraint),
            ("57P01", .unavailable), ("25P03", .unavailable), ("25006", .unavailable),
            ("08006", .unavailable), ("53300", .unavailable), ("57014", .busy), ("53400", .busy),
            ("55P03", .busy),
            ("53100", .unavailable), ("58030", .unavailable), ("42601", .other),
        ] as [(String, StorageFailure.Kind)])
    func `each error code of PostgreSQL has a kind, which says whether to try again`(
        code: String, kind: StorageFailure.Kind
    ) {
        #expect(PostgresFailure.kind(of: code) == kind)
    }
}
