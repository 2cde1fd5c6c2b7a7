import AppStoreFormats
import Eventually
import PostgresCluster
import StoragePostgres
import Testing

@testable import Storage

/// Servers of this version on a PostgreSQL that a program of the next version migrates and uses.
///
/// There is no program of the next version yet: a step that only adds, and rows in what it has
/// added, stand for it. `bin/upgrade` does the same with two builds.
@Suite(.serialized) struct UpgradeStories {
    private static let customers = 80

    /// A step of the next version.
    private static let next = Schema.Step(name: "plumage") { dialect in
        [
            "CREATE TABLE plumage (app \(dialect.text) NOT NULL, bird \(dialect.text) NOT NULL, "
                + "PRIMARY KEY (app, bird))",
            "ALTER TABLE purchases ADD COLUMN plumage \(dialect.text)",
            "ALTER TABLE documents ADD COLUMN plumage \(dialect.text)",
            "CREATE INDEX purchases_by_plumage ON purchases (app, plumage)",
        ]
    }
    /// The same step, in a program that is ended before the commit.
    private static let interrupted = Schema.Step(name: "interrupted") { dialect in
        next.statements(dialect) + ["ALTER TABLE nothing ADD COLUMN plumage BIGINT"]
    }

    /// The program of the next version.
    private struct NextProgram {
        let store: Database

        init(_ address: String) throws { store = Database(try PostgresDriver(url: address)) }

        func start() async throws {
            await #expect(throws: StorageFailure.self) {
                try await store.migrate(at: 1, by: Schema.steps + [interrupted])
            }
            try await store.migrate(at: 1, by: Schema.steps + [next])
        }

        /// Writes rows of the next version.
        func write(_ bird: String) async throws {
            _ = try await store.driver.write(.committed) { connection in
                try connection.run(
                    "INSERT INTO plumage (app, bird) VALUES ('birds', $1)", [.text(bird)])
            }
            _ = try await store.driver.write(.committed) { connection in
                try connection.run(
                    "UPDATE purchases SET plumage = $1 WHERE app = 'birds'", [.text(bird)])
            }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `older servers keep working and can restart while the next version migrates and writes`()
        async throws
    {
        try await Self.withPrograms { program, simulator, next in
            let ports = [try ServerProgram.freePort(), try ServerProgram.freePort()]
            var servers = [
                try await program.start(port: ports[0]), try await program.start(port: ports[1]),
            ]
            let wires = servers.map(\.wire)
            let notifications = try await Self.notifications(from: simulator)
            let acknowledged = Acknowledged()
            async let stream: Void = Stream.send(notifications, to: wires, acknowledged)
            try await acknowledged.wait(for: notifications.count / 5)
            try await next.start()
            try await next.write("wren")
            try await acknowledged.wait(for: notifications.count * 2 / 5)
            for (victim, bird) in [(0, "robin"), (1, "heron")] {
                servers[victim].kill()
                servers[victim] = try await program.start(port: ports[victim])
                try await next.write(bird)
            }
            await stream
            try await Self.expectAll(
                notifications, acknowledged, program, servers, simulator)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `after the next version has migrated, older servers can start and restart`()
        async throws
    {
        try await Self.withPrograms { program, simulator, next in
            let ports = [try ServerProgram.freePort(), try ServerProgram.freePort()]
            let first = try await program.start(port: ports[0])
            let notifications = try await Self.notifications(from: simulator)
            let acknowledged = Acknowledged()
            async let stream: Void = Stream.send(notifications, to: [first.wire], acknowledged)
            try await acknowledged.wait(for: notifications.count / 5)
            try await next.start()
            first.kill()
            try await next.write("wren")
            let second = try await program.start(port: ports[1])
            let again = try await program.start(port: ports[0])
            await stream
            try await Self.expectAll(
                notifications, acknowledged, program, [second, again], simulator)
        }
    }

    // MARK: -

    private static func withPrograms(
        _ story: @escaping @Sendable (ServerProgram, Wire, NextProgram) async throws -> Void
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await StoryDatabase.postgres.withAddress { address in
                let program = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: .postgres, address)
                let next = try NextProgram(address)
                defer { next.store.driver.close() }
                try await story(program, shop.simulator, next)
            }
        }
    }

    /// The payloads of all notifications about subscribers whose tokens are customer ids.
    private static func notifications(from simulator: Wire) async throws -> [String] {
        for number in 0..<customers {
            try await simulator.post("/_sim/devices", ["account": .string("\(number)")])
            try await simulator.post(
                "/_sim/devices/\(number)-1/purchases",
                ["product_id": "pro.monthly", "app_account_token": .string(token(number))])
        }
        try await simulator.post("/_sim/clock", ["advance": "P200D"])
        let sent = try await simulator.get("/_sim/notifications")
        return (sent["notifications"]?.array ?? []).compactMap { $0["signed_payload"]?.string }
    }

    private static func token(_ number: Int) -> String {
        let digits = "\(number)"
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count)
            + digits
    }

    /// Expects that nothing was refused, that everything is stored, and that both servers answer
    /// what the simulator's books say. Then kills the servers.
    private static func expectAll(
        _ notifications: [String], _ acknowledged: Acknowledged, _ program: ServerProgram,
        _ servers: [ServerProgram.Running], _ simulator: Wire
    ) async throws {
        #expect(acknowledged.refusals.isEmpty, "\(acknowledged.refusals)")
        #expect(acknowledged.all.count == notifications.count)
        for server in servers {
            var wire = server.wire
            wire.bearer = program.key
            for number in 0..<customers {
                let answer = try await wire.get("/v1/customers/\(token(number))")
                let truth = try await simulator.get("/_sim/truth/\(number)")
                let own = truth["purchases"]?.array?.first
                #expect(own?["state"]?.string == "paid")
                #expect(answer["entitlements"]?["pro"]?["state"] == own?["state"])
                #expect(answer["entitlements"]?["pro"]?["until"] == own?["until"], "\(number)")
            }
        }
        for server in servers { server.kill() }
        #expect(try await program.missing(acknowledged.all).isEmpty)
        try await program.expectClean()
        // The program of this version does not replace rows that the next version derived.
        let rebuilt = try await program.run(["rebuild"])
        #expect(rebuilt.status == 1)
        #expect(rebuilt.output.contains("newest program"), "\(rebuilt.output)")
        let check = try await program.run(["check", "--upgrade"])
        #expect(check.status == 0)
        #expect(check.output.contains("this program can use it"), "\(check.output)")
    }
}

extension Acknowledged {
    fileprivate func wait(for count: Int) async throws {
        try await eventually("\(count) acknowledgements") { all.count >= count }
    }
}
