import AppStoreTrust
import Engine
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import PerennialContract
import StorageSQLite
import Testing

@testable import HTTPServer

@Suite struct MetricsTests {
    @Test func `requests are counted by route and status, never by customer`() async throws {
        try await TestServer.run { server in
            _ = try await server.send(.get, Paths.customer("anna"))
            _ = try await server.send(.get, Paths.customer("ben"))
            _ = try await server.send(.get, Paths.customer("ben"), key: nil)
            _ = try await server.send(.get, "/made/up/by/a/stranger")
            _ = try await server.send(.post, Paths.notifications, body: "no")
            let lines = try await server.send(.get, Paths.metrics, key: nil).text
                .split(separator: "\n").map(String.init)
            let route = #"method="GET",route="/v1/customers/{id}""#
            #expect(lines.contains(#"perennial_http_requests_total{\#(route),status="200"} 2"#))
            #expect(lines.contains(#"perennial_http_requests_total{\#(route),status="401"} 1"#))
            #expect(
                lines.contains(
                    #"perennial_http_requests_total{method="GET",route="unmatched",status="404"} 1"#
                ))
            #expect(lines.contains(#"perennial_notifications_total{result="refused"} 1"#))
            #expect(lines.contains("perennial_customers_answered_total 2"))
            #expect(lines.contains { $0.hasPrefix("perennial_uptime_seconds ") })
            #expect(!lines.contains { $0.contains("anna") || $0.contains("stranger") })
        }
    }

    /// The labels of a metric, and the values of a label if the table lists them.
    private static func labels(in cell: String) -> (names: [String], values: [String]) {
        let parts = cell.split(separator: ":", maxSplits: 1).map { Page.words(in: String($0)) }
        return (parts.first ?? [], parts.count > 1 ? parts[1] : [])
    }

    @Test func `docs/operations.md has every metric with its labels, and no others`() async throws {
        try await TestServer.run { server in
            let metrics = Metrics(
                engine: server.engine.counts, checks: [], forwarding: [], webhooks: [],
                backup: BackupState(), requests: [],
                bodies: .init(), eventStreams: 0,
                logLinesDropped: 0, uptimeSeconds: 0)
            var documented: Set<String> = []
            for cells in try Page.table("| metric | labels | when to alert |", of: "operations.md")
            {
                let labels = Self.labels(in: cells[1])
                for name in Page.words(in: cells[0]) {
                    #expect(documented.insert(name).inserted, "\(name) has two lines")
                    let metric = try #require(Metrics.all.first { $0.name == name }, "\(name)")
                    #expect(metric.labels == labels.names, "\(name)")
                    if !labels.values.isEmpty {
                        let values = metric.samples(metrics).flatMap(\.labels)
                        #expect(values == labels.values, "\(name)")
                    }
                }
            }
            #expect(documented == Set(Metrics.all.map(\.name)))
            #expect(documented.count == Metrics.all.count)
        }
    }

    @Test(arguments: [.seconds(600), .seconds(-7), .zero, nil] as [Duration?])
    func `a metric says how far the clock is ahead, if this is known`(ahead: Duration?) async throws
    {
        var reconciliation = ReconciliationSettings.disabled
        reconciliation.clockAhead = { ahead }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let engine = Engine(
            database: try SQLiteDriver.inMemory(),
            apps: [AppSettings(id: "birds", bundleID: "com.example.birds", entitlements: [:])],
            verifiers: ["birds": Verifier(roots: .apple)], now: { TestServer.now },
            reconciliation: reconciliation, logger: logger)
        try await engine.prepare()
        let server = PerennialServer(engine: engine, logger: logger)
        let lines = try await server.application(host: "127.0.0.1", port: 0).test(.router) {
            client in
            let answer = try await client.execute(uri: Paths.metrics, method: .get)
            return String(buffer: answer.body).split(separator: "\n").map(String.init)
        }
        let samples = lines.filter { $0.hasPrefix("perennial_clock_ahead_seconds") }
        let seconds = ahead.map { "\($0.components.seconds)" }
        #expect(samples == (seconds.map { ["perennial_clock_ahead_seconds \($0)"] } ?? []))
    }

    @Test func `backups have samples only where the server makes them`() async throws {
        let engine = Engine(
            database: try SQLiteDriver.inMemory(), apps: [], verifiers: [:],
            now: { TestServer.now }, logger: Logger(label: "test"))
        func samples(_ backup: BackupState?) -> [String] {
            Metrics.backups.flatMap { metric in
                metric.lines(
                    from: Metrics(
                        engine: engine.counts, checks: [], forwarding: [], webhooks: [],
                        backup: backup, requests: [], bodies: .init(), eventStreams: 0,
                        logLinesDropped: 0, uptimeSeconds: 0)
                ).filter { !$0.hasPrefix("#") }
            }
        }
        #expect(samples(nil) == [])
        var state = BackupState()
        (state.overdue, state.failed) = (.seconds(90), 2)
        #expect(
            samples(state) == [
                #"perennial_backups_total{result="made"} 0"#,
                #"perennial_backups_total{result="failed"} 2"#,
                "perennial_backup_overdue_seconds 90", "perennial_backup_files 0",
            ])
        (state.newestAt, state.age, state.bytes) = (TestServer.now, .seconds(7), 4096)
        (state.files, state.duration) = (3, .milliseconds(2900))
        #expect(
            samples(state).suffix(5) == [
                "perennial_backup_age_seconds 7", "perennial_backup_overdue_seconds 90",
                "perennial_backup_bytes 4096", "perennial_backup_duration_seconds 2",
                "perennial_backup_files 3",
            ])
    }

    @Test func `an unknown method in a request does not become the value of a label`() async throws
    {
        try await TestServer.run { server in
            let method = try #require(HTTPRequest.Method(rawValue: "BREW"))
            _ = try await server.send(method, Paths.health)
            let text = try await server.send(.get, Paths.metrics).text
            #expect(text.contains(#"method="OTHER""#))
            #expect(!text.contains("BREW"))
        }
    }
}
