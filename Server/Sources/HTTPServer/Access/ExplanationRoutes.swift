import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The route that explains in sentences why a customer has access.
struct ExplanationRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.keyed(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/explain", "explain",
                    "Why a customer has access or none, in lines for a person",
                    description: """
                        With an app key, the lines name no other customer, no anonymous id, and no \
                        decision of support.
                        """, parameters: [.environment, .proof],
                    output: .json(Explanation.self)), explain)
        ]
    }

    @Sendable func explain(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        return try await server.answers.respond(request, context) { id, environment in
            let text = try await engine.customers.explain(
                id, app: holder.app, environment: environment, isForApp: holder.kind == .app)
            return Explanation(
                customerID: id.rawValue, environment: StoreEnvironment(environment),
                lines: text.split(separator: "\n", omittingEmptySubsequences: false)
                    .map(String.init), serverTime: Timestamp(engine.context.serverTime))
        }
    }
}
