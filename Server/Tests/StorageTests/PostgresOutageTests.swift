import Ledger
import PostgresCluster
import Storage
import StoragePostgres
import Synchronization
import Testing

/// The server, or the connection to it, goes away at the worst moments.
@Suite struct PostgresOutageTests {
    private func withStore(_ body: (Store, String) async throws -> Void) async throws {
        let url = try await PostgresCluster.shared.preparedDatabase()
        let database = try PostgresDatabase(url: url)
        defer { database.close() }
        try await body(Store(database), url)
        try await PostgresCluster.shared.drop(url)
    }

    @Test func `a connection cut within a transaction costs nothing`() async throws {
        try await withStore { store, url in
            let runs = Atomic<Int>(0)
            let isNew = try await store.database.write { connection in
                let run = runs.add(1, ordering: .relaxed).newValue
                let added = try StoreTransaction(connection).add(document(1))
                if run == 1 {
                    let id = try connection.rows("SELECT pg_backend_pid()", [])[0].integer(0)
                    try Administration.run("SELECT pg_terminate_backend(\(id))", at: url)
                }
                try StoreTransaction(connection).add([fact("t1")], from: document(1))
                return added
            }
            #expect(isNew && runs.load(ordering: .relaxed) == 2)
            #expect(try await store.reading { try $0.documentCount() } == 1)
            #expect(try await store.timeline() == Timeline(of: purchase, [fact("t1")]))
        }
    }

    @Test func `a connection cut while nothing runs is made anew`() async throws {
        try await withStore { store, url in
            try await store.keep(1)
            try Administration.run(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                    + "WHERE datname = current_database() AND pid <> pg_backend_pid()", at: url)
            try await store.keep(2)
            #expect(try await store.reading { try $0.documentCount() } == 2)
        }
    }

    @Test func `a connection cut within the commit, before it stands`() async throws {
        try await withStore { store, url in
            // A sequence counts on when a transaction is undone: only the first commit is cut.
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
            #expect(try await store.reading { try $0.documentCount() } == 1)
            #expect(try await store.timeline() == Timeline(of: purchase, [fact("t1")]))
        }
    }

    @Test(.timeLimit(.minutes(45)))
    func `a connection cut after the commit stands, before it is told`() async throws {
        let server = try PostgresServer()
        try await server.start()
        let url = server.url(of: "postgres")
        let database = try PostgresDatabase(url: url)
        let store = Store(database)
        try await store.migrate(at: now.milliseconds)
        // A commit waits now for a standby that does not exist: it stands, and is not told.
        try Administration.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", at: url)
        try Administration.run("SELECT pg_reload_conf()", at: url)
        async let isNew = store.transaction { try $0.add(document(1)) }
        var cut = "0"
        while cut == "0" {
            try await Task.sleep(for: .milliseconds(20))
            cut =
                try Administration.run(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                        + "WHERE wait_event = 'SyncRep'", at: url) ?? "0"
        }
        // The second run finds the document there: a repeat, and once all the same.
        #expect(try await isNew == false)
        #expect(try await store.reading { try $0.documentCount() } == 1)
        database.close()
        try await server.remove()
    }

    @Test(.timeLimit(.minutes(45)))
    func `whatever was acknowledged survives a server that drops dead`() async throws {
        let server = try PostgresServer()
        try await server.start()
        let url = server.url(of: "postgres")
        let database = try PostgresDatabase(url: url)
        let store = Store(database)
        try await store.migrate(at: now.milliseconds)
        let overs = Tally()
        let numbers = Tally()
        let acknowledged = Tally.List()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    while overs.count == 0 {
                        let number = numbers.next()
                        let signedAt = now + .seconds(number)
                        let own = document(UInt8(number % 256), signedAt: signedAt)
                        do {
                            _ = try await store.transaction { try $0.add(own) }
                            acknowledged.add(number)
                        } catch {
                            // Not acknowledged: whoever sent it would send it again.
                            try await Task.sleep(for: .milliseconds(20))
                        }
                    }
                }
            }
            for _ in 0..<3 {
                try await Task.sleep(for: .milliseconds(200))
                let before = acknowledged.all.count
                try await server.stop(.immediate)
                try await server.start()
                while acknowledged.all.count < before + 20 {
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            _ = overs.next()
            try await group.waitForAll()
        }
        let kept = try await store.reading {
            try $0.documents(of: app, after: .start, limit: 100_000)
        }
        let found = kept.map { ($0.signedAt.milliseconds - now.milliseconds) / 1000 }
        #expect(Set(acknowledged.all.map(Int64.init)).isSubset(of: found))
        #expect(found.count == Set(found).count)
        database.close()
        try await server.remove()
    }
}
