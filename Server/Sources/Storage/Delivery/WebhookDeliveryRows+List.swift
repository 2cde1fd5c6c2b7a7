import Ledger

/// A position in the list of deliveries, which is ordered newest first.
///
/// Deliveries that were created together are in the order of their events. Deliveries of the same
/// event are in the order of their ids.
package struct DeliveryPosition: Hashable, Sendable, Comparable {
    package var createdAt: Instant
    /// The number of the event. 0 for a test.
    package var sequence: Int64
    package var message: String

    package init(createdAt: Instant, sequence: Int64, message: String) {
        self.createdAt = createdAt
        self.sequence = sequence
        self.message = message
    }

    package static func < (one: Self, other: Self) -> Bool {
        (one.createdAt, one.sequence, one.message)
            < (other.createdAt, other.sequence, other.message)
    }
}

extension StoredDelivery {
    package var position: DeliveryPosition {
        DeliveryPosition(createdAt: createdAt, sequence: sequence, message: message)
    }
}

extension WebhookDeliveryRows {
    private static let columns =
        "message, sequence, kind, stream, state, created_at_ms, due_at_ms, attempts, "
        + "attempted_at_ms, status, trouble, ended_at_ms"

    /// The deliveries of a webhook, newest first.
    ///
    /// - Parameter streams: returns only deliveries of these streams; nil returns all.
    package func all(
        to webhook: WebhookID, of app: AppID, in state: StoredDelivery.State?, streams: [String]?,
        after position: DeliveryPosition?, limit: Int
    ) throws(StorageFailure) -> [StoredDelivery] {
        var found: [StoredDelivery] = []
        let sets: [String?] = streams.map { $0.map(Optional.some) } ?? [nil]
        for stream in sets {
            var values: [Value] = [.text(app.rawValue), .text(webhook.rawValue)]
            var condition = "app = $1 AND webhook = $2"
            func add(_ value: Value) -> String {
                values.append(value)
                return "$\(values.count)"
            }
            if let stream { condition += " AND stream = \(add(.text(stream)))" }
            if let state { condition += " AND state = \(add(.text(state.rawValue)))" }
            if let position {
                condition +=
                    " AND (created_at_ms, sequence, message) < "
                    + "(\(add(.integer(position.createdAt.milliseconds))), "
                    + "\(add(.integer(position.sequence))), \(add(.text(position.message))))"
            }
            let end = add(.integer(Int64(limit)))
            found += try connection.rows(
                "SELECT \(Self.columns) FROM webhook_deliveries WHERE \(condition) "
                    + "ORDER BY created_at_ms DESC, sequence DESC, message DESC LIMIT \(end)",
                values, Self.delivery)
        }
        return Array(found.sorted { $0.position > $1.position }.prefix(limit))
    }

    package func find(
        _ message: String, to webhook: WebhookID, of app: AppID
    ) throws(StorageFailure) -> StoredDelivery? {
        try connection.firstRow(
            "SELECT \(Self.columns) FROM webhook_deliveries "
                + "WHERE app = $1 AND webhook = $2 AND message = $3",
            [.text(app.rawValue), .text(webhook.rawValue), .text(message)], Self.delivery)
    }

    private static func delivery(
        _ row: inout ColumnReader
    ) throws(StorageFailure) -> StoredDelivery {
        StoredDelivery(
            message: try row.text(), sequence: try row.integer(), kind: try row.text(),
            stream: try row.text(), state: try StoredDelivery.State.stored(try row.text()),
            createdAt: try row.instant(), dueAt: try row.optionalInstant(),
            attempts: try row.count(), attemptedAt: try row.optionalInstant(),
            status: try row.optionalInteger().map(Int.init), trouble: try row.optionalText(),
            endedAt: try row.optionalInstant())
    }

    /// All attempts of a delivery, in order.
    package func attempts(
        of message: String, to webhook: WebhookID, of app: AppID
    ) throws(StorageFailure) -> [DeliveryAttempt] {
        try connection.rows(
            "SELECT at_ms, milliseconds, status, trouble, answer FROM webhook_attempts "
                + "WHERE app = $1 AND webhook = $2 AND message = $3 ORDER BY attempt",
            [.text(app.rawValue), .text(webhook.rawValue), .text(message)]
        ) { row throws(StorageFailure) in
            DeliveryAttempt(
                at: try row.instant(), milliseconds: try row.integer(),
                status: try row.optionalInteger().map(Int.init),
                trouble: try row.optionalText(), answer: try row.optionalText())
        }
    }

    // MARK: - Deleting

    /// Deletes deliveries that ended long ago, and deliveries of deleted webhooks. Returns the
    /// number of deleted deliveries.
    package func delete(
        of app: AppID, deliveredBefore delivered: Instant, failedBefore failed: Instant, limit: Int
    ) throws(StorageFailure) -> Int {
        var count = 0
        for (state, end) in [("delivered", delivered), ("failed", failed)] where count < limit {
            let rows = try connection.rows(
                Self.selectEnded,
                [
                    .text(app.rawValue), .text(state), .integer(end.milliseconds),
                    .integer(Int64(limit - count)),
                ])
            try delete(rows, of: app)
            count += rows.count
        }
        guard count < limit else { return count }
        return try count + deleteOfDeletedWebhooks(of: app, limit: limit - count)
    }

    static let selectEnded =
        "SELECT webhook, message FROM webhook_deliveries WHERE app = $1 AND state = $2 "
        + "AND ended_at_ms < $3 ORDER BY ended_at_ms LIMIT $4"

    private func deleteOfDeletedWebhooks(
        of app: AppID, limit: Int
    ) throws(StorageFailure) -> Int {
        let deleted = try connection.rows(
            "SELECT webhook FROM webhooks WHERE app = $1 AND deleted_at_ms IS NOT NULL LIMIT $2",
            [.text(app.rawValue), .integer(Int64(limit))]
        ) { row throws(StorageFailure) in try row.value() }
        var count = 0
        for webhook in deleted where count < limit {
            let rows = try connection.rows(
                "SELECT webhook, message FROM webhook_deliveries WHERE app = $1 AND webhook = $2 "
                    + "ORDER BY created_at_ms LIMIT $3",
                [.text(app.rawValue), webhook, .integer(Int64(limit - count))])
            try delete(rows, of: app)
            count += rows.count
            guard rows.isEmpty else { continue }
            try connection.run(
                "DELETE FROM webhooks WHERE app = $1 AND webhook = $2 "
                    + "AND deleted_at_ms IS NOT NULL", [.text(app.rawValue), webhook])
        }
        return count
    }

    private func delete(_ rows: [Row], of app: AppID) throws(StorageFailure) {
        for table in ["webhook_attempts", "webhook_deliveries"] {
            try connection.runEach(
                "DELETE FROM \(table) WHERE app = $1 AND webhook = $2 AND message = $3",
                rows.map { [.text(app.rawValue)] + $0.values })
        }
    }

    // MARK: - Erasing

    /// Removes the rendered bodies of a customer's events, and the receivers' answers. Deliveries
    /// that are still due are rendered again, from the events as they are then.
    ///
    /// - Parameter name: the name that replaces the customer's id if the customer is erased;
    ///   otherwise nil.
    package func scrub(
        of stream: String, renamed name: String? = nil, in app: AppID
    ) throws(StorageFailure) {
        let key: [Value] = [.text(app.rawValue), .text(stream)]
        try connection.run(
            "DELETE FROM webhook_attempts WHERE app = $1 AND EXISTS (SELECT 1 "
                + "FROM webhook_deliveries AS delivery WHERE delivery.app = $1 "
                + "AND delivery.stream = $2 AND delivery.webhook = webhook_attempts.webhook "
                + "AND delivery.message = webhook_attempts.message)", key)
        try connection.run(
            "UPDATE webhook_deliveries SET body = NULL, trouble = NULL, lease_until_ms = 0, "
                + "lease_holder = NULL, stream = $1 WHERE app = $2 AND stream = $3",
            [.text(name ?? stream)] + key)
    }
}

extension StoredDelivery.State {
    fileprivate static func stored(_ text: String) throws(StorageFailure) -> Self {
        guard let state = Self(rawValue: text) else {
            throw StorageFailure("a delivery has an unknown state: use a newer Perennial")
        }
        return state
    }
}
