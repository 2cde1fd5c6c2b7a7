import Engine
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract

extension HTTPField.Name {
    fileprivate static let idempotencyKey = wellFormed("Idempotency-Key")
}

extension PerennialServer {
    var walletRoutes: [Route] {
        [
            keyed(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/wallets/{currency}", "wallet",
                    "A wallet with its statement, latest first",
                    parameters: [
                        .proof, .environment,
                        .limit(usual: Self.statementItemsDefault, most: Self.statementItemsMax),
                        .after,
                    ], output: .json(WalletStatement.self)), wallet),
            keyed(for: .money, Self.debitOperation, debit),
        ]
    }

    private static let debitOperation = OpenAPIOperation(
        .post, "/v1/customers/{id}/wallets/{currency}/debits", "debit", "Debit a wallet",
        description: """
            Fails with wallet_has_too_little below zero, unless configured otherwise. Idempotent \
            with the header Idempotency-Key: a repeat gets the first response again. With an app \
            key only if the configuration says `spend: app`, and then Idempotency-Key is required.
            """,
        parameters: [.proof, .environment, .idempotencyKey], input: DebitRequest.self,
        output: .json(PerennialContract.Debit.self))

    /// The maximum number of lines on a page of a statement.
    static let statementItemsMax = 1_000
    private static let statementItemsDefault = 100

    @Sendable func wallet(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try Self.customerID(in: context)
        try await requireProof(of: id, request.headers, holder)
        let environment = try Self.environment(in: request)
        let limit = try Self.limit(
            in: request, usual: Self.statementItemsDefault, most: Self.statementItemsMax)
        let position = try Self.listPosition(in: request)
        let currency = try Self.currency(in: context)
        let wallet = try await engine.wallet(
            currency, of: id, app: holder.app, environment: environment)
        return try JSONResponse.ok(
            WalletStatement(wallet, of: currency, before: position, limit: limit))
    }

    @Sendable func debit(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try Self.customerID(in: context)
        try await requireProof(of: id, request.headers, holder)
        let environment = try Self.environment(in: request)
        let asked = try await Self.debitRequest(in: request, of: holder)
        guard (1...Ledger.Wallet.amountMax).contains(asked.amount) else {
            throw ProblemError(.amountNotPositive)
        }
        try ProblemError.requireLength(for: asked.reason, bytesMax: NewDebit.reasonBytesMax)
        let order = NewDebit(
            currency: try Self.currency(in: context), amount: asked.amount,
            reason: asked.reason, key: try Self.idempotencyKey(in: request),
            by: holder.kind == .secret ? .server : .app)
        let kept = try await engine.debit(
            order, of: id, app: holder.app, environment: environment)
        return try JSONResponse.ok(PerennialContract.Debit(kept))
    }

    /// A server's request is read strictly. An app may be newer than this server.
    private static func debitRequest(
        in request: Request, of holder: StoredKey
    ) async throws -> DebitRequest {
        guard holder.kind == .secret else {
            return try await request.lenientValue(DebitRequest.self, max: BodyLimit.order)
        }
        try request.requireQuery(among: debitOperation.queryParameters)
        return try await request.value(DebitRequest.self, max: BodyLimit.order)
    }

    private static func currency(in context: ServerContext) throws -> CurrencyID {
        CurrencyID(rawValue: try parameter("currency", called: "currency", in: context))
    }

    private static let idempotencyKeyBytesMax = 255

    static func idempotencyKey(in request: Request) throws -> String? {
        guard let key = request.headers[.idempotencyKey] else { return nil }
        guard !key.isEmpty, key.utf8.count <= idempotencyKeyBytesMax else {
            throw ProblemError(.idempotencyKeyLength(bytesMax: idempotencyKeyBytesMax))
        }
        return key
    }
}

extension PerennialContract.Debit {
    fileprivate init(_ kept: StoredDebit) {
        self.init(
            debitID: kept.debit.id.rawValue, currency: kept.debit.currency.rawValue,
            amount: kept.debit.amount, reason: kept.debit.reason, at: Timestamp(kept.debit.at),
            balance: kept.balance)
    }
}

extension WalletStatement {
    /// A page with the newest lines before a position, or with the newest of all if it is nil.
    init(
        _ wallet: Ledger.Wallet, of currency: CurrencyID, before position: ListCursor?, limit: Int
    ) {
        let entries = wallet.entries(before: position)
        let page = entries.suffix(limit)
        let last = page.count < entries.count ? page.first : nil
        self.init(
            currency: currency.rawValue, balance: wallet.balance,
            items: page.reversed().map(Line.init),
            nextCursor: last?.position.text)
    }
}

extension WalletStatement.Line {
    fileprivate init(_ entry: Ledger.Wallet.Entry) {
        self.init(
            at: Timestamp(entry.at), kind: .debit, amount: entry.amount, balance: entry.balance)
        switch entry.cause {
        case .purchase(let transaction, let product):
            (kind, transactionID, productID) = (.purchase, transaction.rawValue, product.rawValue)
        case .refund(let transaction, let product):
            (kind, transactionID, productID) = (.refund, transaction.rawValue, product.rawValue)
        case .debit(let id, let reason):
            (debitID, self.reason) = (id.rawValue, reason)
        }
    }
}
