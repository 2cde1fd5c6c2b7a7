import Engine
import HTTPTypes
import Hummingbird
import Ledger
import PerennialContract
import Storage

extension HTTPField.Name {
    static let idempotencyKey = wellFormed("Idempotency-Key")
}

/// The routes that read, debit, and credit a wallet.
struct WalletRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.keyed(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/customers/{id}/wallets/{currency}", "wallet",
                    "A wallet with its statement, newest line first",
                    parameters: [
                        .proof, .environment,
                        .limit(usual: Self.statementItemsDefault, most: Self.statementItemsMax),
                        .after,
                    ], output: .json(WalletStatement.self)), statement),
            server.keyed(for: .money, Self.debitOperation, debit),
            server.secret(
                for: .support,
                OpenAPIOperation(
                    .post, "/v1/customers/{id}/wallets/{currency}/credits", "credit",
                    "Credit a wallet by hand",
                    description: """
                        For an apology, or to correct a mistake. Idempotent with the header \
                        Idempotency-Key, which is required: a repeat gets the first response again.
                        """,
                    parameters: [.environment, .requiredIdempotencyKey], input: CreditRequest.self,
                    output: .json(PerennialContract.Credit.self)), credit),
        ]
    }

    private static let debitOperation = OpenAPIOperation(
        .post, "/v1/customers/{id}/wallets/{currency}/debits", "debit", "Debit a wallet",
        description: """
            Fails with wallet_balance_too_low if the balance would be below zero, unless \
            configured otherwise. Idempotent with the header Idempotency-Key: a repeat gets the \
            first response again. An app key may debit only if the configuration says `spend: \
            app`, and then Idempotency-Key is required.
            """,
        parameters: [.proof, .environment, .idempotencyKey], input: DebitRequest.self,
        output: .json(PerennialContract.Debit.self))

    /// The maximum number of lines on a page of a statement.
    static let statementItemsMax = 1_000
    private static let statementItemsDefault = 100

    @Sendable func statement(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        let environment = try RequestReader.environment(in: request)
        let limit = try RequestReader.limit(
            in: request, usual: Self.statementItemsDefault, most: Self.statementItemsMax)
        let position = try RequestReader.listPosition(in: request)
        let currency = try Self.currency(in: context)
        let wallet = try await engine.wallets.find(
            currency, of: id, app: holder.app, environment: environment)
        return try JSONResponse.ok(
            WalletStatement(wallet, of: currency, before: position, limit: limit))
    }

    @Sendable func debit(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        try await server.authorization.requireProof(of: id, request.headers, holder)
        let environment = try RequestReader.environment(in: request)
        let asked = try await Self.debitRequest(in: request, of: holder)
        try ProblemError.requireLength(for: asked.reason, bytesMax: NewBooking.reasonBytesMax)
        let order = NewBooking(
            .debit, currency: try Self.currency(in: context),
            amount: try Self.amount(asked.amount), reason: asked.reason,
            key: try RequestReader.idempotencyKey(in: request),
            by: holder.kind == .secret ? .server : .app)
        let kept = try await engine.wallets.book(
            order, of: id, app: holder.app, environment: environment)
        return try JSONResponse.ok(PerennialContract.Debit(kept))
    }

    @Sendable func credit(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let id = try RequestReader.customerID(in: context)
        let environment = try RequestReader.environment(in: request)
        let asked = try await request.value(CreditRequest.self, max: BodyLimit.order)
        try ProblemError.requireReason(asked.reason, bytesMax: NewBooking.reasonBytesMax)
        let order = NewBooking(
            .credit, currency: try Self.currency(in: context),
            amount: try Self.amount(asked.amount), reason: asked.reason,
            key: try RequestReader.idempotencyKey(in: request))
        let kept = try await engine.wallets.book(
            order, of: id, app: holder.app, environment: environment)
        return try JSONResponse.ok(PerennialContract.Credit(kept))
    }

    /// Returns the amount if it is valid for a debit or a manual credit.
    ///
    /// - Parameter amount: the amount of a debit or a manual credit; nil if it is not a whole
    ///   number.
    static func amount(_ amount: Int64?) throws -> Int64 {
        guard let amount, (1...Ledger.Wallet.amountMax).contains(amount) else {
            throw ProblemError(.amountNotPositive)
        }
        return amount
    }

    /// Reads a server's request strictly, and an app's leniently, because an app may be newer than
    /// this server.
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
        CurrencyID(
            rawValue: try RequestReader.parameter("currency", called: "currency", in: context))
    }
}

extension PerennialContract.Debit {
    fileprivate init(_ kept: StoredBooking) {
        self.init(
            debitID: kept.booking.id.rawValue, currency: kept.booking.currency.rawValue,
            amount: kept.booking.amount, reason: kept.booking.reason,
            at: Timestamp(kept.booking.at), balance: kept.balance)
    }
}

extension PerennialContract.Credit {
    fileprivate init(_ kept: StoredBooking) {
        self.init(
            creditID: kept.booking.id.rawValue, currency: kept.booking.currency.rawValue,
            amount: kept.booking.amount, reason: kept.booking.reason,
            at: Timestamp(kept.booking.at), balance: kept.balance)
    }
}

extension WalletStatement {
    /// Makes a page with the newest lines before a position. If the position is nil, the page has
    /// the newest lines of the statement.
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
        case .credit(let id, let reason):
            (kind, creditID, self.reason) = (.credit, id.rawValue, reason)
        }
    }
}
