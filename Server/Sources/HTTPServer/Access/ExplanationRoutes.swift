import Engine
import Hummingbird
import Ledger
import PerennialContract

extension PerennialServer {
    var explanationRoutes: [Route] {
        [
            keyed(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/explain", "explain",
                    "Why a customer has what they have, in lines for a person",
                    description: """
                        With an app key it names no other customer, no anonymous id, and no \
                        decision of support.
                        """, parameters: [.environment, .proof],
                    output: .json(Explanation.self)), explain)
        ]
    }

    @Sendable func explain(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try Self.customerID(in: context)
        try await requireProof(of: id, request.headers, holder)
        return try await respond(request, context) { id, environment in
            let text = try await engine.explain(
                id, app: holder.app, environment: environment, isForApp: holder.kind == .app)
            return Explanation(
                customerID: id.rawValue, environment: StoreEnvironment(environment),
                lines: text.split(separator: "\n", omittingEmptySubsequences: false)
                    .map(String.init), serverTime: Timestamp(engine.serverTime))
        }
    }
}
