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
    /// Why the request has not been answered so far. Nil if no attempt failed.
    package var lastError: String?
    /// The information that was sent to Apple. Nil if no information was sent.
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
    /// No result yet: try again at this time. The text says why.
    case later(Instant, String, isAttempt: Bool)
}

extension LeaseQueue {
    /// The queue of requests to be answered. Once an answer was sent, it is recorded even if the
    /// lease of the request was lost.
    static let inquiries = Self(
        table: "consumption_questions", key: ["app", "environment", "purchase", "document"],
        scope: ["app"], columns: ConsumptionInquiryRows.inquiryColumns, attempts: "attempts",
        trouble: "trouble", unfinished: "state = 'waiting'", completesWithoutLease: true)
}

/// Apple's requests for consumption information, and when they are due.
package struct ConsumptionInquiryRows: RowGroup {
    package let tx: DatabaseSession

    // MARK: - Recording

    /// Records a consumption request that came with a new document.
    package func insert(
        _ question: ConsumptionInquiry, from document: StoredDocument
    ) throws(StorageFailure) {
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
    }

    // MARK: - Leases and outcomes

    /// Leases requests that are due, the longest overdue first. No other server can lease these
    /// requests until the lease expires.
    package func lease(
        of app: AppID, dueBy now: Instant, limit: Int, for worker: CheckWorker
    ) throws(StorageFailure) -> [StoredConsumptionInquiry] {
        try tx.queues.leaseDue(
            .inquiries, in: [.text(app.rawValue)], by: now, limit: limit, for: worker.holder,
            lease: worker.lease
        ).read { row throws(StorageFailure) in
            let stored = try Self.consumptionInquiry(&row)
            try row.skip(LeaseQueue.inquiries.key.count)
            return stored
        }
    }

    /// Records the outcome of a leased request. If the lease was lost, records the outcome only if
    /// it is an answer, because that answer has been sent. Returns whether the request was closed.
    package func complete(
        _ leased: StoredConsumptionInquiry, _ end: ConsumptionOutcome, in app: AppID,
        by holder: String,
        at now: Instant
    ) throws(StorageFailure) -> Bool {
        let (state, outcome, isAttempt): (StoredConsumptionInquiry.State, LeaseOutcome, Bool) =
            switch end {
            case .answered: (.answered, .completed(), true)
            case .withheld(let why): (.withheld, .failed(why, next: nil), false)
            case .givenUp(let why): (.givenUp, .failed(why, next: nil), false)
            case .later(let next, let why, let isTry): (.waiting, .failed(why, next: next), isTry)
            }
        var answer: ConsumptionResponse?
        if case .answered(let sent) = end { answer = sent }
        let isClosed = state != .waiting
        let isRecorded = try tx.queues.complete(
            Self.key(of: leased, in: app), of: .inquiries, outcome, by: holder,
            isAttempt: isAttempt,
            [
                ("state", .text(state.rawValue)),
                ("ended_at_ms", .integer(isClosed ? now.milliseconds : nil)),
                ("delivery", .text(answer?.delivery.rawValue)), ("used", .integer(answer?.used)),
                ("had_sample", .integer(answer.map { $0.hadSample ? 1 : 0 })),
                ("preference", .text(answer?.preference?.rawValue)),
            ])
        return isClosed && isRecorded
    }

    /// Marks the pending requests about purchases as due, because relevant information has changed.
    /// Ends the leases of these requests, so that a request that is being processed now is
    /// processed again.
    package func reschedule(
        about purchases: [PurchaseID], in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.runEach(
            "UPDATE consumption_questions SET due_at_ms = $1, lease_until_ms = 0, "
                + "lease_holder = NULL WHERE app = $2 AND environment = $3 AND purchase = $4 "
                + "AND due_at_ms IS NOT NULL",
            purchases.map { [.integer(now.milliseconds)] + PurchaseRows.key(of: $0, in: app) })
    }

    /// Marks pending requests as due if their purchase has the id as its account token.
    package func reschedule(
        named id: CustomerID, in app: AppID, at now: Instant
    ) throws(StorageFailure) {
        for environment in Environment.allCases {
            let named = try tx.accountTokens.timelines([id], in: app, environment: environment)
            try reschedule(about: named.map(\.purchase), in: app, at: now)
        }
    }

    // MARK: - Reading

    /// All requests about purchases, in the order in which Apple made them.
    package func all(
        about purchases: [PurchaseID], in app: AppID
    ) throws(StorageFailure) -> [StoredConsumptionInquiry] {
        try connection.rowsEach(
            "SELECT \(Self.inquiryColumns) FROM consumption_questions "
                + "WHERE app = $1 AND environment = $2 AND purchase = $3",
            purchases.map { PurchaseRows.key(of: $0, in: app) }
        ).joined().read(Self.consumptionInquiry).sorted {
            ($0.inquiry.askedAt, $0.inquiry.transaction)
                < ($1.inquiry.askedAt, $1.inquiry.transaction)
        }
    }

    private static func key(of stored: StoredConsumptionInquiry, in app: AppID) -> [Value] {
        PurchaseRows.key(of: stored.inquiry.purchase, in: app) + [.bytes(stored.document)]
    }

    fileprivate static let inquiryColumns =
        "environment, purchase, transaction_id, product, reason, asked_at_ms, document, state, "
        + "attempts, ended_at_ms, trouble, delivery, used, had_sample, preference"

    private static func consumptionInquiry(_ row: inout ColumnReader) throws(StorageFailure)
        -> StoredConsumptionInquiry
    {
        let inquiry = ConsumptionInquiry(
            purchase: try row.purchase(), transaction: try row.transaction(),
            product: try row.product(), reason: try row.optionalText(), askedAt: try row.instant())
        let document = try row.bytes()
        guard let state = StoredConsumptionInquiry.State(rawValue: try row.text()) else {
            throw StorageFailure("unknown request state: use a newer version of Perennial")
        }
        return StoredConsumptionInquiry(
            inquiry: inquiry, document: document, state: state, attempts: try row.count(),
            endedAt: try row.optionalInstant(), lastError: try row.optionalText(),
            response: try response(&row))
    }

    private static func response(_ row: inout ColumnReader) throws(StorageFailure)
        -> ConsumptionResponse?
    {
        let (delivery, used) = (try row.optionalText(), try row.optionalInteger())
        let (hadSample, preference) = (try row.optionalInteger() == 1, try row.optionalText())
        guard let delivery else { return nil }
        return ConsumptionResponse(
            delivery: try ConsentRows.delivery(delivery), used: used, hadSample: hadSample,
            preference: preference.flatMap(RefundPreference.init))
    }
}
