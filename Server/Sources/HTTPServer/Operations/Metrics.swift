import Engine
import Ledger
import Storage

/// The values behind the metrics, at one moment.
struct Metrics: Sendable {
    var engine: EngineCounts
    var checks: [ReconciliationState]
    var clockAhead: Duration?
    var forwarding: [ForwardingState]
    var webhooks: [WebhookState]
    /// Nil if the server makes no backups.
    var backup: BackupState?
    /// Nil if the server sends no alerts.
    var alerts: [AlertBacklog]?
    var requests: [(label: RequestCounts.Label, responses: RequestCounts.Responses)]
    var bodies: BodyBudget.Usage
    /// The number of refusals because of each limit for one caller.
    var limitRefusals: [CallerLimit: Int] = [:]
    var eventStreams: Int
    var waitingRequests = 0
    var logLinesDropped: Int
    var uptimeSeconds: Int64
    var measurements: Measurements?
    var notifications: [NewestNotification] = []
    var workers: [(work: String, state: WorkerStates.State)] = []
    var process = ProcessReadings()

    /// When the newest notification of an app arrived.
    struct NewestNotification: Sendable {
        var app: AppID
        var environment: Environment
        var arrivedAt: Instant
    }

    /// All metrics in Prometheus's text exposition format 0.0.4.
    var text: String {
        Self.all.flatMap { $0.lines(from: self) }.joined(separator: "\n") + "\n"
    }

    static let all: [Metric] =
        process + intake + http + checks + forwards + webhooks + workers + lags + database + backups
        + alerting

    private static let intake = [
        Metric("perennial_notifications_total", "Notifications by result.", by: ["result"]) {
            [
                (["kept"], $0.engine.notificationsRecorded),
                (["repeated"], $0.engine.notificationsRepeated),
                (["refused"], $0.engine.notificationsRefused),
                (["left_to_others"], $0.engine.notificationsAcceptedElsewhere),
            ]
        },
        Metric(
            "perennial_notification_newest_time_seconds",
            "When the newest notification arrived, as Unix time.", .gauge,
            by: ["app", "environment"]
        ) {
            $0.notifications.map {
                ([$0.app.rawValue, $0.environment.rawValue], $0.arrivedAt.wholeSeconds)
            }
        },
        Metric(
            "perennial_notifications_found_total",
            "Notifications fetched because they had not arrived or were lost."
        ) { $0.engine.notificationsBackfilled },
        Metric(
            "perennial_notifications_lost_total",
            "Notifications that the history of the App Store had, and this server had not."
        ) { $0.engine.notificationsLost },
        Metric(
            "perennial_history_pages_total",
            "Pages of the App Store's notification history read for missing ones."
        ) { $0.engine.historyPages },
        Metric(
            "perennial_documents_signed_ahead_total",
            "Documents signed more than five minutes ahead of this machine's clock."
        ) { $0.engine.documentsSignedAhead },
        Metric(
            "perennial_clock_ahead_seconds",
            "Seconds that this machine's clock is at least ahead of the App Store's.", .gauge
        ) { $0.clockAhead.map { Int($0.components.seconds) } },
        Metric(
            "perennial_purchases_posted_total", "Successful requests that posted purchases."
        ) { $0.engine.purchasesPosted },
        Metric("perennial_customers_answered_total", "Responses about a customer.") {
            $0.engine.customersRead
        },
    ]

    private static let http = [
        Metric(
            "perennial_http_requests_total", "Requests responded to.",
            by: ["method", "route", "status"]
        ) {
            $0.requests.flatMap { label, responses in
                responses.byStatus.sorted { $0.key < $1.key }
                    .map { ([label.method, label.route, "\($0.key)"], $0.value) }
            }
        },
        Metric(
            histogram: "perennial_http_request_duration_seconds",
            "Time from a request's head to its response's head, except for requests that wait.",
            by: ["method", "route"]
        ) {
            $0.requests.filter { $0.responses.durations.count > 0 }
                .map { ([$0.label.method, $0.label.route], $0.responses.durations) }
        },
        Metric(
            histogram: "perennial_http_wait_duration_seconds",
            "Time from a request's head to its response's head, for requests that wait.",
            by: ["method", "route"]
        ) {
            $0.requests.filter { $0.responses.waits.count > 0 }
                .map { ([$0.label.method, $0.label.route], $0.responses.waits) }
        },
        Metric("perennial_http_waiting_requests", "Requests that wait for a change.", .gauge) {
            $0.waitingRequests
        },
        Metric(
            "perennial_http_body_bytes", "Bytes of request bodies in memory.", .gauge, by: ["key"]
        ) {
            [(["shown"], $0.bodies.bytesWithKey), (["none"], $0.bodies.bytesWithoutKey)]
        },
        Metric(
            "perennial_http_bodies_refused_total",
            "Requests rejected because too many body bytes were in memory.", by: ["key"]
        ) {
            [(["shown"], $0.bodies.refusedWithKey), (["none"], $0.bodies.refusedWithoutKey)]
        },
        Metric(
            "perennial_limit_refusals_total",
            "Requests, waits, streams and connections refused because of one caller's limit.",
            by: ["limit"]
        ) { metrics in
            CallerLimit.allCases.map { ([$0.rawValue], metrics.limitRefusals[$0, default: 0]) }
        },
        Metric("perennial_event_streams", "Event streams that are open.", .gauge) {
            $0.eventStreams
        },
        Metric(
            "perennial_log_lines_dropped_total",
            "Log lines dropped: standard error was not read in time."
        ) { $0.logLinesDropped },
    ]

    private static let checks = [
        Metric("perennial_checks_total", "Checks with the App Store.", by: ["result"]) {
            [(["answered"], $0.engine.checksResponded), (["failed"], $0.engine.checksFailed)]
        },
        Metric(
            "perennial_app_store_failures_total", "Failed requests to the App Store.",
            by: ["reason"]
        ) {
            [
                (["key_refused"], $0.engine.appStoreKeyRefused),
                (["paused"], $0.engine.appStorePaused),
                (["unavailable"], $0.engine.appStoreUnavailable),
                (["unreadable"], $0.engine.appStoreUnreadable),
            ]
        },
        check("perennial_checks_due", "Purchases due for a check with the App Store.") { $0.due },
        check("perennial_checks_oldest_due_seconds", "How long the oldest check has been due.") {
            Int($0.oldestDueAge.components.seconds)
        },
        check(
            "perennial_checks_answered_time_seconds",
            "When the App Store last responded, as Unix time."
        ) {
            $0.respondedAt.map(\.wholeSeconds)
        },
        check("perennial_checks_failures_in_a_row", "Failed checks since the last response.") {
            $0.failures
        },
        check(
            "perennial_seat_reports_waiting", "Reports about claims on seats for the App Store."
        ) { $0.seatReports },
        check(
            "perennial_seat_reports_oldest_seconds",
            "How long the oldest report about a claim has waited."
        ) { Int($0.oldestSeatReportAge.components.seconds) },
    ]

    private static let forwards = [
        Metric("perennial_forwards_total", "Attempts to forward a notification.", by: ["result"]) {
            [
                (["accepted"], $0.engine.forwardsAccepted),
                (["failed"], $0.engine.forwardsFailed),
                (["left_out"], $0.engine.forwardsOmitted),
            ]
        },
        forward("perennial_forwards_waiting", "Notifications waiting to be forwarded.") {
            $0.waiting
        },
        forward("perennial_forwards_oldest_seconds", "How long the oldest notification has waited.")
        {
            Int($0.oldestAge.components.seconds)
        },
    ]

    private static let webhooks = [
        Metric(
            "perennial_webhook_attempts_total", "Attempts to deliver an event to a webhook.",
            by: ["result"]
        ) {
            [
                (["delivered"], $0.engine.webhooksDelivered),
                (["retried"], $0.engine.webhooksRetried),
                (["failed"], $0.engine.webhooksFailed),
            ]
        },
        webhook("perennial_webhook_deliveries_waiting", "Deliveries waiting for a webhook.") {
            $0.waiting
        },
        webhook(
            "perennial_webhook_oldest_seconds", "How long the oldest delivery has waited."
        ) { Int($0.oldestAge.components.seconds) },
        webhook(
            "perennial_webhook_events_unread", "Events of the log not yet read for a webhook."
        ) { Int($0.unreadEvents) },
        webhook(
            "perennial_webhook_failing_seconds",
            "How long every attempt has failed; 0 if the last one succeeded."
        ) { Int(($0.failingFor ?? .zero).components.seconds) },
        webhook("perennial_webhook_paused", "Whether a webhook is paused: 1 or 0.") {
            $0.isPaused ? 1 : 0
        },
    ]

    private static func webhook(
        _ name: String, _ help: String, value: @escaping @Sendable (WebhookState) -> Int
    ) -> Metric {
        Metric(name, help, .gauge, by: ["app", "webhook"]) {
            $0.webhooks.map { ([$0.app.rawValue, $0.webhook.rawValue], value($0)) }
        }
    }

    private static func check(
        _ name: String, _ help: String, value: @escaping @Sendable (ReconciliationState) -> Int?
    ) -> Metric {
        Metric(name, help, .gauge, by: ["app", "environment"]) {
            $0.checks.compactMap { state in
                value(state).map { ([state.app.rawValue, state.environment.rawValue], $0) }
            }
        }
    }

    private static func forward(
        _ name: String, _ help: String, value: @escaping @Sendable (ForwardingState) -> Int
    ) -> Metric {
        Metric(name, help, .gauge, by: ["app", "url"]) {
            $0.forwarding.map { ([$0.app.rawValue, $0.label], value($0)) }
        }
    }
}
