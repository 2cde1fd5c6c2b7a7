import Dashboard
import Engine
import Ledger
import Storage

/// What the page Health finds, for alerts.
package struct HealthFindings: Sendable {
    /// The finding about the database; nil if it can be read and written.
    package var database: HealthFinding?
    /// Every other row that needs attention. Empty while the database fails, because the values
    /// behind the rows are then old.
    package var rows: [HealthFinding] = []
}

extension PerennialServer {
    /// Makes the checks of the page Health for every app. What a new app still needs is left out,
    /// because it has not turned.
    package func healthFindings() async -> HealthFindings {
        guard let first = engine.context.appIDs.first else { return HealthFindings() }
        let server = HealthChecks(server: self, app: first)
        let database = await server.database
        guard database.state == .well else {
            return HealthFindings(database: Self.finding(database))
        }
        var rows = server.ofServer.filter { $0.state != .well }.map { Self.finding($0) }
        for app in engine.context.appIDs {
            // If this fails, the check uses the last result.
            _ = try? await engine.recording.unlistedSales(of: app)
            rows += HealthChecks(server: self, app: app).ofApp.filter { $0.state != .well }
                .map { Self.finding($0, of: app) }
        }
        return HealthFindings(rows: rows)
    }

    private static func finding(_ check: ChecksPage.Check, of app: AppID? = nil) -> HealthFinding {
        HealthFinding(AlertSubject(check.name, of: app), check.sentence, remedy: check.remedy)
    }
}

extension HealthChecks {
    /// The check of the alerts, if this server sends any.
    var alertChecks: [ChecksPage.Check] {
        guard server.sendsAlerts else { return [] }
        let backlogs = server.engine.alerts.backlogs
        guard let failing = backlogs.first(where: { $0.trouble != nil }) else {
            let waiting = backlogs.map(\.waiting).reduce(0, +)
            return [.init("Alerts", .well, "\(waiting.counted("alert waits", "alerts wait")).")]
        }
        let waiting = failing.waiting.counted("alert waits", "alerts wait")
        return [
            .init(
                "Alerts", .needsYou,
                "The last attempt by \(failing.channel.rawValue) failed, and \(waiting). "
                    + (failing.trouble ?? ""),
                remedy: "perennial alerts test")
        ]
    }
}
