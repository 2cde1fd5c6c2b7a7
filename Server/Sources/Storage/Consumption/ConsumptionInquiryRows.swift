import Ledger

/// Apple's request for consumption information about a purchase whose customer has asked for a
/// refund.
package struct ConsumptionInquiry: Hashable, Sendable {
    package var purchase: PurchaseID
    package var transaction: TransactionID
    package var product: ProductID
    /// The reason in Apple's wording; nil if Apple gives none.
    package var reason: String?
    package var askedAt: Instant

    /// How long Apple accepts a response after the request ("Send Consumption Information").
    package static let responseWindow = Duration.hours(12)

    package init(
        purchase: PurchaseID, transaction: TransactionID, product: ProductID, reason: String?,
        askedAt: Instant
    ) {
        self.purchase = purchase
        self.transaction = transaction
        self.product = product
        self.reason = reason
        self.askedAt = askedAt
    }

    package var deadline: Instant { askedAt + Self.responseWindow }
}

/// A stored consumption request and its outcome.
package struct StoredConsumptionInquiry: Hashable, Sendable {
    package var inquiry: ConsumptionInquiry
    package var document: [UInt8]
    package var state: State
    package var attempts: Int
    package var endedAt: Instant?
    /// Why the request has not been answered, or not yet.
    package var lastError: String?
    /// The information that was sent.
    package var response: ConsumptionResponse?

    package enum State: String, Hashable, Sendable, CaseIterable {
        case waiting
        case answered
        /// Nothing was sent, because of a policy or missing consent.
        case withheld
        /// The information could not be sent in time, or Apple rejected it.
        case givenUp = "given_up"
    }
}

/// The outcome of one attempt.
package enum ConsumptionOutcome: Hashable, Sendable {
    case answered(ConsumptionResponse)
    case withheld(String)
    case givenUp(String)
    /// Nothing yet; try again at this time.
    case later(Instant, String, isAttempt: Bool)
}

extension DatabaseSession {
    /// The maximum length in characters of a stored error description.
    private static let consumptionErrorCharactersMax = 300

    // MARK: - Recording

    /// Records the consumption requests that came with new documents, and emits an event for each.
    func recordConsumptionInquiries(_ attested: [DocumentWithFacts]) throws(StorageFailure) {
        for each in attested {
            guard let question = each.consumptionInquiry else { continue }
            let document = each.document
            try connection.run(
                "INSERT INTO consumption_questions (app, environment, purchase, transaction_id, "
                    + "document, product, reason, asked_at_ms, due_at_ms, attempts, state, "
                    + "lease_until_ms) "
                    + "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 'waiting', 0)",
                [
                    .text(document.app.rawValue), .text(question.purchase.environment.rawValue),
                    .text(question.purchase.original.rawValue),
                    .text(question.transaction.rawValue), .bytes(document.id),
                    .text(question.product.rawValue), .text(question.reason),
                    .integer(question.askedAt.milliseconds),
                    .integer(document.receivedAt.milliseconds),
                ])
            try emitConsumptionEvent(
                .consumptionAsked, question, in: document.app, by: .document(document.id),
                at: document.receivedAt)
        }
    }

    private func emitConsumptionEvent(
        _ kind: Change.Kind, _ question: ConsumptionInquiry, in app: AppID,
        by cause: EventEntry.Cause, at now: Instant
    ) throws(StorageFailure) {
        try emitStatusNeutralEvent(
            Change(
                kind, at: kind == .consumptionAsked ? question.askedAt : now,
                product: question.product, transaction: question.transaction),
            of: question.purchase, in: app, by: cause, at: now)
    }

    // MARK: - Leases and outcomes

    /// Leases requests that are due, the longest overdue first. No other server can lease them
    /// until the lease expires.
    package func leaseConsumptionInquiries(
        of app: AppID, dueBy now: Instant, limit: Int, for worker: CheckWorker
    ) throws(StorageFailure) -> [StoredConsumptionInquiry] {
        let clock = try clock()
        let leased = try consumptionInquiries(
            "app = $1 AND due_at_ms <= $2 AND lease_until_ms <= $3 ORDER BY due_at_ms LIMIT $4 "
                + dialect.skippingLockedRows,
            [
                .text(app.rawValue), .integer(now.milliseconds), .integer(clock),
                .integer(Int64(limit)),
            ])
        try connection.runEach(
            "UPDATE consumption_questions SET lease_until_ms = $1, lease_holder = $2 "
                + "WHERE app = $3 AND environment = $4 AND purchase = $5 AND document = $6",
            leased.map {
                [.integer(clock + worker.lease.wholeMilliseconds), .text(worker.holder)]
                    + Self.key(of: $0, in: app)
            })
        return leased
    }

    package func hasDueConsumptionInquiries(
        of app: AppID, dueBy now: Instant
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT purchase FROM consumption_questions WHERE app = $1 AND due_at_ms <= $2 LIMIT 1",
            [.text(app.rawValue), .integer(now.milliseconds)]
        ).isEmpty
    }

    /// Records the outcome of a leased request, and emits an event if the request is closed. If the
    /// lease was lost, only an answer is recorded, because it has been sent.
    package func completeConsumptionInquiry(
        _ leased: StoredConsumptionInquiry, _ end: ConsumptionOutcome, in app: AppID,
        by holder: String,
        at now: Instant
    ) throws(StorageFailure) {
        var after = leased
        var due: Instant?
        switch end {
        case .answered(let answer):
            (after.state, after.response, after.lastError) = (.answered, answer, nil)
            after.attempts += 1
        case .withheld(let why): (after.state, after.lastError) = (.withheld, why)
        case .givenUp(let why): (after.state, after.lastError) = (.givenUp, why)
        case .later(let moment, let why, let isAttempt):
            (due, after.lastError) = (moment, why)
            after.attempts += isAttempt ? 1 : 0
        }
        let answer = after.response
        let isTheirs = answer == nil ? " AND lease_holder = $14" : ""
        let holders: [Value] = answer == nil ? [.text(holder)] : []
        let count = try connection.run(
            "UPDATE consumption_questions SET state = $1, due_at_ms = $2, attempts = $3, "
                + "ended_at_ms = $4, trouble = $5, delivery = $6, used = $7, had_sample = $8, "
                + "preference = $9, lease_until_ms = 0, lease_holder = NULL "
                + "WHERE app = $10 AND environment = $11 AND purchase = $12 AND document = $13 "
                + "AND state = 'waiting'" + isTheirs,
            [
                .text(after.state.rawValue), .integer(due?.milliseconds),
                .integer(Int64(after.attempts)), .integer(due == nil ? now.milliseconds : nil),
                .text(
                    after.lastError.map { String($0.prefix(Self.consumptionErrorCharactersMax)) }),
                .text(answer?.delivery.rawValue), .integer(answer?.used),
                .integer(answer.map { $0.hadSample ? 1 : 0 }),
                .text(answer?.preference?.rawValue),
            ] + Self.key(of: leased, in: app) + holders)
        guard due == nil, count > 0 else { return }
        try emitConsumptionEvent(
            answer == nil ? .consumptionUnanswered : .consumptionAnswered, leased.inquiry,
            in: app, by: .time, at: now)
    }

    /// Makes pending requests about purchases due now, because relevant information has changed.
    /// Also ends their leases, so that a request being processed is processed again.
    package func rescheduleConsumptionInquiries(
        about purchases: [PurchaseID], in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.runEach(
            "UPDATE consumption_questions SET due_at_ms = $1, lease_until_ms = 0, "
                + "lease_holder = NULL WHERE app = $2 AND environment = $3 AND purchase = $4 "
                + "AND due_at_ms IS NOT NULL",
            purchases.map { [.integer(now.milliseconds)] + Self.key(of: $0, in: app) })
    }

    /// Makes pending requests due now if their purchase has the id as its account token.
    func rescheduleConsumptionInquiries(
        named id: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            let named = try timelinesByToken([id], in: app, environment: environment)
            try rescheduleConsumptionInquiries(about: named.map(\.purchase), in: app, at: now)
        }
    }

    // MARK: - Reading

    /// All requests about purchases, in the order in which Apple made them.
    package func consumptionInquiries(
        about purchases: [PurchaseID], in app: AppID
    ) throws(StorageFailure) -> [StoredConsumptionInquiry] {
        var found: [StoredConsumptionInquiry] = []
        for purchase in purchases {
            found += try consumptionInquiries(
                "app = $1 AND environment = $2 AND purchase = $3",
                Self.key(of: purchase, in: app))
        }
        return found.sorted {
            ($0.inquiry.askedAt, $0.inquiry.transaction)
                < ($1.inquiry.askedAt, $1.inquiry.transaction)
        }
    }

    private static func key(of stored: StoredConsumptionInquiry, in app: AppID) -> [Value] {
        key(of: stored.inquiry.purchase, in: app) + [.bytes(stored.document)]
    }

    private func consumptionInquiries(
        _ condition: String, _ values: [Value]
    ) throws(StorageFailure) -> [StoredConsumptionInquiry] {
        let rows = try connection.rows(
            "SELECT environment, purchase, transaction_id, document, product, reason, "
                + "asked_at_ms, attempts, ended_at_ms, state, trouble, delivery, used, "
                + "had_sample, preference FROM consumption_questions WHERE \(condition)", values)
        var found: [StoredConsumptionInquiry] = []
        for row in rows { found.append(try Self.consumptionInquiry(row)) }
        return found
    }

    private static func consumptionInquiry(_ row: Row) throws(StorageFailure)
        -> StoredConsumptionInquiry
    {
        guard let state = StoredConsumptionInquiry.State(rawValue: try row.text(9)) else {
            throw StorageFailure("unknown request state: use a newer version of Perennial")
        }
        var answer: ConsumptionResponse?
        if let delivery = try row.optionalText(11) {
            answer = ConsumptionResponse(
                delivery: try Self.delivery(delivery), used: try row.optionalInteger(12),
                hadSample: try row.optionalInteger(13) == 1,
                preference: try row.optionalText(14).flatMap(RefundPreference.init))
        }
        return StoredConsumptionInquiry(
            inquiry: ConsumptionInquiry(
                purchase: PurchaseID(
                    TransactionID(rawValue: try row.text(1)),
                    in: try Environment.stored(try row.text(0))),
                transaction: TransactionID(rawValue: try row.text(2)),
                product: ProductID(rawValue: try row.text(4)), reason: try row.optionalText(5),
                askedAt: Instant(milliseconds: try row.integer(6))),
            document: try row.bytes(3), state: state, attempts: Int(try row.integer(7)),
            endedAt: try row.optionalInteger(8).map(Instant.init(milliseconds:)),
            lastError: try row.optionalText(10), response: answer)
    }
}
