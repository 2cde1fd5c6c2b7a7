import Engine
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract
import Storage

extension HTTPField.Name {
    static let customerProof = wellFormed("Perennial-Customer-Proof")
}

/// The routes about aliases, transfers, and blocked purchases.
struct OwnershipRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.keyed(
                for: .support,
                OpenAPIOperation(
                    .post, "/v1/customers/{id}/aliases", "addAlias",
                    "Add another id of the same customer",
                    description: """
                        Both ids mean one customer from now on, with the purchases of both. \
                        Idempotent. With an app key, one of them must be an anon_ id.
                        """, parameters: [.proof, .environment], input: AliasRequest.self,
                    output: .json(Customer.self)), alias),
            server.keyed(
                for: .support,
                OpenAPIOperation(
                    .post, "/v1/customers/{id}/account_token", "accountToken",
                    "Get the UUID to set as appAccountToken",
                    description: """
                        If the customer has no id that is a UUID, the server makes one, which is \
                        then an id of the customer. Idempotent.
                        """, parameters: [.proof], output: .json(AccountToken.self)),
                accountToken),
            server.secret(
                for: .support,
                OpenAPIOperation(
                    .delete, "/v1/customers/{id}/aliases/{alias}", "removeAlias",
                    "Remove an alias from a customer",
                    description: "Everything stays with the customer whose id is in the path.",
                    parameters: [.environment], output: .json(Customer.self)), removeAlias),
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/transfers", "transfers",
                    "Purchases that moved to the customer or away from them",
                    description: """
                        Purchases that support confirmed for their owner have no transfer_id.
                        """, parameters: [.environment], output: .json(TransferList.self)),
                transfers),
            server.secret(
                for: .support,
                OpenAPIOperation(
                    .post, "/v1/customers/{id}/transfers", "transfer",
                    "Move a purchase to the customer",
                    description: """
                        Overrides the restore policy, now and later. Idempotent. The response has \
                        no transfer_id if the customer already had the purchase.
                        """, parameters: [.environment], input: OwnershipRequest.self,
                    output: .json(PerennialContract.Transfer.self)), transfer),
            server.secret(
                for: .support,
                OpenAPIOperation(
                    .delete, "/v1/customers/{id}/transfers/{transfer_id}", "undoTransfer",
                    "Undo a transfer", description: "Idempotent.",
                    output: .json(PerennialContract.Transfer.self)), undoTransfer),
            server.secret(
                for: .support,
                OpenAPIOperation(
                    .post, "/v1/customers/{id}/blocks", "block",
                    "Protect a purchase against being moved away", description: "Idempotent.",
                    parameters: [.environment], input: OwnershipRequest.self,
                    output: .json(Block.self)), block),
            server.secret(
                for: .support,
                OpenAPIOperation(
                    .delete, "/v1/customers/{id}/blocks/{original_transaction_id}", "unblock",
                    "Let the restore policy apply again", description: "Idempotent.",
                    parameters: [.environment], output: .json(Block.self)), unblock),
        ]
    }

    /// Adds an alias to a customer.
    @Sendable func alias(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let environment = try RequestReader.environment(in: request)
        let other = try await request.lenientValue(AliasRequest.self, max: BodyLimit.order)
        let state = try await engine.customers.alias(
            CustomerID(rawValue: other.customerID), to: id, app: holder.app,
            environment: environment,
            proofs: RequestAuthorization.proofs(in: request.headers, of: holder))
        return try await server.answers.respond(state, to: holder)
    }

    @Sendable func accountToken(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        let token = try await engine.ownership.accountToken(
            for: id, app: holder.app, isByApp: holder.kind == .app)
        return try JSONResponse.ok(AccountToken(accountToken: token?.rawValue))
    }

    /// Removes an alias that was added by mistake.
    @Sendable func removeAlias(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let environment = try RequestReader.environment(in: request)
        let alias = try RequestReader.parameter("alias", called: "alias", in: context)
        let state = try await engine.customers.removeAlias(
            CustomerID(rawValue: alias), from: id, app: holder.app, environment: environment)
        return try await server.answers.respond(state, to: holder)
    }
}

extension PurchaseRoutes {
    @Sendable func preview(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let posted = try await request.purchases(PreviewRequest.self)
        let environment = try RequestReader.environment(in: request)
        let id = CustomerID(rawValue: posted.customerID)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        let evidence = PurchaseEvidence(posted)
        guard !evidence.isEmpty || posted.productID != nil else {
            throw ProblemError(.previewEmpty)
        }
        do {
            let preview = try await engine.recording.preview(
                evidence, of: id, buying: posted.productID.map(ProductID.init(rawValue:)),
                intent: try OwnershipClaim.Intent(posted.intent), app: holder.app,
                environment: environment)
            return try JSONResponse.ok(
                PurchasePreview(preview, of: id, namingOwners: holder.kind == .secret))
        } catch let failure as EngineFailure {
            throw ProblemError(failure, subject: .purchases)
        }
    }
}

extension OwnershipRoutes {
    @Sendable func transfers(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        try await server.answers.respond(request, context) { id, environment in
            let transfers = try await engine.ownership.transfers(of: id, app: holder.app)
                .filter { $0.purchase.environment == environment }
            return TransferList(items: transfers.map { PerennialContract.Transfer($0) })
        }
    }

    @Sendable func transfer(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let order = try await Self.order(in: request)
        let kept = try await engine.ownership.transfer(order, to: id, app: holder.app)
        return try JSONResponse.ok(PerennialContract.Transfer(kept))
    }

    @Sendable func undoTransfer(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let number = try Self.transfer(named: context.parameters.get("transfer_id") ?? "")
        let undone = try await engine.ownership.undoTransfer(number, of: id, app: holder.app)
        return try JSONResponse.ok(PerennialContract.Transfer(undone))
    }

    /// Returns the number that a transfer's id stands for.
    static func transfer(named name: String) throws -> Int64 {
        guard let number = Int64(name.dropFirst("trf_".count)), name == "trf_\(number)" else {
            throw ProblemError(.transferUnknown, detail: "Found \(EngineFailure.quoted(name)).")
        }
        return number
    }

    @Sendable func block(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let order = try await Self.order(in: request)
        try await engine.ownership.block(order, of: id, app: holder.app)
        return try JSONResponse.ok(
            Block(originalTransactionID: order.purchase.original.rawValue, blocked: true))
    }

    @Sendable func unblock(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let original = context.parameters.get("original_transaction_id") ?? ""
        let purchase = PurchaseID(
            TransactionID(rawValue: original), in: try RequestReader.environment(in: request))
        try await engine.ownership.unblock(purchase, of: id, app: holder.app)
        return try JSONResponse.ok(Block(originalTransactionID: original, blocked: false))
    }

    private static func order(in request: Request) async throws -> OwnershipChange {
        let environment = try RequestReader.environment(in: request)
        let asked = try await request.value(OwnershipRequest.self, max: BodyLimit.order)
        return try OwnershipChange(asked, in: environment)
    }
}

extension OwnershipChange {
    /// Converts a request to the engine's form.
    ///
    /// - Throws: ``ProblemError`` if the reason is too long to be stored.
    init(_ asked: OwnershipRequest, in environment: Ledger.Environment) throws {
        try ProblemError.requireLength(for: asked.reason, bytesMax: Self.reasonBytesMax)
        self.init(
            purchase: PurchaseID(
                TransactionID(rawValue: asked.originalTransactionID), in: environment),
            reason: asked.reason)
    }
}

extension PurchasePreview {
    fileprivate init(
        _ preview: Preview, of id: CustomerID, namingOwners: Bool
    ) {
        self.init(
            customerID: id.rawValue, environment: StoreEnvironment(preview.environment),
            purchases: preview.purchases.map { Shown($0, namingOwners: namingOwners) },
            product: preview.advice.map {
                Advice(
                    productID: $0.product.rawValue, buy: $0.obstacle == nil,
                    why: $0.obstacle?.rawValue)
            })
    }
}

extension PurchasePreview.Shown {
    fileprivate init(_ shown: Preview.Shown, namingOwners: Bool) {
        let (outcome, why): (String, String?) =
            switch shown.verdict {
            case .alreadyTheirs: ("nothing", nil)
            case .link: ("link", nil)
            case .move: ("move", nil)
            case .share, .shareInstead: ("share", nil)
            case .refuse(let refusal): ("refuse", refusal.rawValue)
            }
        let isAnothers = shown.owner != nil && !shown.belongsToClaimant
        self.init(
            purchaseID: shown.purchase.description,
            originalTransactionID: shown.purchase.original.rawValue,
            productID: shown.product?.rawValue, active: shown.isInUse,
            owner: shown.belongsToClaimant ? "customer" : isAnothers ? "another" : "nobody",
            ownerKind: shown.ownerKind.map { OwnerKind($0) },
            ownerID: namingOwners && isAnothers ? shown.owner?.rawValue : nil,
            ownerHint: isAnothers ? shown.ownerHint : nil, outcome: outcome, why: why)
    }
}

extension PerennialContract.Transfer {
    init(_ kept: StoredTransfer) {
        self.init(
            transferID: kept.stays ? nil : "trf_\(kept.number)",
            originalTransactionID: kept.purchase.original.rawValue,
            environment: StoreEnvironment(kept.purchase.environment), to: kept.customer.rawValue)
        if !kept.stays {
            kind = kept.kind.rawValue
            from = kept.former?.rawValue
        }
        evidence = kept.evidence.rawValue
        reason = kept.reason
        at = Timestamp(kept.at)
        undoneAt = kept.undoneAt.map { Timestamp($0) }
    }
}
