import AppStoreFormats
import Engine
import Ledger
import Storage
import Testing

@testable import HTTPServer

/// The page `/rehearsal`, and the row of Health that leads to it.
@Suite struct RehearsalPageTests {
    private static func claims(_ end: Instant, unexplained: Int64) -> JSON {
        [
            "aud": "birds/rehearsal", "environment": "production",
            "revenuecat_project": "proj1", "from": .string("\(end)"), "to": .string("\(end)"),
            "customers": 10_000, "entitlements": 4_120, "differences": .integer(unexplained + 1),
            "unexplained": .integer(unexplained), "complete": true,
            "causes": ["unexplained": .integer(unexplained), "missed_there": 1],
            "loses": 0, "gains": 1,
        ]
    }

    private static func difference(_ cause: String, _ customer: String) -> StoredDifference {
        StoredDifference(
            cause: cause, customer: CustomerID(rawValue: customer), entitlement: "pro",
            aspect: "access", effect: "gains", ours: "open", theirs: "closed",
            evidenceHere: "open here for \(customer)-2", evidenceThere: "status=expired")
    }

    private static func record(
        _ server: DashboardServer, at end: Instant, unexplained: Int64,
        _ differences: [StoredDifference]
    ) async throws {
        _ = try await server.get("/.well-known/jwks.json")
        let signed = try await server.engine.rehearsals.sign(
            claims(end, unexplained: unexplained), of: "birds")
        try await server.engine.rehearsals.record(
            try #require(signed), begunAt: end, endedAt: end, differences, of: "birds",
            in: .production)
    }

    @Test func `the page shows the last rehearsal's differences by cause, and earlier rehearsals`()
        async throws
    {
        try await DashboardServer.run { server in
            let none = try await server.get("/rehearsal")
            #expect(none.status == 200 && none.text.contains("No rehearsal yet"))
            #expect(try await !server.get("/checks").text.contains("Rehearsal"))

            let first = Instant(milliseconds: 1_700_000_000_000)
            try await Self.record(
                server, at: first, unexplained: 7, [Self.difference("unexplained", "zoe")])
            try await Self.record(
                server, at: first + .seconds(86_400), unexplained: 0,
                [Self.difference("missed_there", "anna"), Self.difference("clock", "ben")])
            let page = try await server.get("/rehearsal").text
            #expect(page.contains("0 unexplained of 10,000 customers"))
            #expect(page.contains("7 unexplained of 10,000 customers"))
            #expect(page.contains("/customers/anna") && page.contains("/customers/ben"))
            #expect(!page.contains("/customers/zoe"), "a difference of the rehearsal before")
            let one = try await server.get("/rehearsal?cause=clock").text
            #expect(one.contains("/customers/ben") && !one.contains("/customers/anna"))
            let health = try await server.get("/checks").text
            #expect(health.contains("0 unexplained of 10000 customers"))
        }
    }

    @Test func `an erasure deletes every stored difference, and the summary stays`() async throws {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            try await Self.record(
                server, at: Instant(milliseconds: 1_700_000_000_000), unexplained: 0,
                [Self.difference("missed_there", "anna"), Self.difference("clock", "ben")])
            _ = try await server.engine.customers.erase("anna", app: "birds")
            let page = try await server.get("/rehearsal").text
            #expect(page.contains("0 unexplained of 10,000 customers"))
            #expect(page.contains("deleted when a customer was erased"))
            #expect(!page.contains("anna") && !page.contains("/customers/ben"))
        }
    }

    @Test func `a rehearsal during which a customer is erased stores no differences`() async throws
    {
        try await DashboardServer.run { server in
            try await server.buy("anna", transaction: "7001")
            let begin = server.engine.context.serverTime
            _ = try await server.engine.customers.erase("anna", app: "birds")
            try await Self.record(
                server, at: begin, unexplained: 0, [Self.difference("clock", "anna")])
            #expect(
                try await server.engine.rehearsals.differences(
                    of: "birds", in: .production, cause: nil
                ).isEmpty)
        }
    }

    @Test func `erasing a customer who exists only at RevenueCat also deletes the differences`()
        async throws
    {
        try await DashboardServer.run { server in
            try await Self.record(
                server, at: Instant(milliseconds: 1_700_000_000_000), unexplained: 0,
                [Self.difference("missed_there", "stranger")])
            _ = try await server.engine.customers.erase("stranger", app: "birds")
            #expect(
                try await server.engine.rehearsals.differences(
                    of: "birds", in: .production, cause: nil
                ).isEmpty)
        }
    }

    @Test func `a summary that was changed is not shown`() async throws {
        try await DashboardServer.run { server in
            _ = try await server.get("/.well-known/jwks.json")
            let claims = Self.claims(Instant(milliseconds: 1), unexplained: 5)
            let signed = try #require(
                try await server.engine.rehearsals.sign(claims, of: "birds"))
            let parts = signed.split(separator: ".")
            let forged = try #require(
                try await server.engine.rehearsals.sign(
                    Self.claims(Instant(milliseconds: 1), unexplained: 0), of: "birds"))
            let payload = forged.split(separator: ".")[1]
            try await server.engine.rehearsals.record(
                "\(parts[0]).\(payload).\(parts[2])", begunAt: Instant(milliseconds: 1),
                endedAt: Instant(milliseconds: 1), [], of: "birds", in: .production)
            let page = try await server.get("/rehearsal").text
            #expect(page.contains("The summary was changed") && !page.contains("unexplained of"))
        }
    }

    @Test func `the latest twenty summaries and the first two thousand differences are kept`()
        async throws
    {
        try await DashboardServer.run { server in
            let many = (0..<RehearsalRows.differencesMax + 5).map {
                Self.difference("clock", "c\($0)")
            }
            for hour in 1...RehearsalRows.summariesMax + 2 {
                try await Self.record(
                    server, at: Instant(milliseconds: Int64(hour) * 3_600_000), unexplained: 0,
                    hour % 10 == 0 ? many : [])
            }
            try await Self.record(
                server, at: Instant(milliseconds: 360_000_000), unexplained: 0, many)
            let service = server.engine.rehearsals
            let recorded = try await service.recorded(of: "birds", in: .production)
            #expect(recorded.count == RehearsalRows.summariesMax)
            #expect(recorded.first?.endedAt == Instant(milliseconds: 360_000_000))
            let differences = try await service.differences(
                of: "birds", in: .production, cause: nil)
            #expect(differences == Array(many.prefix(RehearsalRows.differencesMax)))
        }
    }
}
