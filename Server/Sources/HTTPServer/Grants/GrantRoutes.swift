import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The routes that list, give, and withdraw grants.
struct GrantRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/grants", "grants",
                    "Entitlements granted to the customer by hand", parameters: [.environment],
                    output: .json(GrantList.self)), list),
            server.secret(
                for: .support,
                OpenAPIOperation(
                    .post, "/v1/customers/{id}/grants", "grant",
                    "Grant the customer an entitlement",
                    description: "Idempotent with the header Idempotency-Key.",
                    parameters: [.environment, .idempotencyKey], input: GrantRequest.self,
                    output: .json(PerennialContract.Grant.self)), grant),
            server.secret(
                for: .support,
                OpenAPIOperation(
                    .delete, "/v1/customers/{id}/grants/{grant_id}", "withdrawGrant",
                    "Withdraw a grant", description: "Idempotent.",
                    output: .json(PerennialContract.Grant.self)), withdraw),
        ]
    }

    @Sendable func grant(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let environment = try RequestReader.environment(in: request)
        let asked = try await request.value(GrantRequest.self, max: BodyLimit.order)
        let order = try NewGrant(asked, key: try RequestReader.idempotencyKey(in: request))
        let kept = try await engine.grants.add(
            order, to: id, app: holder.app, environment: environment)
        return try JSONResponse.ok(PerennialContract.Grant(kept.grant))
    }

    @Sendable func withdraw(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let grant = GrantID(rawValue: context.parameters.get("grant_id") ?? "")
        let kept = try await engine.grants.withdraw(grant, of: id, app: holder.app)
        return try JSONResponse.ok(PerennialContract.Grant(kept.grant))
    }

    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        try await server.answers.respond(request, context) { id, environment in
            let grants = try await engine.grants.all(
                of: id, app: holder.app, environment: environment)
            return GrantList(items: grants.map { PerennialContract.Grant($0) })
        }
    }
}

extension NewGrant {
    /// Converts a request to the engine's form.
    ///
    /// - Throws: ``ProblemError`` if the reason is too long to be stored.
    init(_ asked: GrantRequest, key: String? = nil) throws {
        try ProblemError.requireLength(for: asked.reason, bytesMax: Self.reasonBytesMax)
        self.init(
            entitlement: EntitlementID(rawValue: asked.entitlement),
            until: asked.until.map { Instant(milliseconds: $0.milliseconds) },
            reason: asked.reason, key: key)
    }
}

extension PerennialContract.Grant {
    init(_ grant: Ledger.Grant) {
        self.init(
            grantID: grant.id.rawValue, entitlement: grant.entitlement.rawValue,
            from: Timestamp(grant.from), until: grant.until.map { Timestamp($0) },
            reason: grant.reason, withdrawnAt: grant.withdrawnAt.map { Timestamp($0) })
    }
}
