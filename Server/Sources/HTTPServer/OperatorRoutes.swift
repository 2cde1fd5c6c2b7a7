import Engine
import Hummingbird
import NIOCore
import PerennialContract

extension PerennialServer {
    /// The process lives and answers; nothing else is looked at.
    @Sendable func health(_ request: Request, _ context: ServerContext) async throws -> Response {
        try Answers.ok(["status": "ok"])
    }

    /// Requests can be done: the database reads and writes.
    @Sendable func ready(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard await engine.isReady() else {
            throw Refused(
                .serverNotReady, "The server is not ready.", remedy: "Wait, and ask again.",
                operatorDetail: "The database does not read, or does not write.")
        }
        return try Answers.ok(["status": "ready"])
    }

    @Sendable func openAPI(_ request: Request, _ context: ServerContext) async throws -> Response {
        Answers.text(ByteBuffer(string: OpenAPI.document), mediaType: "application/json")
    }

    @Sendable func metrics(_ request: Request, _ context: ServerContext) async throws -> Response {
        let text = Metrics(
            engine: engine.counts, asking: engine.askingStates, clockAhead: engine.clockAhead,
            forwarding: engine.forwardingState, requests: counts.all, bodies: bodies.usage,
            logLinesDropped: logLinesDropped(),
            uptimeSeconds: (ContinuousClock.now - startedAt).components.seconds
        ).text
        return Answers.text(
            ByteBuffer(string: text), mediaType: "text/plain; version=0.0.4; charset=utf-8")
    }
}

/// Counts as Prometheus reads them (text exposition format 0.0.4). All began at zero when the
/// process did, but for the gauges.
struct Metrics {
    var engine: EngineCounts
    var asking: [AskingState]
    var clockAhead: Duration?
    var forwarding: [ForwardingState]
    var requests: [(label: RequestCounts.Label, count: Int)]
    var bodies: BodyBudget.Usage
    var logLinesDropped: Int
    var uptimeSeconds: Int64

    var text: String {
        var lines = [String]()
        Self.add(
            "perennial_notifications_total", "Notifications by what became of them.",
            [
                ("{result=\"kept\"}", engine.notificationsKept),
                ("{result=\"repeated\"}", engine.notificationsRepeated),
                ("{result=\"refused\"}", engine.notificationsRefused),
                ("{result=\"left_to_others\"}", engine.notificationsLeftToOthers),
            ], to: &lines)
        Self.add(
            "perennial_notifications_found_total",
            "Notifications that had not come, or were lost, and were asked for.",
            [("", engine.notificationsFound)], to: &lines)
        Self.add(
            "perennial_history_pages_total",
            "Pages of the App Store's history that were read for what is missing.",
            [("", engine.historyPages)], to: &lines)
        Self.add(
            "perennial_documents_signed_ahead_total",
            "Documents signed over five minutes ahead of this machine's clock.",
            [("", engine.documentsSignedAhead)], to: &lines)
        Self.add(
            "perennial_clock_ahead_seconds",
            "By how much at least this machine's clock is ahead of the App Store's.",
            clockAhead.map { [("", Int($0.components.seconds))] } ?? [], "gauge", to: &lines)
        Self.add(
            "perennial_purchases_posted_total", "Requests that posted purchases and were done.",
            [("", engine.purchasesPosted)], to: &lines)
        Self.add(
            "perennial_customers_answered_total", "Answers about a customer.",
            [("", engine.customersAnswered)], to: &lines)
        Self.add(
            "perennial_http_requests_total", "Requests answered.",
            requests.map { (Self.labels($0.label), $0.count) }, to: &lines)
        addBodies(to: &lines)
        Self.add(
            "perennial_log_lines_dropped_total",
            "Lines that nobody has read in time on standard error.", [("", logLinesDropped)],
            to: &lines)
        Self.add(
            "perennial_checks_total", "Questions put to the App Store.",
            [
                ("{result=\"answered\"}", engine.checksAnswered),
                ("{result=\"failed\"}", engine.checksFailed),
            ], to: &lines)
        addAsking(to: &lines)
        addForwarding(to: &lines)
        lines += [
            "# HELP perennial_uptime_seconds Since the process began to serve.",
            "# TYPE perennial_uptime_seconds gauge", "perennial_uptime_seconds \(uptimeSeconds)",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private func addBodies(to lines: inout [String]) {
        Self.add(
            "perennial_http_body_bytes", "Bytes of request bodies that are held now.",
            [
                ("{key=\"shown\"}", bodies.bytesWithKey),
                ("{key=\"none\"}", bodies.bytesWithoutKey),
            ], "gauge", to: &lines)
        Self.add(
            "perennial_http_bodies_refused_total",
            "Requests refused since too many bytes of bodies were held.",
            [
                ("{key=\"shown\"}", bodies.refusedWithKey),
                ("{key=\"none\"}", bodies.refusedWithoutKey),
            ], to: &lines)
    }

    private func addAsking(to lines: inout [String]) {
        func gauge(_ name: String, _ help: String, _ value: (AskingState) -> Int64?) {
            let samples = asking.compactMap { state in
                value(state).map { (Self.labels(state), Int($0)) }
            }
            Self.add("perennial_checks_\(name)", help, samples, "gauge", to: &lines)
        }
        gauge("due", "Purchases that the App Store is to be asked about.") { Int64($0.due) }
        gauge("oldest_due_seconds", "How long the longest due has been so.") {
            $0.oldestDueAge.components.seconds
        }
        gauge("answered_time_seconds", "When the App Store last answered, as Unix time.") {
            $0.answeredAt.map { $0.milliseconds / 1000 }
        }
        gauge("failures_in_a_row", "Questions without an answer, since the last answer.") {
            Int64($0.failures)
        }
    }

    private func addForwarding(to lines: inout [String]) {
        Self.add(
            "perennial_forwards_total", "Attempts to send a notification on to another address.",
            [
                ("{result=\"accepted\"}", engine.forwardsAccepted),
                ("{result=\"failed\"}", engine.forwardsFailed),
                ("{result=\"left_out\"}", engine.forwardsLeftOut),
            ], to: &lines)
        Self.add(
            "perennial_forwards_waiting", "Notifications that wait for an address.",
            forwarding.map { (Self.labels($0), $0.waiting) }, "gauge", to: &lines)
        Self.add(
            "perennial_forwards_oldest_seconds", "How long the longest has waited.",
            forwarding.map { (Self.labels($0), Int($0.oldestAge.components.seconds)) }, "gauge",
            to: &lines)
    }

    private static func labels(_ state: ForwardingState) -> String {
        "{app=\"\(state.app)\",url=\"\(state.target)\"}"
    }

    private static func labels(_ state: AskingState) -> String {
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
