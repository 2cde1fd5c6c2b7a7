import Engine
import Hummingbird
import Ledger
import PerennialContract

/// The maximum size of the body, in bytes.
private let grantBytesMax = 16_384

extension PerennialServer {
    var supportRoutes: [Route] {
        [
            secret(
                Operation(
                    .get, "/v1/customers/{id}/grants", "grants",
                    "Entitlements granted to the customer by hand", parameters: [.environment],
                    output: .json(GrantList.self)), grants),
            secret(
                Operation(
                    .post, "/v1/customers/{id}/grants", "grant",
                    "Grant the customer an entitlement",
                    description: "Idempotent with the header Idempotency-Key.",
                    parameters: [.environment, .idempotencyKey], input: GrantRequest.self,
                    output: .json(PerennialContract.Grant.self)), grant),
            secret(
                Operation(
                    .delete, "/v1/customers/{id}/grants/{grant_id}", "withdrawGrant",
                    "Withdraw a grant", description: "Idempotent.",
                    output: .json(PerennialContract.Grant.self)), withdraw),
            secret(
                Operation(
                    .get, "/v1/customers/{id}/history", "history",
                    "Everything known about the customer, oldest first",
                    parameters: [
                        .environment, .after,
                        .limit(usual: Self.historyLinesDefault, most: Self.historyLinesMax),
                    ], output: .json(History.self)), history),
            secret(
                Operation(
                    .get, Paths.customers, "findCustomers",
                    "Find customers by an id, or the number of a transaction or order",
                    parameters: [
                        Parameter(
                            name: "query", isRequired: true,
                            description: """
                                An id of a customer, or the account token of a purchase, or the id \
                                of a transaction, or the order id in the customer's mail.
                                """)
                    ], output: .json(CustomerList.self)), customers),
            secret(
                Operation(
                    .delete, "/v1/customers/{id}", "erase", "Erase a customer",
                    description: """
                        Erases ids, links, grants, and debits. The purchases then belong to \
                        nobody. Idempotent.
                        """, output: .json(Erasure.self)), erase),
        ]
    }

    /// The maximum number of lines on a page of a history.
    static let historyLinesMax = 1_000
    static let historyLinesDefault = 200

    @Sendable func grant(
        _ request: Request, _ context: ServerContext, _ holder: KeyHolder
    ) async throws -> Response {
        let id = try Self.customerID(in: context)
        let environment = try Self.environment(in: request)
        let asked = try await request.value(GrantRequest.self, max: grantBytesMax)
        try ProblemError.requireLength(for: asked.reason, bytesMax: NewGrant.reasonBytesMax)
        let order = NewGrant(
            entitlement: EntitlementID(rawValue: asked.entitlement),
            until: asked.until.map { Instant(milliseconds: $0.milliseconds) },
            reason: asked.reason, key: try Self.idempotencyKey(in: request))
        let kept = try await engine.grant(
            order, to: id, app: holder.app, environment: environment)
        return try JSONResponse.ok(PerennialContract.Grant(kept.grant))
    }

    @Sendable func withdraw(
        _ request: Request, _ context: ServerContext, _ holder: KeyHolder
    ) async throws -> Response {
        let id = try Self.customerID(in: context)
        let grant = GrantID(rawValue: context.parameters.get("grant_id") ?? "")
        let kept = try await engine.withdraw(grant, of: id, app: holder.app)
        return try JSONResponse.ok(PerennialContract.Grant(kept.grant))
    }

    @Sendable func grants(
        _ request: Request, _ context: ServerContext, _ holder: KeyHolder
    ) async throws -> Response {
        try await respond(request, context) { id, environment in
            let grants = try await engine.grants(
                of: id, app: holder.app, environment: environment)
            return GrantList(items: grants.map { PerennialContract.Grant($0) })
        }
    }

    @Sendable func history(
        _ request: Request, _ context: ServerContext, _ holder: KeyHolder
    ) async throws -> Response {
        let id = try Self.customerID(in: context)
        let environment = try Self.environment(in: request)
        let limit = try Self.limit(
            in: request, usual: Self.historyLinesDefault, most: Self.historyLinesMax)
        let position = try Self.listPosition(in: request)
        let lines = try await engine.history(
            of: id, app: holder.app, environment: environment)
        let rest = lines.rest(after: position)
        let page = rest.prefix(limit)
        let last = page.count < rest.count ? page.last : nil
        return try JSONResponse.ok(
            History(
                items: page.map(History.Line.init),
                nextCursor: last?.position.text))
    }

    @Sendable func customers(
        _ request: Request, _ context: ServerContext, _ holder: KeyHolder
    ) async throws -> Response {
        guard let query = request.uri.queryParameters["query"], !query.isEmpty else {
            throw ProblemError(.queryMissing)
        }
        let found = try await engine.customers(like: String(query), app: holder.app)
        return try JSONResponse.ok(CustomerList(items: found.map(CustomerList.Found.init)))
    }

    @Sendable func erase(
        _ request: Request, _ context: ServerContext, _ holder: KeyHolder
    ) async throws -> Response {
        let id = try Self.customerID(in: context)
        let erased = try await engine.erase(id, app: holder.app)
        return try JSONResponse.ok(
            PerennialContract.Erasure(unlinkedPurchases: erased.purchases))
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

extension History.Line {
    fileprivate init(_ line: HistoryLine) {
        self.init(
            at: Timestamp(line.at), kind: line.kind.rawValue, sentence: line.sentence,
            purchaseID: line.purchase?.description, documentID: line.document?.rawValue,
            reference: line.reference)
    }
}

extension CustomerList.Found {
    fileprivate init(_ found: FoundCustomer) {
        let customer = found.customer
        self.init(
            customerID: customer?.customer.rawValue,
            aliases: customer?.ids.filter { $0 != customer?.customer }.map(\.rawValue) ?? [],
            by: found.by.rawValue, purchaseID: found.purchase?.description)
    }
}
