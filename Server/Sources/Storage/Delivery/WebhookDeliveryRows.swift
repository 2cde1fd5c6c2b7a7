import Ledger

/// A delivery to be added.
package struct NewDelivery: Hashable, Sendable {
    /// The id of the message: the value of the header `webhook-id`.
    package var message: String
    /// The event's number in the log; 0 for a test.
    package var sequence: Int64
    package var kind: String
    package var stream: String
    /// The body to post. Nil if the body is to be rendered before the first attempt.
    package var body: [UInt8]?

    package init(message: String, sequence: Int64, kind: String, stream: String, body: [UInt8]?) {
        self.message = message
        self.sequence = sequence
        self.kind = kind
        self.stream = stream
        self.body = body
    }
}

extension EventEntry {
    /// The stream in which deliveries keep their order: the stream of the event's customer. While
    /// the purchase has no owner, this is the stream of its account token or, if there is no token,
    /// of the purchase itself.
    package var stream: String {
        customer?.rawValue ?? accountToken ?? purchase?.description ?? ""
    }
}

/// The delivery of one event to one webhook.
package struct StoredDelivery: Hashable, Sendable {
    package var message: String
    package var sequence: Int64
    package var kind: String
    package var stream: String
    package var state: State
    package var createdAt: Instant
    /// When the next attempt is due. Nil if the delivery has ended, or waits for an earlier
    /// delivery of its stream.
    package var dueAt: Instant?
    package var attempts: Int
    package var attemptedAt: Instant?
    package var status: Int?
    package var trouble: String?
    package var endedAt: Instant?

    package enum State: String, Hashable, Sendable, CaseIterable {
        case waiting
        case delivered
        case failed
    }
}

/// A delivery that one server has leased in order to attempt it.
package struct DeliveryLease: Hashable, Sendable {
    package var message: String
    package var sequence: Int64
    package var stream: String
    /// The number of attempts since the delivery was added or replayed.
    package var tries: Int
    /// The number of all attempts, including the attempts before a replay.
    package var attempts: Int
    package var body: [UInt8]?
    package var holder: String
}

/// The result of one attempt.
package struct DeliveryAttempt: Hashable, Sendable {
    package var at: Instant
    package var milliseconds: Int64
    /// The HTTP status. Nil if there was no answer.
    package var status: Int?
    package var trouble: String?
    /// The beginning of the receiver's answer. Nil if there was none.
    package var answer: String?

    package init(
        at: Instant, milliseconds: Int64, status: Int? = nil, trouble: String? = nil,
        answer: String? = nil
    ) {
        self.at = at
        self.milliseconds = milliseconds
        self.status = status
        self.trouble = trouble
        self.answer = answer
    }
}

extension LeaseQueue {
    /// Deliveries of events: one queue for each webhook. A successful delivery is recorded even if
    /// its lease was lost.
    static let webhookDeliveries = Self(
        table: "webhook_deliveries", key: ["app", "webhook", "message"], scope: ["app", "webhook"],
        columns: "sequence, stream, tries, attempts, body", since: "created_at_ms",
        attempts: "attempts", trouble: "trouble", troubleCharactersMax: 300,
        unfinished: "ended_at_ms IS NULL", completesWithoutLease: true)
}

/// Messages to webhooks: due, delivered and failed.
package struct WebhookDeliveryRows: RowGroup {
    package let tx: DatabaseSession

    // MARK: - Adding

    /// Adds deliveries in order. Existing deliveries are unchanged.
    package func add(
        _ deliveries: [NewDelivery], to webhook: WebhookID, of app: AppID, at now: Instant
    ) throws(StorageFailure) {
        guard !deliveries.isEmpty else { return }
        try insert(deliveries, to: webhook, of: app, at: now)
        try startNext(in: deliveries.map(\.stream), to: webhook, of: app, at: now)
    }

    private func insert(
        _ deliveries: [NewDelivery], to webhook: WebhookID, of app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try connection.runEach(
            "INSERT INTO webhook_deliveries (app, webhook, message, sequence, kind, stream, state, "
                + "created_at_ms, tries, attempts, body, lease_until_ms) "
                + "VALUES ($1, $2, $3, $4, $5, $6, 'waiting', $7, 0, 0, $8, 0) "
                + "ON CONFLICT (app, webhook, message) DO NOTHING",
            deliveries.map {
                [
                    .text(app.rawValue), .text(webhook.rawValue), .text($0.message),
                    .integer($0.sequence), .text($0.kind), .text($0.stream),
                    .integer(now.milliseconds), $0.body.map { .bytes($0) } ?? .null,
                ]
            })
    }

    /// Marks the first waiting delivery of each stream as due, unless a delivery of the stream is
    /// due already.
    func startNext(
        in streams: [String], to webhook: WebhookID, of app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let streams = Set(streams).sorted()
        let keys = streams.map {
            [.text(app.rawValue), .text(webhook.rawValue), .text($0)] as [Value]
        }
        let started = try connection.rowsEach(Self.selectStarted, keys)
        let waiting = zip(keys, started).filter { $0.1.isEmpty }.map(\.0)
        let next = try connection.rowsEach(Self.selectNext, waiting)
        let starts = try next.compactMap(\.first).read { row throws(StorageFailure) in
            [
                .integer(now.milliseconds), .text(app.rawValue), .text(webhook.rawValue),
                .text(try row.text()),
            ] as [Value]
        }
        try connection.runEach(
            "UPDATE webhook_deliveries SET due_at_ms = $1 "
                + "WHERE app = $2 AND webhook = $3 AND message = $4", starts)
    }

    private static let ofStream =
        "FROM webhook_deliveries WHERE app = $1 AND webhook = $2 AND stream = $3 "
        + "AND ended_at_ms IS NULL"
    static let selectStarted = "SELECT message \(ofStream) AND due_at_ms IS NOT NULL LIMIT 1"
    static let selectNext = "SELECT message \(ofStream) ORDER BY sequence, message LIMIT 1"

    // MARK: - Leases

    /// Whether any delivery is due. This check avoids a write transaction.
    package func hasDue(
        to webhook: WebhookID, of app: AppID, by now: Instant
    ) throws(StorageFailure) -> Bool {
        try !connection.rows(
            "SELECT 1 FROM webhook_deliveries WHERE app = $1 AND webhook = $2 "
                + "AND due_at_ms <= $3 LIMIT 1",
            [.text(app.rawValue), .text(webhook.rawValue), .integer(now.milliseconds)]
        ).isEmpty
    }

    /// Leases due deliveries of a webhook, the longest overdue first.
    package func lease(
        to webhook: WebhookID, of app: AppID, dueBy now: Instant, limit: Int, for holder: String,
        lease: Duration
    ) throws(StorageFailure) -> [DeliveryLease] {
        let rows = try tx.queues.leaseDue(
            .webhookDeliveries, in: [.text(app.rawValue), .text(webhook.rawValue)], by: now,
            limit: limit, for: holder, lease: lease)
        return try rows.read { row throws(StorageFailure) in
            let (sequence, stream) = (try row.integer(), try row.text())
            let (tries, attempts) = (try row.count(), try row.count())
            let body = try row.optionalBytes()
            try row.skip(2)
            return DeliveryLease(
                message: try row.text(), sequence: sequence, stream: stream, tries: tries,
                attempts: attempts, body: body, holder: holder)
        }
    }

    private static func key(
        _ message: String, _ webhook: WebhookID, _ app: AppID
    ) -> [Value] {
        [.text(app.rawValue), .text(webhook.rawValue), .text(message)]
    }

    /// Releases a lease without an attempt. The delivery stays due.
    package func release(
        _ lease: DeliveryLease, to webhook: WebhookID, of app: AppID
    ) throws(StorageFailure) {
        try tx.queues.release(
            Self.key(lease.message, webhook, app), of: .webhookDeliveries, by: lease.holder)
    }

    // MARK: - Results

    /// Records a delivery that was accepted, even if the lease was lost, and marks the next
    /// delivery of its stream as due.
    package func complete(
        _ lease: DeliveryLease, to webhook: WebhookID, of app: AppID, _ attempt: DeliveryAttempt
    ) throws(StorageFailure) {
        let key = Self.key(lease.message, webhook, app)
        let found = try connection.firstRow(
            "SELECT stream, lease_holder FROM webhook_deliveries "
                + "WHERE app = $1 AND webhook = $2 AND message = $3", key
        ) { row throws(StorageFailure) in (stream: try row.text(), holder: try row.optionalText()) }
        guard let found else { return }
        var attempt = attempt
        // If a person in the delivery was erased meanwhile, the answer may contain their id.
        if found.holder != lease.holder { attempt.answer = nil }
        let isNew = try tx.queues.complete(
            key, of: .webhookDeliveries, .completed(), by: lease.holder,
            Self.changes(attempt, .delivered, endedAt: attempt.at))
        guard isNew else { return }
        try insert(attempt, of: lease, to: webhook, of: app)
        // Erasing a person renames the stream.
        try startNext(in: [found.stream], to: webhook, of: app, at: attempt.at)
    }

    /// Records an attempt that failed. Does nothing if the lease was lost.
    ///
    /// - Parameter next: the time of the next attempt. Nil if no attempt will follow; the next
    ///   delivery of the stream then becomes due.
    package func fail(
        _ lease: DeliveryLease, to webhook: WebhookID, of app: AppID, _ attempt: DeliveryAttempt,
        next: Instant?
    ) throws(StorageFailure) {
        let isOurs = try tx.queues.complete(
            Self.key(lease.message, webhook, app), of: .webhookDeliveries,
            .failed(attempt.trouble, next: next), by: lease.holder,
            Self.changes(
                attempt, next == nil ? .failed : .waiting,
                endedAt: next == nil ? attempt.at : nil)
                + [("tries", .integer(Int64(lease.tries + 1)))])
        guard isOurs else { return }
        try insert(attempt, of: lease, to: webhook, of: app)
        if next == nil {
            try startNext(in: [lease.stream], to: webhook, of: app, at: attempt.at)
        }
    }

    private static func changes(
        _ attempt: DeliveryAttempt, _ state: StoredDelivery.State, endedAt: Instant?
    ) -> [QueueRows.Assignment] {
        [
            ("attempted_at_ms", .integer(attempt.at.milliseconds)),
            ("status", .integer(attempt.status.map(Int64.init))), ("state", .text(state.rawValue)),
            ("ended_at_ms", .integer(endedAt?.milliseconds)),
        ]
    }

    private func insert(
        _ attempt: DeliveryAttempt, of lease: DeliveryLease, to webhook: WebhookID, of app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "INSERT INTO webhook_attempts (app, webhook, message, attempt, at_ms, milliseconds, "
                + "status, trouble, answer) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) "
                + "ON CONFLICT (app, webhook, message, attempt) DO NOTHING",
            Self.key(lease.message, webhook, app) + [
                .integer(Int64(lease.attempts + 1)), .integer(attempt.at.milliseconds),
                .integer(attempt.milliseconds), .integer(attempt.status.map(Int64.init)),
                .text(attempt.trouble), .text(attempt.answer),
            ])
    }

    // MARK: - Replays

    /// Adds deliveries, or restarts existing deliveries at their first attempt. A delivery that is
    /// being posted may be posted once more. An existing delivery stays in its stream. This is true
    /// even if the purchase was linked to a customer since then, and new deliveries of its events
    /// belong to that customer's stream.
    package func replay(
        _ deliveries: [NewDelivery], to webhook: WebhookID, of app: AppID, at now: Instant
    ) throws(StorageFailure) {
        let keys = deliveries.map { Self.key($0.message, webhook, app) }
        try connection.runEach(
            "UPDATE webhook_deliveries SET state = 'waiting', ended_at_ms = NULL, tries = 0, "
                + "due_at_ms = CASE WHEN due_at_ms IS NULL THEN NULL ELSE $1 END "
                + "WHERE app = $2 AND webhook = $3 AND message = $4",
            keys.map { [.integer(now.milliseconds)] + $0 })
        try insert(deliveries, to: webhook, of: app, at: now)
        let streams = try connection.rowsEach(Self.selectStream, keys).joined().read {
            row throws(StorageFailure) in try row.text()
        }
        try startNext(in: streams, to: webhook, of: app, at: now)
    }

    private static let selectStream =
        "SELECT stream FROM webhook_deliveries WHERE app = $1 AND webhook = $2 AND message = $3"

    /// Removes the bodies of all deliveries of a webhook, so that they are rendered again.
    package func clearBodies(
        ofDeliveriesTo webhook: WebhookID, of app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE webhook_deliveries SET body = NULL WHERE app = $1 AND webhook = $2",
            [.text(app.rawValue), .text(webhook.rawValue)])
    }

    /// The number of deliveries of a webhook that wait, and the time when the oldest of them began
    /// to wait.
    package func backlog(
        ofDeliveriesTo webhook: WebhookID, of app: AppID
    ) throws(StorageFailure) -> QueueBacklog {
        try connection.rows(
            Self.selectWaiting,
            [
                .text(app.rawValue), .text(webhook.rawValue),
                .integer(Int64(QueueBacklog.countMax)),
            ],
            QueueBacklog.init)[0]
    }

    /// Counts deliveries that wait, even if they are not due: most of a backlog waits for an
    /// earlier delivery.
    static let selectWaiting =
        "SELECT count(*), min(created_at_ms) FROM (SELECT created_at_ms FROM webhook_deliveries "
        + "WHERE app = $1 AND webhook = $2 AND ended_at_ms IS NULL "
        + "ORDER BY created_at_ms LIMIT $3) AS waiting"
}
