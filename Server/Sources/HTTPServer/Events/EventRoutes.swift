import Engine
import HTTPBasics
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The routes that list the events of an app, or stream them.
struct EventRoutes: RouteGroup {
    let server: PerennialServer

    var all: [Route] {
        [
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, Paths.events, "events", "Changes, in order",
                    description: """
                        A client that continues with next_cursor gets each event once. \
                        docs/events.md says when each type is emitted.
                        """,
                    parameters: [
                        .after, .limit(usual: Self.eventsDefault, most: EventService.eventsMax),
                        .eventsOfCustomer, .waitForEvents,
                    ], output: .json(EventList.self)), list),
            server.secret(for: .read, Self.streamOperation, stream),
        ]
    }

    private static var streamOperation: OpenAPIOperation {
        var operation = OpenAPIOperation(
            .get, Paths.eventStream, "eventStream", "Changes, as they happen",
            description: """
                The events after the cursor, and then each new one, as server-sent events. A \
                client that connects again with Last-Event-ID misses none.
                """,
            parameters: [.after, .lastEventID, .streamLimit, .eventsOfCustomer],
            output: .events(PerennialContract.Event.self))
        // A stream is never indented, because indentation needs the whole response in memory.
        operation.isIndentable = false
        return operation
    }

    /// The number of events on a page if the request sets no limit.
    static let eventsDefault = 100

    /// Lists changes in order. A client that continues from `next_cursor` gets each event once.
    /// With `wait`, an empty list is returned only after that time.
    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let query = EventQuery(
            app: holder.app, customer: Self.customer(in: request),
            limit: try RequestReader.limit(
                in: request, usual: Self.eventsDefault, most: EventService.eventsMax))
        let after = try RequestReader.logPlace(in: request)
        let wait = try RequestReader.wait(in: request)
        var page = try await eventPage(query, after: after)
        if let wait, page.events.isEmpty {
            let begin = page.next
            let found = try await server.waits.reserve(for: holder) {
                try await server.firstValue(
                    after: engine.events.logSignals(of: holder.app), within: wait, context
                ) {
                    let page = try await eventPage(query, after: begin)
                    return page.events.isEmpty ? nil : page
                }
            }
            try await server.authorization.requireKey(after: request)
            page = found ?? page
        }
        return try JSONResponse.ok(
            EventList(
                items: page.events.map { Event($0, in: page.epochs) },
                nextCursor: "\(page.next)"))
    }

    static func customer(in request: Request) -> CustomerID? {
        request.uri.queryParameters["customer_id"].map { CustomerID(rawValue: String($0)) }
    }

    func eventPage(_ query: EventQuery, after place: LogPosition?) async throws -> EventPage {
        try await engine.events.page(
            of: query.app, customer: query.customer, after: place, limit: query.limit)
    }
}

/// The events that a request asks for.
struct EventQuery: Sendable {
    var app: AppID
    /// The customer whose events are requested; nil for the events of all customers.
    var customer: CustomerID?
    /// The maximum number of events on a page.
    var limit: Int
}

extension OpenAPIParameter {
    fileprivate static let eventsOfCustomer = customerID(
        """
        Only events of the customer with this id. Any of the customer's ids will do, also the \
        account token of a purchase.
        """)

    fileprivate static let waitForEvents = OpenAPIParameter(
        name: "wait",
        description: "The seconds to wait for an event if there is none after the cursor.",
        schema: [
            "type": "integer", "minimum": .integer(CustomerWait.secondsRange.lowerBound),
            "maximum": .integer(CustomerWait.secondsRange.upperBound),
        ])

    fileprivate static let lastEventID = OpenAPIParameter(
        name: "Last-Event-ID", place: .header,
        description: "The id of the last event that the client has. Takes precedence over after.")

    fileprivate static let streamLimit = OpenAPIParameter(
        name: "limit",
        description: "The stream ends after this number of events. Without it, it does not end.",
        schema: [
            "type": "integer", "minimum": 1, "maximum": .integer(EventService.eventsMax),
        ])
}

extension PerennialContract.Event {
    /// Converts the engine's event to the contract's form.
    ///
    /// - Parameter epochs: the epochs of the event's log.
    package init(_ event: LoggedEvent, in epochs: LogEpochs = .first) {
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
            wallet: change.wallet.map { WalletMovement($0) },
            seat: change.seat.map { PerennialContract.SeatChange($0) },
            earlierEvents: entry.earlierEvents.map(Int.init), cause: Cause(entry))
    }
}

extension PerennialContract.SeatChange {
    fileprivate init(_ change: Ledger.SeatChange) {
        self.init(
            claimID: change.claim.rawValue, cause: change.cause.map { SeatEnd($0) })
    }
}

extension WalletMovement {
    init(_ change: WalletChange) {
        self.init(
            currency: change.currency.rawValue, amount: change.amount, before: change.before,
            after: change.after, debitID: change.debit?.rawValue, reason: change.reason,
            idempotencyKey: change.key, creditID: change.credit?.rawValue)
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
    fileprivate init(_ entry: EventEntry) {
        let author = entry.author.map { Author($0) }
        switch entry.cause {
        case .document(let id):
            self.init(kind: "document", documentID: DocumentID(bytes: id).rawValue)
        case .time: self.init(kind: "time")
        case .request: self.init(kind: "request", author: author)
        case .rebuild: self.init(kind: "rebuild")
        }
    }
}

extension PerennialContract.Event.Cause.Author {
    fileprivate init(_ author: EventAuthor) {
        self.init(keyName: author.keyName, keyDigits: author.keyDigits, actor: author.actor)
    }
}
