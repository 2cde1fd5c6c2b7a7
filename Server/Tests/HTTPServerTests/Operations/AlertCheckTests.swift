import Dashboard
import Engine
import Ledger
import PerennialContract
import Storage
import Testing

@testable import HTTPServer

/// What Health and the metrics say about alerts, and what Health finds for alerts.
@Suite struct AlertCheckTests {
    private static func alertLines(of server: TestServer) async throws -> [String] {
        try await server.send(.get, Paths.metrics, key: nil).text.split(separator: "\n")
            .filter { $0.hasPrefix("perennial_alerts_") }.map(String.init)
    }

    @Test func `the page Health says which alert channel fails and why, until an alert is sent`()
        async throws
    {
        try await TestServer.run { server in
            var http = server.http
            #expect(HealthChecks(server: http, app: "birds").alertChecks.isEmpty)
            #expect(try await Self.alertLines(of: server) == [])
            http.sendsAlerts = true
            let checks = HealthChecks(server: http, app: "birds")
            let alerts = server.engine.alerts
            #expect(checks.alertChecks.map(\.sentence) == ["0 alerts wait."])
            try await alerts.enqueue(.test(id: "alert_1", at: TestServer.now), on: [.mail])
            for (outcome, state, sentence) in [
                (
                    AlertOutcome.failed(reason: "No room."), ChecksPage.Check.State.needsYou,
                    "The last attempt by mail failed, and 1 alert waits. No room."
                ), (.sent, .well, "0 alerts wait."),
            ] {
                // The second attempt is after the pause.
                let moment = TestServer.now + .seconds(state == .well ? 30 : 0)
                let sent = try await alerts.send(on: .mail, by: "one", at: { moment }) { _ in
                    outcome
                }
                try await alerts.refresh(of: AlertChannel.allCases)
                #expect(sent == (outcome == .sent ? 1 : 0))
                #expect(checks.alertChecks.map(\.sentence) == [sentence])
                #expect(checks.alertChecks.map(\.state) == [state])
            }
        }
    }

    @Test
    func
        `while the database fails, Health finds nothing else`()
        async throws
    {
        try await TestServer.run { server in
            let http = PerennialServer(
                engine: server.engine, logger: server.http.logger, logLinesDropped: { 1 })
            let findings = await http.healthFindings()
            #expect(findings.database == nil)
            #expect(findings.rows.map(\.subject.name) == ["Log"])
            #expect(findings.rows.map(\.subject.app) == [nil])
            server.database.close()
            let broken = await http.healthFindings()
            #expect(broken.database?.subject.name == "Database" && broken.rows.isEmpty)
        }
    }
}
