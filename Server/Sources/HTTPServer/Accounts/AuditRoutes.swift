import Engine
import Hummingbird
import Ledger
import PerennialContract

extension PerennialServer {
    /// The number of entries on a page if the request sets no limit.
    static let auditDefault = 100

    var auditRoutes: [Route] {
        [
            secret(
                for: .read,
                OpenAPIOperation(
                    .get, Paths.audit, "audit",
                    "What operators did on the dashboard, newest first",
                    description: "docs/dashboard.md lists the acts.",
                    parameters: [
                        .after, .limit(usual: Self.auditDefault, most: Engine.auditEntriesMax),
                    ], output: .json(AuditList.self)), audit)
        ]
    }

    @Sendable func audit(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let limit = try Self.limit(
            in: request, usual: Self.auditDefault, most: Engine.auditEntriesMax)
        let cursor = request.uri.queryParameters["after"].map { String($0) }
        return try JSONResponse.ok(
            try await auditList(
                of: holder.app, after: cursor.flatMap { $0.isEmpty ? nil : $0 }, limit: limit))
    }
}
