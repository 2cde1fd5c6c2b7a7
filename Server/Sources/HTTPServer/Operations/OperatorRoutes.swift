import Engine
import Hummingbird
import Ledger
import NIOCore
import PerennialContract

/// The routes for operators: health, metrics, and the OpenAPI description.
struct OperatorRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.open(
                OpenAPIOperation(
                    .get, Paths.health, "health", "Whether the process is alive", output: .status),
                health),
            server.open(
                OpenAPIOperation(
                    .get, Paths.ready, "ready", "Whether the database can be read and written",
                    description: "Also names webhooks that have failed for an hour.",
                    output: .status), ready),
            server.open(
                OpenAPIOperation(
                    .get, Paths.metrics, "metrics", "Metrics for Prometheus",
                    output: .text("Text exposition format 0.0.4.")), metrics),
            // The description is always indented, so `?pretty` need not indent it again.
            server.verbatim(
                OpenAPIOperation(
                    .get, Paths.openAPI, "openAPI", "This description",
                    parameters: [.ifNoneMatch], output: .cacheableObject("OpenAPI 3.1.")), openAPI),
        ].map { $0.withoutLimit() }
    }

    /// Responds whenever the process is alive. Does not check the database or anything else.
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
        // Failing webhooks are reported, but requests need not go to another server, because the
        // receiver is at fault.
        let failing = engine.webhooks.states.filter(\.isFailing).map { "\($0.app)/\($0.webhook)" }
        guard !failing.isEmpty else { return try JSONResponse.ok(["status": "ready"]) }
        return try JSONResponse.ok(Readiness(status: "ready", failingWebhooks: failing))
    }

    @Sendable func openAPI(_ request: Request, _ context: ServerContext) async throws -> Response {
        try server.encodeDescription().response(to: request)
    }

    @Sendable func metrics(_ request: Request, _ context: ServerContext) async throws -> Response {
        let text = Metrics(
            engine: engine.counts, checks: engine.reconciliation.states,
            clockAhead: engine.reconciliation.clockAhead,
            forwarding: engine.forwarding.states, webhooks: engine.webhooks.states,
            backup: server.readsBackups?(),
            alerts: server.sendsAlerts ? engine.alerts.backlogs : nil, requests: server.counts.all,
            bodies: server.bodies.usage, limitRefusals: server.refusals.counts,
            eventStreams: server.streams.openCount, waitingRequests: server.waits.waitingCount,
            logLinesDropped: server.logLinesDropped(),
            uptimeSeconds: (ContinuousClock.now - server.startedAt).components.seconds,
            measurements: engine.measurements.last, notifications: newestNotifications,
            workers: server.workers.all, process: server.readings()
        ).text
        return JSONResponse.text(
            ByteBuffer(string: text), mediaType: "text/plain; version=0.0.4; charset=utf-8")
    }

    private var newestNotifications: [Metrics.NewestNotification] {
        engine.context.appIDs.flatMap { app in
            Ledger.Environment.allCases.compactMap { environment in
                engine.measurements.newestNotification(of: app, in: environment).map {
                    .init(app: app, environment: environment, arrivedAt: $0)
                }
            }
        }
    }
}

/// The response of `/ready` while webhooks fail.
private struct Readiness: Encodable {
    var status: String
    /// The failing webhooks, each in the form `app/webhook`.
    var failingWebhooks: [String]

    enum CodingKeys: String, CodingKey {
        case status
        case failingWebhooks = "failing_webhooks"
    }
}
