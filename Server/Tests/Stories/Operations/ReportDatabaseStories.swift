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

    /// A server whose reports are read from a standby.
    private struct Pair: Sendable {
        let shop: Shop
        let wire: Wire
        let standby: PostgresServer

        /// The address of the database on the standby.
        var copy: String { standby.url(of: "postgres") }

        func report() async throws -> JSON { try await wire.get("/v1/reports/payments") }

        func rows() async throws -> String { try await report()["rows"]?.text ?? "no rows" }

        func completeUntil() async throws -> String {
            try await report()["complete_until"]?.string ?? "never"
        }

        /// The time of the simulator, which the server follows.
        func now() async throws -> String {
            try await shop.simulator.get("/_sim/clock").text("now")
        }

        /// Lets a customer buy, and posts the notifications.
        func buy(_ customer: String) async throws {
            _ = try await shop.buyMonth(customer)
            try await ReportDatabaseStories.post(try await shop.notifications(), to: wire)
        }
    }

    private static func withPair(
        _ body: @escaping @Sendable (Pair) async throws -> Void
    ) async throws {
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
            try await body(Pair(shop: shop, wire: wire, standby: standby))
            try await standby.remove()
        }
        try await primary.remove()
    }

    @Test(.timeLimit(.minutes(10)))
    func `reports follow the standby, and access follows the primary`() async throws {
        try await Self.withPair { pair in
            let empty = try await pair.rows()
            try await pair.buy("anna")
            try await eventually("a report with the payment", within: 60) {
                try await pair.rows() != empty
            }
            let first = try await pair.rows()

            try await Self.call("pg_wal_replay_pause", at: pair.copy)
            try await pair.buy("ben")
            let events = try await pair.wire.get("/v1/events?limit=100")["items"]?.array ?? []
            #expect(events.count >= 2, "the primary has the events of both")
            #expect(
                try await pair.rows() == first, "the standby does not have the second payment")
            try await eventually("the lag of the standby", within: 60) {
                try await Self.metric("perennial_report_database_lag_seconds", of: pair.wire) != nil
            }

            try await Self.call("pg_wal_replay_resume", at: pair.copy)
            try await eventually("a report with both payments", within: 60) {
                try await pair.rows() != first
            }

            try await pair.standby.stop(.immediate)
            let refused = try await pair.wire.send("GET", "/v1/reports/payments")
            #expect(refused.status == 503, "\(refused.status)")
            #expect(try await pair.wire.send("GET", "/v1/customers/anna").status == 200)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a report says until when the standby has all changes`() async throws {
        try await Self.withPair { pair in
            let hour: JSON = ["advance": "PT1H"]
            try await pair.buy("anna")
            let bought = try await pair.now()
            // The clock stands still, so the report is complete until the time of the purchase.
            try await eventually("a report with the payment", within: 60) {
                try await pair.completeUntil() == bought
            }
            _ = try await pair.shop.simulator.post("/_sim/clock", hour)
            let later = try await pair.now()
            try await eventually("a report of now", within: 60) {
                try await pair.completeUntil() == later
            }

            try await Self.call("pg_wal_replay_pause", at: pair.copy)
            try await pair.buy("ben")
            #expect(try await pair.completeUntil() == bought)
            let rows = try await pair.report()["rows"]?.array ?? []
            #expect(rows.last?["is_incomplete"] == true)

            try await Self.call("pg_wal_replay_resume", at: pair.copy)
            try await eventually("a report with both payments", within: 60) {
                try await pair.completeUntil() == later
            }
        }
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
