import AppStoreTrust
import Engine
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Ledger
import Logging
import PerennialContract
import Storage
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

    @Test func `docs/monitoring.md has every metric with its labels, and no others`() async throws {
        try await TestServer.run { server in
            let metrics = Metrics(
                engine: server.engine.counts, checks: [], forwarding: [], webhooks: [],
                backup: BackupState(),
                alerts: AlertChannel.allCases.map {
                    AlertBacklog(channel: $0, waiting: 0, oldest: nil, failures: 0, trouble: nil)
                }, requests: [],
                bodies: .init(), eventStreams: 0,
                logLinesDropped: 0, uptimeSeconds: 0)
            var documented: Set<String> = []
            let head = "| metric | labels | when to alert |"
            for cells in try Page.table(head, of: "monitoring.md") {
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

    @Test func `backup metrics have samples only if the server makes backups`() throws {
        func samples(_ backup: BackupState?) throws -> [String] {
            var metrics = try Metrics.full()
            metrics.backup = backup
            return Metrics.backups.flatMap { metric in
                metric.lines(from: metrics).filter { !$0.hasPrefix("#") }
            }
        }
        #expect(try samples(nil) == [])
        var state = BackupState()
        (state.overdue, state.failed) = (.seconds(90), 2)
        #expect(
            try samples(state) == [
                #"perennial_backups_total{result="made"} 0"#,
                #"perennial_backups_total{result="failed"} 2"#,
                "perennial_backup_overdue_seconds 90", "perennial_backup_files 0",
            ])
        (state.newestAt, state.age, state.bytes) = (TestServer.now, .seconds(7), 4096)
        (state.files, state.duration) = (3, .milliseconds(2900))
        state.changesLag = .milliseconds(4200)
        state.bucketLag = .milliseconds(5900)
        #expect(
            try samples(state).suffix(7) == [
                "perennial_backup_age_seconds 7", "perennial_backup_overdue_seconds 90",
                "perennial_backup_bytes 4096", "perennial_backup_duration_seconds 2",
                "perennial_backup_files 3", "perennial_backup_changes_lag_seconds 4",
                "perennial_backup_bucket_lag_seconds 5",
            ])
    }

    @Test func `durations of requests are counted by route, and waits are in a separate metric`()
        async throws
    {
        try await TestServer.run { server in
            let path = Paths.customer("anna")
            _ = try await server.send(.get, path)
            _ = try await server.send(.get, path, key: nil)
            // The client has no answer yet, so the wait ends at once.
            _ = try await server.send(.get, path + "?wait=5")
            let text = try await server.send(.get, Paths.metrics, key: nil).text
            let route = #"method="GET",route="/v1/customers/{id}""#
            for (name, count) in [("request", 2), ("wait", 1)] {
                let metric = "perennial_http_\(name)_duration_seconds"
                let lines = text.split(separator: "\n")
                #expect(lines.contains("\(metric)_count{\(route)} \(count)"), "\(name)")
                #expect(lines.contains(#"\#(metric)_bucket{\#(route),le="+Inf"} \#(count)"#))
                #expect(lines.contains { $0.hasPrefix("\(metric)_sum{\(route)} ") }, "\(name)")
            }
            #expect(text.contains("\nperennial_http_waiting_requests 0\n"))
        }
    }

    @Test func `a duration is counted in every bucket whose bound it does not exceed`() {
        var histogram = Histogram(Histogram.Bounds(seconds: [0.001, 0.25, 10]))
        for duration in [
            .zero, .milliseconds(1), .nanoseconds(1_000_001), .milliseconds(250), .seconds(10),
            .seconds(3_600),
        ] as [Duration] { histogram.add(duration) }
        #expect(histogram.buckets.map(\.bound) == ["0.001", "0.25", "10.0", "+Inf"])
        #expect(histogram.buckets.map(\.count) == [2, 4, 5, 6])
        #expect(histogram.count == 6 && histogram.sumSeconds == 3_610.252_000_001)
    }

    @Test func `a label's value cannot break out of its quotation marks or its line`() throws {
        let metric = Metric("perennial_test_total", "For a test.", by: ["url"]) { _ in
            [(["a\"b\\c\nd"], 1)]
        }
        #expect(
            try metric.lines(from: .full()).last == #"perennial_test_total{url="a\"b\\c\nd"} 1"#)
    }

    @Test(arguments: ["/?wait=5", "/a?b=1&wait=5", "/?wait="], ["/wait=5", "/?await=5", "/", ""])
    func `a request that asks to wait is recognized by its query`(waits: String, other: String) {
        #expect(RequestMiddleware.asksToWait(waits))
        #expect(!RequestMiddleware.asksToWait(other))
    }

    @Test func `metrics show the state of the database, the log and the workers`() async throws {
        try await TestServer.run { server in
            func text() async throws -> String {
                try await server.send(.get, Paths.metrics, key: nil).text
            }
            #expect(try await !text().contains("\nperennial_database_ready "))
            try await server.engine.measurements.refresh(isReady: true)
            server.http.workers.recordSuccess(of: "checks", at: Instant(milliseconds: 7_900))
            server.http.workers.recordFailure(of: "money")
            let well = try await text()
            for line in [
                "perennial_database_ready 1",
                "perennial_database_schema_version \(Schema.version)",
                #"perennial_build_info{version="\#(PerennialServer.version)"} 1"#,
                #"perennial_worker_success_time_seconds{work="checks"} 7"#,
                #"perennial_worker_failures_total{work="money"} 1"#,
                #"perennial_events_unnumbered_oldest_seconds{app="birds"} 0"#,
                #"perennial_money_changes_waiting{app="birds"} 0"#,
            ] { #expect(well.contains("\n\(line)\n"), "\(line)") }
            #expect(!well.contains(#"perennial_worker_success_time_seconds{work="money"}"#))
            let size = try #require(well.firstMatch(of: /perennial_database_size_bytes (\d+)/))
            #expect(try #require(Int(size.1)) > 100_000)
            try await server.engine.measurements.refresh(isReady: false)
            #expect(try await text().contains("\nperennial_database_ready 0\n"))
        }
    }

    @Test(arguments: StorageFailure.Kind.allCases)
    func `a failed transaction is counted by its reason`(kind: StorageFailure.Kind) async throws {
        let reason: String? =
            switch kind {
            case .constraint, .erased, .needsSerializable: nil
            case .busy: "busy"
            case .conflict: "conflict"
            case .unavailable: "unavailable"
            case .other: "other"
            }
        try await ListeningServer.run { server in
            server.database.failWrites(kind)
            let posted = RequestText.post(try ListeningServer.notification(1))
            #expect(try await server.connect().answers(to: posted, count: 1)[0].status >= 400)
            for other in ["busy", "conflict", "unavailable", "other"] {
                let asked = RequestText.get(Paths.metrics, "")
                let answers = try await server.connect().answers(to: asked, count: 1)
                let count = other == reason ? 1 : 0
                let line = #"perennial_database_failures_total{reason="\#(other)"} \#(count)"#
                #expect(answers[0].body.contains(line + "\n"), "\(line)")
            }
        }
    }

    @Test(.enabled(if: Promtool.path != nil, Promtool.absence))
    func `promtool accepts the metrics of a running server and the metrics with every sample`()
        async throws
    {
        let full = try Metrics.full()
        for metric in Metrics.all { #expect(metric.lines(from: full).count > 2, "\(metric.name)") }
        let found = try await Promtool.check(metrics: full.text)
        #expect(found.status == 0 && found.text.isEmpty, "\(found.text)")
        try await ListeningServer.run { server in
            let posted = RequestText.post(try ListeningServer.notification(1))
            _ = try await server.connect().answers(to: posted, count: 1)
            try await server.engine.measurements.refresh(isReady: true)
            let asked = RequestText.get(Paths.metrics, "")
            let answers = try await server.connect().answers(to: asked, count: 1)
            #expect(answers[0].body.contains("perennial_notification_newest_time_seconds{"))
            let (status, text) = try await Promtool.check(
                metrics: String(answers[0].body))
            #expect(status == 0 && text.isEmpty, "\(text)")
        }
        #expect(try await Promtool.check(metrics: "perennial_wrong_count 1\n").status != 0)
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
