import Dispatch
import Eventually
import Ledger
import PostgresCluster
import Storage
import Testing

@testable import StoragePostgres

@Suite struct PostgresDatabaseTests {
    /// Two servers on one database: each with connections of its own.
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

    @Test func `what many add to one purchase at the same moment all counts`() async throws {
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

    @Test func `one document posted by many at once is new to one of them`() async throws {
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

    @Test func `two that make the same customer at once make one`() async throws {
        try await withServers { servers, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    let server = servers[number % 2]
                    group.addTask {
                        _ = try await server.transaction {
                            try $0.identity.customer("anna", in: app, at: now)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let anna = try await servers[0].read { try $0.customers.find(known: "anna", in: app) }
            #expect(anna?.ids == ["anna"])
        }
    }

    @Test func `of two that wait for each other, both get through`() async throws {
        try await withServers { servers, _ in
            try await servers[0].transaction { tx in
                for id: CustomerID in ["anna", "ben"] {
                    _ = try tx.identity.customer(id, in: app, at: now)
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

    @Test func `more than may wait are told that it is busy, the others are served`() async throws {
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
                    // One runs and one waits behind it; now let them.
                    if kinds.count == 5 { for _ in 0..<2 { gate.signal() } }
                }
                return kinds
            }
            #expect(kinds == [.busy, .busy, .busy, .busy, .busy, nil, nil])
        }
    }

    @Test func `a write that waits for a lock is told that it is busy, and holds nobody up`()
        async throws
    {
        var limits = PostgresDriver.Limits()
        limits.lockWait = .milliseconds(100)
        try await withServers(limits: limits) { servers, _ in
            let gate = DispatchSemaphore(value: 0)
            let (held, tell) = AsyncStream.makeStream(of: Void.self)
            async let holding: Void = servers[1].driver.write { connection in
                // Else PostgreSQL ends whoever does nothing, and the other one gets through.
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

    @Test func `the usual wait for a lock is longer than a paused server holds one`() async throws {
        try await withServers { servers, _ in
            let found = try await servers[0].driver.write {
                try $0.rows("SELECT current_setting('lock_timeout')", [])
            }
            #expect(found == [Row([.text("\(PostgresConnection.lockSecondsMax)s")])])
            #expect(
                PostgresConnection.lockSecondsMax > PostgresConnection.idleTransactionSecondsMax)
        }
    }

    @Test func `a database that does not wait for the disk is made to`() async throws {
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

    @Test func `of several hosts the one that answers is used`() async throws {
        let url = try await PostgresCluster.shared.preparedDatabase()
        let several = url.replacing("host=", with: "host=/nowhere/at/all,")
        let database = try PostgresDriver(url: several)
        let store = Database(database)
        try await store.keep(1)
        #expect(try await store.read { try $0.documents.count() } == 1)
        database.close()
        try await PostgresCluster.shared.drop(url)
    }

    @Test func `a closed database says so`() async throws {
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
    func `what an address says stays, and the rest is ours`(scheme: String) throws {
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
    func `an address that cannot be read is refused without being repeated`(text: String) {
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

    @Test func `each kind of failure has its number of runs, and its time`() {
        #expect(runs(of: .other) == (1, 0))
        #expect(runs(of: .busy) == (1, 0))
        #expect(runs(of: .constraint).0 == Retry.constraintRunsMax)
        #expect(runs(of: .conflict).0 == WriteMode.runsMax)
        #expect(runs(of: .conflict).1 < 2)
        #expect(runs(of: .unavailable).0 == Retry.outageRunsMax)
        #expect((4.0...10.0).contains(runs(of: .unavailable).1))
        #expect((4.0...10.0).contains(runs(of: .unavailable, jitter: 0).1))
    }

    @Test func `runs that each take long are ended by time, not by their number`() {
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
    func `a code of PostgreSQL's says what may be done`(code: String, kind: StorageFailure.Kind) {
        #expect(PostgresFailure.kind(of: code) == kind)
    }
}
