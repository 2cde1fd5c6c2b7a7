import Engine
import Hummingbird
import NIOCore
import PerennialContract

extension PerennialServer {
    var operatorRoutes: [Route] {
        [
            open(
                Operation(
                    .get, Paths.health, "health", "Whether the process is alive", output: .status),
                health),
            open(
                Operation(
                    .get, Paths.ready, "ready", "Whether the database can be read and written",
                    output: .status), ready),
            open(
                Operation(
                    .get, Paths.metrics, "metrics", "Metrics for Prometheus",
                    output: .text("Text exposition format 0.0.4.")), metrics),
            open(
                Operation(
                    .get, Paths.openAPI, "openAPI", "This description",
                    output: .object("OpenAPI 3.1.")), openAPI),
        ]
    }

    /// Responds if the process is alive. Checks nothing else.
    @Sendable func health(_ request: Request, _ context: ServerContext) async throws -> Response {
        try JSONResponse.ok(["status": "ok"])
    }

    /// Responds 200 if the database can be read and written, so that requests can be processed.
    @Sendable func ready(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard await engine.isReady() else {
            throw ProblemError(
                .serverNotReady,
                operatorDetail: "The database cannot be read or cannot be written.")
        }
        return try JSONResponse.ok(["status": "ready"])
    }

    @Sendable func openAPI(_ request: Request, _ context: ServerContext) async throws -> Response {
        let document = try OpenAPI.document(of: routes.map(\.operation))
        return JSONResponse.text(
            try JSONResponse.json(document, isIndented: true), mediaType: "application/json")
    }

    @Sendable func metrics(_ request: Request, _ context: ServerContext) async throws -> Response {
        let text = Metrics(
            engine: engine.counts, asking: engine.reconciliationStates,
            clockAhead: engine.clockAhead,
            forwarding: engine.forwardingStates, requests: counts.all, bodies: bodies.usage,
            logLinesDropped: logLinesDropped(),
            uptimeSeconds: (ContinuousClock.now - startedAt).components.seconds
        ).text
        return JSONResponse.text(
            ByteBuffer(string: text), mediaType: "text/plain; version=0.0.4; charset=utf-8")
    }
}

/// The metrics in Prometheus's text exposition format 0.0.4. All counters start at zero with the
/// process.
struct Metrics {
    var engine: EngineCounts
    var asking: [ReconciliationState]
    var clockAhead: Duration?
    var forwarding: [ForwardingState]
    var requests: [(label: RequestCounts.Label, count: Int)]
    var bodies: BodyBudget.Usage
    var logLinesDropped: Int
    var uptimeSeconds: Int64

    var text: String {
        var lines = [String]()
        Self.add(
            "perennial_notifications_total", "Notifications by result.",
            [
                ("{result=\"kept\"}", engine.notificationsRecorded),
                ("{result=\"repeated\"}", engine.notificationsRepeated),
                ("{result=\"refused\"}", engine.notificationsRefused),
                ("{result=\"left_to_others\"}", engine.notificationsAcceptedElsewhere),
            ], to: &lines)
        Self.add(
            "perennial_notifications_found_total",
            "Notifications fetched because they had not arrived or were lost.",
            [("", engine.notificationsBackfilled)], to: &lines)
        Self.add(
            "perennial_history_pages_total",
            "Pages of the App Store's notification history read for missing ones.",
            [("", engine.historyPages)], to: &lines)
        Self.add(
            "perennial_documents_signed_ahead_total",
            "Documents signed more than five minutes ahead of this machine's clock.",
            [("", engine.documentsSignedAhead)], to: &lines)
        Self.add(
            "perennial_clock_ahead_seconds",
            "Minimum lead of this machine's clock over the App Store's.",
            clockAhead.map { [("", Int($0.components.seconds))] } ?? [], "gauge", to: &lines)
        Self.add(
            "perennial_purchases_posted_total", "Successful requests that posted purchases.",
            [("", engine.purchasesPosted)], to: &lines)
        Self.add(
            "perennial_customers_answered_total", "Responses about a customer.",
            [("", engine.customersRead)], to: &lines)
        Self.add(
            "perennial_http_requests_total", "Requests responded to.",
            requests.map { (Self.labels($0.label), $0.count) }, to: &lines)
        addBodies(to: &lines)
        Self.add(
            "perennial_log_lines_dropped_total",
            "Log lines dropped: standard error was not read in time.", [("", logLinesDropped)],
            to: &lines)
        Self.add(
            "perennial_checks_total", "Checks with the App Store.",
            [
                ("{result=\"answered\"}", engine.checksResponded),
                ("{result=\"failed\"}", engine.checksFailed),
            ], to: &lines)
        addChecks(to: &lines)
        addForwarding(to: &lines)
        lines += [
            "# HELP perennial_uptime_seconds Seconds since the process started to serve.",
            "# TYPE perennial_uptime_seconds gauge", "perennial_uptime_seconds \(uptimeSeconds)",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private func addBodies(to lines: inout [String]) {
        Self.add(
            "perennial_http_body_bytes", "Bytes of request bodies in memory.",
            [
                ("{key=\"shown\"}", bodies.bytesWithKey),
                ("{key=\"none\"}", bodies.bytesWithoutKey),
            ], "gauge", to: &lines)
        Self.add(
            "perennial_http_bodies_refused_total",
            "Requests rejected because too many body bytes were in memory.",
            [
                ("{key=\"shown\"}", bodies.refusedWithKey),
                ("{key=\"none\"}", bodies.refusedWithoutKey),
            ], to: &lines)
    }

    private func addChecks(to lines: inout [String]) {
        func gauge(_ name: String, _ help: String, _ value: (ReconciliationState) -> Int64?) {
            let samples = asking.compactMap { state in
                value(state).map { (Self.labels(state), Int($0)) }
            }
            Self.add("perennial_checks_\(name)", help, samples, "gauge", to: &lines)
        }
        gauge("due", "Purchases due for a check with the App Store.") { Int64($0.due) }
        gauge("oldest_due_seconds", "How long the oldest check has been due.") {
            $0.oldestDueAge.components.seconds
        }
        gauge("answered_time_seconds", "When the App Store last responded, as Unix time.") {
            $0.respondedAt.map { $0.milliseconds / 1000 }
        }
        gauge("failures_in_a_row", "Failed checks since the last response.") {
            Int64($0.failures)
        }
    }

    private func addForwarding(to lines: inout [String]) {
        Self.add(
            "perennial_forwards_total", "Attempts to forward a notification.",
            [
                ("{result=\"accepted\"}", engine.forwardsAccepted),
                ("{result=\"failed\"}", engine.forwardsFailed),
                ("{result=\"left_out\"}", engine.forwardsOmitted),
            ], to: &lines)
        Self.add(
            "perennial_forwards_waiting", "Notifications waiting to be forwarded.",
            forwarding.map { (Self.labels($0), $0.waiting) }, "gauge", to: &lines)
        Self.add(
            "perennial_forwards_oldest_seconds", "How long the oldest notification has waited.",
            forwarding.map { (Self.labels($0), Int($0.oldestAge.components.seconds)) }, "gauge",
            to: &lines)
    }

    private static func labels(_ state: ForwardingState) -> String {
        "{app=\"\(state.app)\",url=\"\(state.target)\"}"
    }

    private static func labels(_ state: ReconciliationState) -> String {
        "{app=\"\(state.app)\",environment=\"\(state.environment.rawValue)\"}"
    }

    private static func labels(_ label: RequestCounts.Label) -> String {
        "{method=\"\(label.method)\",route=\"\(label.route)\",status=\"\(label.status)\"}"
    }

    private static func add(
        _ name: String, _ help: String, _ samples: [(labels: String, count: Int)],
        _ type: String = "counter", to lines: inout [String]
    ) {
        lines += ["# HELP \(name) \(help)", "# TYPE \(name) \(type)"]
        lines += samples.map { "\(name)\($0.labels) \($0.count)" }
    }
}
