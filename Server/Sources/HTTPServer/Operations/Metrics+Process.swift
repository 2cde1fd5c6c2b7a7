import Engine
import Ledger

extension Metrics {
    static let process = [
        Metric("perennial_uptime_seconds", "Seconds since the process started to serve.", .gauge) {
            Int($0.uptimeSeconds)
        },
        Metric(
            "perennial_build_info", "The version of the program; always 1.", .gauge,
            by: ["version"]
        ) { _ in [([PerennialServer.version], 1)] },
        Metric(
            "perennial_certificate_end_time_seconds",
            "When the certificate in force ends, as Unix time.", .gauge
        ) { $0.process.certificateEnd?.wholeSeconds },
        Metric(
            "perennial_trace_spans_dropped_total",
            "Spans of traces that were not sent, because the collector was away."
        ) { $0.process.spansDropped },
    ]

    static let workers = [
        Metric(
            "perennial_worker_success_time_seconds",
            "When this process last did a kind of background work, as Unix time.", .gauge,
            by: ["work"]
        ) {
            $0.workers.compactMap { work, state in
                state.succeededAt.map { ([work], $0.wholeSeconds) }
            }
        },
        Metric(
            "perennial_worker_failures_total", "Failed batches of background work.", by: ["work"]
        ) { $0.workers.map { ([$0.work], $0.state.failures) } },
    ]

    static let lags = [
        lag("perennial_events_unnumbered", "Committed events that nobody can read yet.") {
            $0.unnumberedEvents
        },
        lag(
            "perennial_events_unnumbered_oldest_seconds",
            "The age of the oldest committed event that nobody can read yet."
        ) { $0.oldestUnnumberedAge.wholeSeconds },
        lag(
            "perennial_transitions_oldest_due_seconds",
            "How long the oldest change that time alone causes has been due."
        ) { $0.oldestTransitionAge.wholeSeconds },
        lag(
            "perennial_money_changes_waiting",
            "Changes that reports about money do not include yet."
        ) { $0.unsummedChanges },
        lag(
            "perennial_money_changes_oldest_seconds",
            "The age of the oldest change that reports about money do not include yet."
        ) { $0.oldestUnsummedAge.wholeSeconds },
        lag(
            "perennial_customer_rows_events_unread",
            "Events that the list of customers does not show yet."
        ) { Int($0.unshownEvents) },
    ]

    static let database = [
        Metric(
            "perennial_report_database_lag_seconds",
            "How far the database for reports is behind; absent if it cannot be read.", .gauge
        ) { $0.measurements?.copyLag?.wholeSeconds },
        Metric(
            "perennial_database_ready",
            "Whether the database could be read and written: 1 or 0.", .gauge
        ) { $0.measurements.map { $0.isReady ? 1 : 0 } },
        Metric("perennial_database_schema_version", "The version of the schema.", .gauge) {
            $0.measurements?.schemaVersion
        },
        Metric(
            "perennial_database_size_bytes", "The size of the database, without write-ahead log.",
            .gauge
        ) { ($0.measurements?.databaseBytes).map(Int.init) },
        Metric("perennial_disk_size_bytes", "The size of the disk with the database.", .gauge) {
            ($0.process.disk?.bytes).map(Int.init)
        },
        Metric("perennial_disk_free_bytes", "The free part of the disk.", .gauge) {
            ($0.process.disk?.freeBytes).map(Int.init)
        },
        Metric(
            "perennial_database_failures_total", "Transactions that failed.", by: ["reason"]
        ) {
            [
                (["busy"], $0.engine.databaseBusy),
                (["conflict"], $0.engine.databaseConflicts),
                (["unavailable"], $0.engine.databaseUnavailable),
                (["other"], $0.engine.databaseOther),
            ]
        },
    ]

    private static func lag(
        _ name: String, _ help: String, value: @escaping @Sendable (AppMeasurements) -> Int
    ) -> Metric {
        Metric(name, help, .gauge, by: ["app"]) {
            ($0.measurements?.apps ?? []).map { ([$0.app.rawValue], value($0)) }
        }
    }
}

extension Instant {
    /// Unix time, without the fraction of a second.
    var wholeSeconds: Int { Int(milliseconds / 1000) }
}

extension Duration {
    /// The number of whole seconds.
    var wholeSeconds: Int { Int(components.seconds) }
}
