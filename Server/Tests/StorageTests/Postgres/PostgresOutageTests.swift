import Eventually
import Foundation
import Ledger
import PostgresCluster
import Storage
import Synchronization
import Testing

@testable import Engine
@testable import StoragePostgres

/// The server or the connection to it fails at the worst moments.
@Suite struct PostgresOutageTests {
    private func withStore(_ body: (Database, String) async throws -> Void) async throws {
        let url = try await PostgresCluster.shared.preparedDatabase()
        let database = try PostgresDriver(url: url)
        defer { database.close() }
        try await body(Database(database), url)
        try await PostgresCluster.shared.drop(url)
    }

    @Test
    func `if the connection of a transaction is cut, the transaction runs again and succeeds`()
        async throws
    {
        try await withStore { store, url in
            let runs = Atomic<Int>(0)
            let isNew = try await store.driver.write { connection in
                let run = runs.add(1, ordering: .relaxed).newValue
                let added = try DatabaseSession(connection).documents.insert(document(1))
                if run == 1 {
                    let id = try connection.number("SELECT pg_backend_pid()")
                    try Administration.run("SELECT pg_terminate_backend(\(id))", at: url)
                }
                try DocumentRecorder(DatabaseSession(connection)).project(
                    [fact("t1")], from: document(1))
                return added
            }
            #expect(isNew && runs.load(ordering: .relaxed) == 2)
            #expect(try await store.read { try $0.documents.count() } == 1)
            #expect(try await store.timeline() == Timeline(of: purchase, [fact("t1")]))
        }
    }

    @Test func `an idle connection that was cut is replaced`() async throws {
        try await withStore { store, url in
            try await store.keep(1)
            try Administration.run(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                    + "WHERE datname = current_database() AND pid <> pg_backend_pid()", at: url)
            try await store.keep(2)
            #expect(try await store.read { try $0.documents.count() } == 2)
        }
    }

    @Test
    func `if the connection is cut before the commit is durable, the transaction is stored once`()
        async throws
    {
        try await withStore { store, url in
            // A sequence keeps counting if its transaction is undone, so only the first commit is
            // cut.
            try Administration.run(
                """
                CREATE SEQUENCE commits;
                CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF nextval('commits') = 1 THEN
                        PERFORM pg_terminate_backend(pg_backend_pid());
                    END IF;
                    RETURN NULL;
                END $$;
                CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON facts
                    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cut();
                """, at: url)
            try await store.keep(1)
            #expect(try Administration.run("SELECT last_value FROM commits", at: url) == "2")
            #expect(try await store.read { try $0.documents.count() } == 1)
            #expect(try await store.timeline() == Timeline(of: purchase, [fact("t1")]))
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `if a commit is durable but not acknowledged, its transaction is stored once`()
        async throws
    {
        let server = try await PostgresServer()
        try await server.start()
        let url = server.url(of: "postgres")
        let database = try PostgresDriver(url: url)
        let store = Database(database)
        try await store.migrate(at: now.milliseconds)
        // A commit now waits for a standby that does not exist: it is durable but not acknowledged.
        try Administration.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", at: url)
        // A reload of the setting would apply to commits only some time later, so the server
        // restarts.
        try await server.stop(.immediate)
        try await server.start()
        let isDone = Atomic<Bool>(false)
        async let isNew = {
            defer { isDone.store(true, ordering: .relaxed) }
            return try await store.transaction { try $0.documents.insert(document(1)) }
        }()
        // The cut is repeated until the insert is done, because PostgreSQL's own processes may also
        // wait for the standby.
        try await eventually("the insert is done") {
            try Administration.run(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                    + "WHERE wait_event = 'SyncRep'", at: url)
            return isDone.load(ordering: .relaxed)
        }
        // The second run finds the document, so it is a repeat, stored once.
        #expect(try await isNew == false)
        #expect(try await store.read { try $0.documents.count() } == 1)
        database.close()
        try await server.remove()
    }

    /// PostgreSQL then ends all its other processes as well, and restarts.
    @Test(.timeLimit(.minutes(10)), arguments: [false, true])
    func `statements sent together run again if the connection's process was killed`(
        isGoneBefore: Bool
    ) async throws {
        let server = try await PostgresServer()
        try await server.start()
        let database = try PostgresDriver(url: server.url(of: "postgres"))
        let store = Database(database)
        try await store.migrate(at: now.milliseconds)
        let runs = Tally()
        let answers = try await database.write { connection in
            let process = try connection.number("SELECT pg_backend_pid()")
            if runs.next() == 1 {
                kill(Int32(process), SIGKILL)
                if isGoneBefore {
                    try blockUntil("the end of the connection's process") {
                        kill(Int32(process), 0) != 0
                    }
                }
            }
            return try connection.rowsEach("SELECT $1::BIGINT", (1...50).map { [.integer($0)] })
        }
        #expect(answers.count == 50 && runs.count == 2)
        database.close()
        try await server.remove()
    }

    @Test(.timeLimit(.minutes(10)))
    func `while the database does not answer, readers fail together, not one after the other`()
        async throws
    {
        let server = try await PostgresServer()
        try await server.start()
        var limits = PostgresDriver.Limits()
        limits.readers = 1
        let database = try PostgresDriver(url: server.url(of: "postgres"), limits: limits)
        _ = try await database.read { try $0.rows("SELECT 1", []) }
        try await server.stop(.immediate)
        let start = ContinuousClock.now
        let kinds = await withTaskGroup(of: StorageFailure.Kind?.self) { group in
            for _ in 0..<30 {
                group.addTask {
                    do {
                        _ = try await database.read { try $0.rows("SELECT 1", []) }
                        return nil
                    } catch { return (error as? StorageFailure)?.kind }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        // If the readers waited one after the other, they would take more than two hundred seconds.
        #expect(ContinuousClock.now - start < .seconds(6 * Retry.outageSecondsMax))
        #expect(kinds.count == 30 && kinds.allSatisfy { $0 == .unavailable })
        try await server.start()
        try await eventually("the database answers again") {
            let answer = try? await database.read { try $0.rows("SELECT 1", []) }
            return answer?.count == 1
        }
        database.close()
        try await server.remove()
    }

    /// A stopped process sends nothing, but its machine still acknowledges what it receives.
    @Test(.timeLimit(.minutes(10)))
    func `closing the database does not wait for a process that is stopped`() async throws {
        let server = try await PostgresServer()
        try await server.start()
        var limits = PostgresDriver.Limits()
        limits.readers = 1
        let database = try PostgresDriver(url: server.url(of: "postgres"), limits: limits)
        let stopped = Tally.List<Int32>()
        async let answer: Void = {
            let failure = await #expect(throws: StorageFailure.self) {
                _ = try await database.read { connection in
                    let id = try connection.number("SELECT pg_backend_pid()")
                    kill(Int32(id), SIGSTOP)
                    stopped.add(Int32(id))
                    return try connection.rows("SELECT 1", [])
                }
            }
            #expect(failure?.kind == .unavailable)
        }()
        try await eventually("a connection was stopped") { !stopped.all.isEmpty }
        await close(database)
        await answer
        for process in stopped.all { kill(process, SIGCONT) }
        try await server.remove()
    }

    private func close(_ database: PostgresDriver) async {
        await withCheckedContinuation { ended in
            Thread.detachNewThread {
                database.close()
                ended.resume()
            }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `closing the database waits for the end of a statement that has no time limit`()
        async throws
    {
        let url = try await PostgresCluster.shared.emptyDatabase()
        let database = try PostgresDriver(url: url)
        let begun = Atomic<Bool>(false)
        async let answer = database.write { connection in
            try connection.run(Dialect.withoutStatementTimeout, [])
            begun.store(true, ordering: .relaxed)
            return try connection.rows(
                "SELECT pg_sleep(\(ConnectionWatchdog.lastCallSecondsMax + 2))::TEXT", [])
        }
        try await eventually("the query has begun") { begun.load(ordering: .relaxed) }
        await close(database)
        #expect(try await answer.count == 1)
        try await PostgresCluster.shared.drop(url)
    }

    @Test(.timeLimit(.minutes(10)))
    func `if a second connection is refused, readers use the first one`() async throws {
        let server = try await PostgresServer()
        try await server.start()
        let url = server.url(of: "postgres")
        try Administration.run("CREATE ROLE few LOGIN CONNECTION LIMIT 1", at: url)
        var limits = PostgresDriver.Limits()
        limits.readers = 2
        let few = url.replacing(/user=\w+/, with: "user=few")
        let database = try PostgresDriver(url: few, limits: limits)
        let (answers, failures) = (Tally(), Tally())
        let end = ContinuousClock.now + .seconds(Retry.outageSecondsMax + 4)
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    while ContinuousClock.now < end {
                        let rows = try? await database.read { try $0.rows("SELECT 1", []) }
                        _ = rows == nil ? failures.next() : answers.next()
                    }
                }
            }
        }
        // A reader fails after some seconds if it tries the refused connection, so few readers try
        // it.
        #expect(answers.count > 10 * failures.count, "\(answers.count) \(failures.count)")
        database.close()
        try await server.remove()
    }

    @Test(.timeLimit(.minutes(10)))
    func `every acknowledged commit survives crashes of the server`() async throws {
        let server = try await PostgresServer()
        try await server.start()
        let url = server.url(of: "postgres")
        let database = try PostgresDriver(url: url)
        let store = Database(database)
        try await store.migrate(at: now.milliseconds)
        let overs = Tally()
        let numbers = Tally()
        let acknowledged = Tally.List<Int>()
        let (stops, starts) = (Tally(), Tally())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    while overs.count == 0 {
                        let number = numbers.next()
                        let signedAt = now + .seconds(number)
                        let own = document(UInt8(number % 256), signedAt: signedAt)
                        do {
                            _ = try await store.transaction { try $0.documents.insert(own) }
                            acknowledged.add(number)
                        } catch {
                            // This write was not acknowledged, so its sender would repeat it.
                            try await eventually("the server runs again") {
                                starts.count == stops.count
                            }
                        }
                    }
                }
            }
            for _ in 0..<3 {
                try await acknowledged.awaitMore(20)
                _ = stops.next()
                try await server.stop(.immediate)
                try await server.start()
                _ = starts.next()
                try await acknowledged.awaitMore(20)
            }
            _ = overs.next()
            try await group.waitForAll()
        }
        let kept = try await store.read {
            try $0.documents.all(of: app, after: .start, limit: 100_000)
        }
        let found = kept.map { ($0.signedAt.milliseconds - now.milliseconds) / 1000 }
        #expect(Set(acknowledged.all.map(Int64.init)).isSubset(of: found))
        #expect(found.count == Set(found).count)
        database.close()
        try await server.remove()
    }
}

extension Tally.List {
    /// Waits for the given number of further items.
    fileprivate func awaitMore(_ count: Int) async throws {
        let before = all.count
        try await eventually("\(count) more commits") { all.count >= before + count }
    }
}
