import Engine
import Hummingbird
import NIOCore
import PerennialContract

extension PerennialServer {
    var operatorRoutes: [Route] {
        [
            open(
                OpenAPIOperation(
                    .get, Paths.health, "health", "Whether the process is alive", output: .status),
                health),
            open(
                OpenAPIOperation(
                    .get, Paths.ready, "ready", "Whether the database can be read and written",
                    output: .status), ready),
            open(
                OpenAPIOperation(
                    .get, Paths.metrics, "metrics", "Metrics for Prometheus",
                    output: .text("Text exposition format 0.0.4.")), metrics),
            open(
                OpenAPIOperation(
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
            engine: engine.counts, checks: engine.reconciliationStates,
            clockAhead: engine.clockAhead,
            forwarding: engine.forwardingStates, requests: counts.all, bodies: bodies.usage,
            logLinesDropped: logLinesDropped(),
            uptimeSeconds: (ContinuousClock.now - startedAt).components.seconds
        ).text
        return JSONResponse.text(
            ByteBuffer(string: text), mediaType: "text/plain; version=0.0.4; charset=utf-8")
    }
}
