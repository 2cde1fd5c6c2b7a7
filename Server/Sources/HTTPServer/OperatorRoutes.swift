import Engine
import Hummingbird
import NIOCore
import PerennialContract

extension PerennialServer {
    /// The process lives and answers; nothing else is looked at.
    @Sendable func health(_ request: Request, _ context: ServerContext) async throws -> Response {
        try Answers.ok(["status": "ok"])
    }

    /// Requests can be done: the database answers.
    @Sendable func ready(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard await engine.isReady() else {
            throw Refused(
                .serverNotReady, "The server is not ready.", remedy: "Wait, and ask again.",
                operatorDetail: "The database does not answer.")
        }
        return try Answers.ok(["status": "ready"])
    }

    @Sendable func openAPI(_ request: Request, _ context: ServerContext) async throws -> Response {
        Answers.text(ByteBuffer(string: OpenAPI.document), mediaType: "application/json")
    }

    @Sendable func metrics(_ request: Request, _ context: ServerContext) async throws -> Response {
        let text = Metrics(
            engine: engine.counts, requests: counts.all,
            uptimeSeconds: (ContinuousClock.now - startedAt).components.seconds
        ).text
        return Answers.text(
            ByteBuffer(string: text), mediaType: "text/plain; version=0.0.4; charset=utf-8")
    }
}

/// Counts as Prometheus reads them (text exposition format 0.0.4). All began at zero when the
/// process did.
struct Metrics {
    var engine: EngineCounts
    var requests: [(label: RequestCounts.Label, count: Int)]
    var uptimeSeconds: Int64

    var text: String {
        var lines = [String]()
        Self.add(
            "perennial_notifications_total", "Notifications by what became of them.",
            [
                ("{result=\"kept\"}", engine.notificationsKept),
                ("{result=\"repeated\"}", engine.notificationsRepeated),
                ("{result=\"refused\"}", engine.notificationsRefused),
            ], to: &lines)
        Self.add(
            "perennial_purchases_posted_total", "Requests that posted purchases and were done.",
            [("", engine.purchasesPosted)], to: &lines)
        Self.add(
            "perennial_customers_answered_total", "Answers about a customer.",
            [("", engine.customersAnswered)], to: &lines)
        Self.add(
            "perennial_http_requests_total", "Requests answered.",
            requests.map { (Self.labels($0.label), $0.count) }, to: &lines)
        lines += [
            "# HELP perennial_uptime_seconds Since the process began to serve.",
            "# TYPE perennial_uptime_seconds gauge", "perennial_uptime_seconds \(uptimeSeconds)",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func labels(_ label: RequestCounts.Label) -> String {
        "{method=\"\(label.method)\",route=\"\(label.route)\",status=\"\(label.status)\"}"
    }

    private static func add(
        _ name: String, _ help: String, _ samples: [(labels: String, count: Int)],
        to lines: inout [String]
    ) {
        lines += ["# HELP \(name) \(help)", "# TYPE \(name) counter"]
        lines += samples.map { "\(name)\($0.labels) \($0.count)" }
    }
}
