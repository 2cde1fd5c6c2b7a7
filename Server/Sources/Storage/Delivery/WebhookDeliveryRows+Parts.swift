import Ledger

// The parts of one event: a format may make several deliveries of it.
extension WebhookDeliveryRows {
    /// Updates the deliveries of an event, and stores their bodies. Deletes waiting deliveries that
    /// are no longer parts, and adds the parts that follow the leased part. Restarts parts that had
    /// ended, because they were posted in another format. The work grows only with the number of
    /// parts of one event.
    ///
    /// - Parameter parts: all parts of the event, in order, with their bodies.
    /// - Returns: the body of the leased part. Nil if the leased delivery is no longer a part and
    ///   was deleted. Also nil if the lease was lost; then nothing was changed.
    package func storeParts(
        _ parts: [NewDelivery], of lease: DeliveryLease, to webhook: WebhookID, of app: AppID,
        at now: Instant
    ) throws(StorageFailure) -> [UInt8]? {
        let webhookKey: [Value] = [.text(app.rawValue), .text(webhook.rawValue)]
        let own = parts.firstIndex { $0.message == lease.message }
        let body = own.flatMap { parts[$0].body }
        let isOurs = try tx.queues.updateLease(
            webhookKey + [.text(lease.message)], of: .webhookDeliveries, by: lease.holder,
            [("body", body.map { .bytes($0) } ?? .null)])
        guard isOurs else { return nil }
        try deleteWaiting(of: lease, except: parts.map(\.message), webhookKey)
        guard let own else {
            try startNext(in: [lease.stream], to: webhook, of: app, at: now)
            return nil
        }
        try replay(Array(parts[(own + 1)...]), to: webhook, of: app, at: now)
        return body
    }

    /// Deletes the waiting deliveries of a lease's event, except the deliveries whose messages are
    /// in a list.
    private func deleteWaiting(
        of lease: DeliveryLease, except messages: [String], _ webhook: [Value]
    ) throws(StorageFailure) {
        let waiting = try connection.rows(
            Self.selectParts, webhook + [.text(lease.stream), .integer(lease.sequence)]
        ) { row throws(StorageFailure) in try row.text() }
        let superfluous = waiting.filter { !messages.contains($0) }
        for table in ["webhook_attempts", "webhook_deliveries"] {
            try connection.runEach(
                "DELETE FROM \(table) WHERE app = $1 AND webhook = $2 AND message = $3",
                superfluous.map { webhook + [.text($0)] })
        }
    }

    static let selectParts =
        "SELECT message FROM webhook_deliveries WHERE app = $1 AND webhook = $2 AND stream = $3 "
        + "AND sequence = $4 AND ended_at_ms IS NULL ORDER BY message"
}
