import Engine
import Storage

extension Metrics {
    /// Without `alerts:` in the configuration, these metrics have no samples.
    static let alerting = [
        Metric("perennial_alerts_total", "Attempts to send alerts.", by: ["result"]) {
            $0.alerts == nil
                ? []
                : [
                    (["sent"], $0.engine.alertsSent), (["failed"], $0.engine.alertsFailed),
                    (["given_up"], $0.engine.alertsGivenUp),
                ]
        },
        Metric(
            "perennial_alerts_waiting", "Alerts that wait to be sent.", .gauge, by: ["channel"]
        ) { ($0.alerts ?? []).map { ([$0.channel.rawValue], $0.waiting) } },
        Metric(
            "perennial_alerts_failures_in_a_row",
            "Attempts to send the oldest waiting alert that failed.", .gauge, by: ["channel"]
        ) { ($0.alerts ?? []).map { ([$0.channel.rawValue], $0.failures) } },
    ]
}
