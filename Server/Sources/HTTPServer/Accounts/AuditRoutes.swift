import Dashboard
import Engine
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The route that lists what operators did on the dashboard.
struct AuditRoutes: RouteGroup {
    let server: PerennialServer

    /// The number of entries on a page if the request sets no limit.
    static let auditDefault = 100

    var all: [Route] {
        [
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, Paths.audit, "audit",
                    "What operators did on the dashboard, newest first",
                    description: "docs/dashboard.md lists the acts.",
                    parameters: [
                        .after,
                        .limit(usual: Self.auditDefault, most: AuditService.auditEntriesMax),
                    ], output: .json(AuditList.self)), list)
        ]
    }

    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let limit = try RequestReader.limit(
            in: request, usual: Self.auditDefault, most: AuditService.auditEntriesMax)
        let cursor = request.uri.queryParameters["after"].map { String($0) }
        return try JSONResponse.ok(
            try await list(
                of: holder.app, after: cursor.flatMap { $0.isEmpty ? nil : $0 }, limit: limit))
    }

    /// Returns a page of the audit entries of an app, or of the whole server if `app` is nil, the
    /// newest first.
    func list(of app: AppID?, after cursor: String?, limit: Int) async throws -> AuditList {
        let position = try cursor.map { text in
            guard let position = RecordedAct.Position(text) else {
                throw ProblemError(.cursorUnknown)
            }
            return position
        }
        let page = try await engine.audit.page(of: app, before: position, limit: limit)
        return AuditList(
            items: page.entries.map { PerennialContract.AuditEntry($0) },
            nextCursor: page.next?.description)
    }
}
