import AppStoreFormats
import Dice
import Eventually
import PostgresCluster
import Storage
import Synchronization
import Testing

/// Several servers on one PostgreSQL database, and a PostgreSQL server that is killed.
@Suite(.serialized) struct ClusterStories {
    private static let crashes = 20

    @Test(.timeLimit(.minutes(10)))
    func `if one of three servers is killed and one is paused, each notification is stored once`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await StoryDatabase.postgres.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: .postgres, address)
                let notifications = try await Stream.notifications(from: shop.simulator)
                let servers = [
                    try await program.start(), try await program.start(), try await program.start(),
                ]
                let acknowledged = Acknowledged()
                async let stream: Void = Stream.send(
                    notifications, to: servers.map(\.wire.impatient), acknowledged)
                try await acknowledged.awaitShare(0.1, of: notifications.count)
                servers[0].kill()
                servers[1].pause()
                // The third server does the work of all three.
                try await acknowledged.awaitShare(0.6, of: notifications.count)
                servers[1].resume()
                await stream
                for server in servers.dropFirst() { server.kill() }
                #expect(acknowledged.all.count == notifications.count)
                #expect(try await program.missing(acknowledged.all).isEmpty)
                #expect(try await program.documentCount() == notifications.count)
                try await program.expectClean()
            }
        }
    }

    /// A program on a PostgreSQL that the story may start and stop.
    private static func withOwnPostgres(
        _ story: @escaping @Sendable (Shop, PostgresServer, ServerProgram) async throws -> Void
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let postgres = try await PostgresServer()
            try await postgres.start()
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .postgres,
                postgres.url(of: "postgres"))
            try await story(shop, postgres, program)
            try await postgres.remove()
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `when three servers write at once, no request is refused, and conflicts are a minority`()
        async throws
    {
        try await Self.withOwnPostgres { _, _, program in
            let servers = [
                try await program.start(), try await program.start(), try await program.start(),
            ]
            let statuses = await withTaskGroup(of: (server: Int, found: [Int?]).self) { group in
                for (number, server) in servers.enumerated() {
                    for writer in 1...4 {
                        group.addTask {
                            let customer = "c\(number)-\(writer)"
                            return (number, await Self.give(customer, program.key, at: server))
                        }
                    }
                }
                return await group.reduce(into: [[], [], []]) { $0[$1.server] += $1.found }
            }
            // No reader of the log is running.
            try await eventually("each event has its number") {
                try await !program.hasPendingEvents()
            }
            for server in servers { server.kill() }
            // The machine decides how many notifications each server has written: the server with
            // the longest transactions has to repeat them most often.
            #expect(Set(statuses.joined()) == [200], "\(statuses.map(\.count))")
            let (commits, rollbacks) = try await Self.transactions(of: program)
            // PostgreSQL detects conflicts by pages. The tables are nearly empty, so all writers
            // touch the same pages. docs/benchmarks.md says how rare conflicts are later.
            #expect(2 * rollbacks < commits, "\(rollbacks) of \(commits) conflicted")
            try await program.expectClean()
        }
    }

    /// How many transactions were committed and rolled back. The servers' sessions report these
    /// numbers when they end.
    private static func transactions(
        of program: ServerProgram
    ) async throws -> (commits: Int64, rollbacks: Int64) {
        let database = try program.engine.open(program.database)
        try await eventually("the servers' connections have ended") {
            try await database.read { connection in
                try connection.rows(
                    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() "
                        + "AND backend_type = 'client backend' AND pid <> pg_backend_pid()", []
                ).isEmpty
            }
        }
        let counts = try await database.read { connection in
            try connection.rows(
                "SELECT xact_commit, xact_rollback FROM pg_stat_database "
                    + "WHERE datname = current_database()", []
            ) { row throws(StorageFailure) in (try row.integer(), try row.integer()) }[0]
        }
        database.close()
        return counts
    }

    private static let writingSeconds = 6
    private static let eventsBeforeKill: Int64 = 50

    /// Gives a customer grants repeatedly. Returns the response to each request.
    private static func give(
        _ customer: String, _ key: String, at server: ServerProgram.Running
    ) async -> [Int?] {
        var wire = server.wire
        wire.bearer = key
        let order: JSON = ["entitlement": "pro", "reason": "story"]
        let start = ContinuousClock.now
        var statuses: [Int?] = []
        while ContinuousClock.now - start < .seconds(writingSeconds) {
            let answer = try? await wire.send(
                "POST", "/v1/customers/\(customer)/grants", body: order.bytes)
            statuses.append(answer?.status)
            if answer == nil { break }
        }
        return statuses
    }

    @Test(.timeLimit(.minutes(10)))
    func `a reader sees each event once while three servers write and one is killed`()
        async throws
    {
        try await Self.withOwnPostgres { _, _, program in
            let servers = [
                try await program.start(), try await program.start(), try await program.start(),
            ]
            let writing = Writing()
            async let read = Self.read(servers.dropFirst().map(\.wire), program.key, writing)
            async let killing: Void = {
                try await eventually("\(Self.eventsBeforeKill) events") {
                    try await program.eventCount() >= Self.eventsBeforeKill
                }
                servers[0].kill()
            }()
            let given = await withTaskGroup(of: (customer: String, count: Int).self) { group in
                for (number, server) in servers.enumerated() {
                    for writer in 1...4 {
                        group.addTask {
                            let customer = "c\(number)-\(writer)"
                            let found = await Self.give(customer, program.key, at: server)
                            return (customer, found.count { $0 == 200 })
                        }
                    }
                }
                return await group.reduce(into: [String: Int]()) { $0[$1.customer] = $1.count }
            }
            try await killing
            writing.end()
            let events = try await read
            for server in servers.dropFirst() { server.kill() }
            #expect(events.map(\.sequence) == events.indices.map { Int64($0 + 1) })
            #expect(Int64(events.count) == (try await program.eventCount()))
            let told = Dictionary(grouping: events, by: \.customer)
            for (customer, count) in given {
                let own = told[customer] ?? []
                // The log also contains events that a killed server committed but did not
                // acknowledge.
                #expect(own.count >= count, "\(customer)")
                #expect(
                    own.map(\.own) == own.indices.map { Int64($0 + 1) },
                    "\(customer)")
            }
            try await program.expectClean()
        }
    }

    /// Whether the writers of a story are still working.
    private final class Writing: Sendable {
        private let isOver = Atomic(false)

        var hasEnded: Bool { isOver.load(ordering: .acquiring) }
        func end() { isOver.store(true, ordering: .releasing) }
    }

    private struct ReadEvent: Sendable {
        var sequence: Int64?
        var customer: String
        var own: Int64?
    }

    /// Reads from cursor to cursor, from the servers in turn, until it has read all events.
    private static func read(
        _ servers: [Wire], _ key: String, _ writing: Writing
    ) async throws -> [ReadEvent] {
        var events: [ReadEvent] = []
        var cursor = ""
        for round in 0... {
            var wire = servers[round % servers.count]
            wire.bearer = key
            // The check comes before the read: the read must find every event acknowledged by then.
            let isLast = writing.hasEnded
            let page = try await wire.get("/v1/events?after=\(cursor)&limit=50")
            cursor = try page.text("next_cursor")
            let items = page["items"]?.array ?? []
            events += items.map { item in
                ReadEvent(
                    sequence: item["sequence"]?.integer,
                    customer: item["customer_id"]?.string ?? "",
                    own: item["customer_sequence"]?.integer)
            }
            if items.isEmpty, isLast { break }
        }
        return events
    }

    @Test(.timeLimit(.minutes(10)))
    func `every acknowledged notification is stored after twenty crashes of PostgreSQL`()
        async throws
    {
        try await Self.withOwnPostgres { shop, postgres, program in
            let notifications = try await Stream.notifications(from: shop.simulator)
            let server = try await program.start()
            let acknowledged = Acknowledged()
            var dice = Dice(announcedBy: "ClusterStories")
            async let stream: Void = Stream.send(notifications, to: [server.wire], acknowledged)
            for _ in 1...Self.crashes {
                let pause = Int.random(in: 20...200, using: &dice)
                try await Task.sleep(for: .milliseconds(pause))
                try await postgres.stop(.immediate)
                try await postgres.start()
            }
            await stream
            server.kill()
            #expect(acknowledged.all.count == notifications.count)
            #expect(try await program.missing(acknowledged.all).isEmpty)
            try await program.expectClean()
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `while PostgreSQL is down, /ready answers 503, and the server stops on request`()
        async throws
    {
        try await Self.withOwnPostgres { _, postgres, program in
            let server = try await program.start()
            try await postgres.stop(.immediate)
            // If they were sent one after the other, the requests would take minutes.
            async let statuses = withTaskGroup { group in
                for _ in 0..<200 {
                    group.addTask { try? await server.wire.send("GET", "/ready").status }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(try await server.wire.send("GET", "/ready").status == 503)
            #expect(try await server.stop(within: 60) == 0)
            #expect(await statuses == Array(repeating: 503, count: 200))
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `after a PostgreSQL standby takes over, every acknowledged notification is stored`()
        async throws
    {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let first = try await PostgresServer()
            try await first.start()
            let second = try await PostgresServer(following: first)
            try await second.start()
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .postgres,
                PostgresServer.url(ofAnyOf: [first, second]))
            let notifications = try await Stream.notifications(from: shop.simulator)
            let server = try await program.start()
            let acknowledged = Acknowledged()
            async let stream: Void = Stream.send(notifications, to: [server.wire], acknowledged)
            try await eventually("the first acknowledgement") { !acknowledged.all.isEmpty }
            let before = acknowledged.all.count
            try await first.stop(.immediate)
            try await second.promote()
            await stream
            server.kill()
            #expect(
                before > 0 && before < notifications.count, "\(before) before the standby took over"
            )
            #expect(acknowledged.all.count == notifications.count)
            #expect(try await program.missing(acknowledged.all).isEmpty)
            try await program.expectClean()
            try await second.remove()
            try await first.remove()
        }
    }
}

extension Acknowledged {
    /// Waits until this share of all notifications is acknowledged.
    fileprivate func awaitShare(_ share: Double, of count: Int) async throws {
        try await eventually("acknowledgements of \(share) of \(count)") {
            Double(all.count) >= share * Double(count)
        }
    }
}
