import AppStoreFormats
import Eventually
import Foundation
import PostgresCluster
import Storage
import StoragePostgres
import Testing

@testable import Program

/// Reports are read from a standby, and nothing else is.
@Suite(.serialized) struct ReportDatabaseStories {
    /// Runs a function of PostgreSQL on a standby.
    private static func call(_ function: String, at address: String) async throws {
        let standby = try PostgresDriver(url: address, onlyReads: true)
        defer { standby.close() }
        _ = try await standby.read { try $0.rows("SELECT \(function)()::text", []) }
    }

    private static func metric(_ name: String, of wire: Wire) async throws -> Double? {
        let text = String(decoding: try await wire.send("GET", "/metrics").body, as: UTF8.self)
        return text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
            .flatMap { Double($0.dropFirst(name.count + 1)) }
    }

    private static func post(_ bodies: [[UInt8]], to wire: Wire) async throws {
        for body in bodies {
            let answer = try await wire.send(
                "POST", "/apple/notifications", body: body,
                headers: ["Content-Type": "application/json"])
            #expect(answer.status == 200)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `reports follow the standby, and access follows the primary`() async throws {
        let primary = try await PostgresServer()
        try await primary.start()
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            // The first start makes the tables, which the standby then contains.
            let address = primary.url(of: "postgres")
            let standby = try await PostgresServer(following: primary)
            try await standby.start()
            let copy = standby.url(of: "postgres")
            let program = try await ServerProgram(
                folder: folder, simulator: shop.simulator, on: .postgres, address,
                more: "settings:\n  report_database: \"\(copy)\"\n")
            let server = try await program.start()
            defer { server.kill() }
            var wire = server.wire
            wire.bearer = program.key
            let answer: @Sendable () async throws -> JSON = { [wire] in
                try await wire.get("/v1/reports/payments")
            }
            let report: @Sendable () async throws -> String = {
                try await answer()["rows"]?.text ?? "no rows"
            }

            let empty = try await report()
            _ = try await shop.buyMonth("anna")
            try await Self.post(try await shop.notifications(), to: wire)
            try await eventually("a report with the payment", within: 60) {
                try await report() != empty
            }
            let first = try await report()

            try await Self.call("pg_wal_replay_pause", at: copy)
            _ = try await shop.buyMonth("ben")
            try await Self.post(try await shop.notifications(), to: wire)
            let events = try await wire.get("/v1/events?limit=100")["items"]?.array ?? []
            #expect(events.count >= 2, "the primary has the events of both")
            #expect(try await report() == first, "the standby does not have the second payment")
            let stale = try await answer().text("complete_until")
            let known = try events.map { try $0.text("known_at") }
            #expect(known.contains(stale), "the report is complete until the standby's last event")
            #expect(known.max() != stale)
            try await eventually("the lag of the standby", within: 60) {
                try await Self.metric("perennial_report_database_lag_seconds", of: wire) != nil
            }

            try await Self.call("pg_wal_replay_resume", at: copy)
            try await eventually("a report with both payments", within: 60) {
                try await report() != first
            }

            try await eventually("a report that is complete", within: 60) {
                try await answer().text("complete_until") > (known.max() ?? "")
            }

            try await standby.stop(.immediate)
            let refused = try await wire.send("GET", "/v1/reports/payments")
            #expect(refused.status == 503, "\(refused.status)")
            #expect(try await wire.send("GET", "/v1/customers/anna").status == 200)
            try await standby.remove()
        }
        try await primary.remove()
    }

    @Test(.timeLimit(.minutes(10)))
    func `a server refuses to start if report_database contains another database`() async throws {
        try await withShop(on: .sqlite, notifies: false) { shop in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            try await StoryDatabase.postgres.withAddress { other in
                let stranger = try await ServerProgram(
                    folder: folder, simulator: shop.simulator, on: .postgres, other)
                try await stranger.start().kill()
                try await StoryDatabase.postgres.withAddress { address in
                    let program = try await ServerProgram(
                        folder: folder, simulator: shop.simulator, on: .postgres, address,
                        more: "settings:\n  report_database: \"\(other)\"\n")
                    let refused = try await program.run(
                        ["serve", "--port", "0", "--clock-from", shop.simulator.base])
                    #expect(refused.status == 1)
                    #expect(refused.output.contains("is not a copy"), "\(refused.output)")
                    #expect(refused.output.contains("Name a standby"), "\(refused.output)")
                }
            }
        }
    }

    @Test func `report_database is refused beside a SQLite file`() throws {
        var settings = try ProcessSettings(
            flags: ["database": "a.sqlite"],
            environment: ["PERENNIAL_REPORT_DATABASE": "postgres://db-2/perennial"], file: [:])
        let failure = #expect(throws: StartFailure.self) { try ReportDatabase.open(settings) }
        #expect(failure?.message.contains("a.sqlite is a file") == true)
        settings.reportDatabase = nil
        #expect(try ReportDatabase.open(settings) == nil)
    }
}
