import PostgresCluster
import StoragePostgres
import Testing

@testable import Program

/// Addresses of a PostgreSQL server that accepts no writes, or of a pooler.
@Suite(.serialized) struct PostgresAddressStories {
    private static func withProgram(
        _ story: @escaping @Sendable (PostgresServer, ServerProgram) async throws -> Void
    ) async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let postgres = try await PostgresServer()
            try await postgres.start()
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .postgres,
                postgres.url(of: "postgres"))
            let notifications = try await Stream.notifications(from: shop.simulator)
            let server = try await program.start()
            let acknowledged = Acknowledged()
            await Stream.send(Array(notifications.prefix(50)), to: [server.wire], acknowledged)
            server.kill()
            try await story(postgres, program)
            try await postgres.remove()
        }
    }

    private static let readers = [
        ["report", "mrr"], ["export", "transactions"], ["keys", "list"], ["explain", "c1"],
        ["operators", "list"],
    ]

    /// The output without times, and without the marks and notes by which a report says that it
    /// may lack changes.
    private static func comparable(_ output: String) -> [String] {
        output.replacing(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/, with: "now").split(separator: "\n")
            .filter { !$0.hasPrefix("… incomplete") && !$0.hasSuffix("the database is a standby.") }
            .map { line in line.split(separator: " ").filter { $0 != "…" }.joined(separator: " ") }
    }

    @Test(.timeLimit(.minutes(10)))
    func `read-only commands work on a standby, and other commands are refused with the reason`()
        async throws
    {
        try await Self.withProgram { primary, program in
            let standby = try await PostgresServer(following: primary)
            try await standby.start()
            let onStandby = program.reaching(standby.url(of: "postgres"))
            for command in Self.readers {
                let wanted = try await program.run(command)
                let found = try await onStandby.run(command)
                #expect(wanted.status == 0, "\(command): \(wanted.output)")
                #expect(found.status == 0, "\(found.output)")
                #expect(
                    Self.comparable(found.output) == Self.comparable(wanted.output),
                    "\(found.output)")
                if command[0] == "report" {
                    #expect(found.output.contains("the database is a standby."))
                    #expect(!wanted.output.contains("the database is a standby."))
                }
            }
            let serve = ["serve", "--port", "0", "--clock-from", program.simulator.base]
            for command in [["keys", "create", "--app", "birds", "--kind", "app"], serve] {
                let refused = try await onStandby.run(command)
                #expect(refused.status == 1)
                #expect(refused.output.contains("accepts no writes"), "\(refused.output)")
                #expect(refused.output.contains("is a standby"), "\(refused.output)")
                #expect(refused.output.contains("Name the primary server"), "\(refused.output)")
            }
            try await standby.remove()
        }
    }

    @Test(
        .timeLimit(.minutes(10)),
        .enabled(if: PostgresPooler.isInstalled, "PgBouncer is not installed"))
    func `a pooler in transaction mode is reported, and a pooler in session mode works`()
        async throws
    {
        try await Self.withProgram { postgres, program in
            let pooler = try await PostgresPooler(before: postgres, mode: .transaction)
            let pooled = program.reaching(pooler.url(of: "postgres"))
            let serve = ["serve", "--port", "0", "--clock-from", program.simulator.base]
            for command in [["keys", "create", "--app", "birds", "--kind", "app"], serve] {
                let refused = try await pooled.run(command)
                #expect(refused.status == 1)
                #expect(
                    refused.output.contains("a connection pooler in transaction mode"),
                    "\(refused.output)")
                #expect(refused.output.contains("pool_mode = session"), "\(refused.output)")
            }
            try await pooler.stop()
            let second = try await PostgresPooler(before: postgres, mode: .session)
            let found = try await program.reaching(second.url(of: "postgres")).run(
                ["keys", "create", "--app", "birds", "--kind", "app"])
            #expect(found.status == 0, "\(found.output)")
            try await second.stop()
        }
    }

    @Test func `a command's own connections do not count as another program`() async throws {
        try await StoryDatabase.postgres.withAddress { address in
            let database = try PostgresDriver(url: address)
            defer { database.close() }
            // One connection writes, and the other one counts connections.
            _ = try await database.write { try $0.rows("SELECT 1", []) }
            try await DatabaseAddress.requireAlone(on: database, at: address)
        }
    }
}
