import Engine
import Hummingbird
import Ledger
import PerennialContract

extension PerennialServer {
    var eventRoutes: [Route] {
        [
            secret(
                for: .read,
                OpenAPIOperation(
                    .get, Paths.events, "events", "Changes, in order",
                    description: """
                        With next_cursor no event is missed, and none comes twice. docs/events.md \
                        says when each type is emitted.
                        """,
                    parameters: [
                        .after, .limit(usual: Self.eventsDefault, most: Engine.eventsMax),
                        OpenAPIParameter(
                            name: "customer_id",
                            description: """
                                Only events of this customer, by any of their ids, even if that is \
                                only the account token of a purchase.
                                """),
                    ], output: .json(EventList.self)), events)
        ]
    }

    /// The number of events on a page if the request sets no limit.
    static let eventsDefault = 100

    /// Lists changes in order. A client that continues from `next_cursor` misses no event and gets
    /// none twice.
    @Sendable func events(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let asked = request.uri.queryParameters
        let after = try Self.logPlace(in: request)
        let limit = try Self.limit(in: request, usual: Self.eventsDefault, most: Engine.eventsMax)
        let customer = asked["customer_id"].map { CustomerID(rawValue: String($0)) }
        let page = try await engine.eventPage(
            of: holder.app, customer: customer, after: after, limit: limit)
        return try JSONResponse.ok(
            EventList(
                items: page.events.map { Event($0, in: page.epochs) },
                nextCursor: "\(page.next)"))
    }
}

extension PerennialContract.Event {
    /// Converts the engine's event to the contract's form.
    ///
    /// - Parameter epochs: the epochs of the event's log.
    init(_ event: LoggedEvent, in epochs: LogEpochs = .first) {
        let (entry, change) = (event.entry, event.entry.change)
        self.init(
            id: "evt_\(epochs.position(of: event.sequence))", sequence: event.sequence,
            type: EventType(rawValue: change.kind.rawValue), at: Timestamp(change.at),
            knownAt: Timestamp(entry.knownAt), customerID: entry.customer?.rawValue,
            customerSequence: event.customerSequence, otherCustomerID: entry.other?.rawValue,
            accountToken: entry.accountToken, purchaseID: entry.purchase?.description,
            originalTransactionID: entry.purchase?.original.rawValue,
            environment: entry.environment.map { StoreEnvironment($0) },
            productID: change.product?.rawValue, transactionID: change.transaction?.rawValue,
            ownership: change.ownership.map { PerennialContract.Ownership($0) },
            before: change.before.map { PurchaseCondition($0) },
            after: change.after.map { PurchaseCondition($0) },
            money: change.money.map { PerennialContract.Money($0) },
            why: change.expirationReason?.rawValue,
            offer: change.offer.map { RedeemedOffer($0) },
            nextProductID: change.nextProduct?.rawValue,
            nextPrice: change.nextPrice.map { PerennialContract.Money($0) },
            grant: change.grant.map { PerennialContract.Grant($0) },
            term: change.ending.map { PerennialContract.TermEnding($0) },
            wallet: change.wallet.map { WalletMovement($0) }, cause: Cause(entry.cause))
    }
}

extension WalletMovement {
    fileprivate init(_ change: WalletChange) {
        self.init(
            currency: change.currency.rawValue, amount: change.amount, before: change.before,
            after: change.after, debitID: change.debit?.rawValue, reason: change.reason,
            idempotencyKey: change.key)
    }
}

extension PurchaseCondition {
    fileprivate init(_ condition: PurchaseStatus) {
        self.init(
            productID: condition.product.rawValue, active: condition.isOpen,
            state: condition.state.map { AccessState($0) },
            until: condition.until.map { Timestamp($0) }, willRenew: condition.willRenew)
    }
}

extension PerennialContract.TermEnding {
    fileprivate init(_ ending: Ledger.TermEnding) {
        self.init(
            chain: ending.chain, from: Timestamp(ending.from), until: Timestamp(ending.until),
            daysBefore: ending.daysBefore)
    }
}

extension RedeemedOffer {
    fileprivate init(_ offer: Offer) {
        self.init(kind: offer.kind.word, id: offer.id)
    }
}

extension PerennialContract.Event.Cause {
    fileprivate init(_ cause: EventEntry.Cause) {
        switch cause {
        case .document(let id):
            self.init(kind: "document", documentID: DocumentID(bytes: id).rawValue)
        case .time: self.init(kind: "time")
        case .request: self.init(kind: "request")
        case .rebuild: self.init(kind: "rebuild")
        }
    }
}
