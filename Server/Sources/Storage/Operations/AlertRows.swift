import Ledger

/// What an alert is about: a row of the page Health.
package struct AlertSubject: Hashable, Sendable, Comparable {
    /// The app; nil for what concerns the server and all its apps.
    package var app: AppID?
    /// The name of the row, such as `Webhooks`.
    package var name: String

    package init(_ name: String, of app: AppID? = nil) { (self.name, self.app) = (name, app) }

    private var key: [String] { [app?.rawValue ?? "", name] }

    package static func < (one: Self, other: Self) -> Bool {
        one.key.lexicographicallyPrecedes(other.key)
    }
}

/// A row of the page Health whose need for attention was reported.
package struct OpenAlert: Hashable, Sendable {
    package var subject: AlertSubject
    package var since: Instant
    /// When a server last saw that the row needs attention.
    package var seenAt: Instant

    package init(subject: AlertSubject, since: Instant, seenAt: Instant) {
        (self.subject, self.since, self.seenAt) = (subject, since, seenAt)
    }
}

/// A way by which alerts are sent.
package enum AlertChannel: String, Hashable, Sendable, CaseIterable {
    case mail
    case webhook
}

/// A message that waits to be sent.
package struct WaitingAlert: Hashable, Sendable {
    package var channel: AlertChannel
    package var createdAt: Instant
    /// The same for each attempt.
    package var id: String
    package var content: String

    package init(channel: AlertChannel, createdAt: Instant, id: String, content: String) {
        (self.channel, self.createdAt, self.id) = (channel, createdAt, id)
        self.content = content
    }
}

/// How alerts are sent by one channel.
package struct AlertBacklog: Hashable, Sendable {
    package var channel: AlertChannel
    package var waiting: Int
    /// When the oldest waiting message was made.
    package var oldest: Instant?
    /// Attempts in a row that failed.
    package var failures: Int
    /// Why the last attempt failed; nil if it did not.
    package var trouble: String?

    package init(
        channel: AlertChannel, waiting: Int, oldest: Instant?, failures: Int, trouble: String?
    ) {
        (self.channel, self.waiting, self.oldest) = (channel, waiting, oldest)
        (self.failures, self.trouble) = (failures, trouble)
    }
}

extension LeaseQueue {
    /// The channels. A channel is due while messages wait, except for pauses after failures.
    static let alertChannels = Self(
        table: "alert_channels", key: ["app", "channel"], scope: ["app", "channel"],
        columns: "attempts", attempts: "attempts", trouble: "trouble")
}

/// What alerts have reported, and the alerts that wait to be sent.
package struct AlertRows: RowGroup {
    package let tx: DatabaseSession

    /// The maximum number of messages that wait for one channel. Beyond that, the oldest are
    /// deleted.
    package static let messagesMax = 100

    // MARK: - Open alerts

    package func open() throws(StorageFailure) -> [OpenAlert] {
        try connection.rows(
            "SELECT app, subject, since_ms, seen_at_ms FROM alerts ORDER BY app, subject", []
        ) { row throws(StorageFailure) in
            let app = try row.app()
            return OpenAlert(
                subject: AlertSubject(try row.text(), of: app.rawValue.isEmpty ? nil : app),
                since: try row.instant(), seenAt: try row.instant())
        }
    }

    /// Opens an alert. Returns false if it is open already.
    package func insert(_ alert: OpenAlert) throws(StorageFailure) -> Bool {
        try connection.run(
            "INSERT INTO alerts (app, subject, since_ms, seen_at_ms) VALUES ($1, $2, $3, $4) "
                + "ON CONFLICT (app, subject) DO NOTHING",
            Self.key(alert.subject) + [
                .integer(alert.since.milliseconds), .integer(alert.seenAt.milliseconds),
            ]) > 0
    }

    /// Records that a row still needs attention. Does nothing if its alert is not open.
    package func update(_ subject: AlertSubject, seenAt: Instant) throws(StorageFailure) {
        try connection.run(
            "UPDATE alerts SET seen_at_ms = $1 WHERE app = $2 AND subject = $3",
            [.integer(seenAt.milliseconds)] + Self.key(subject))
    }

    /// Closes an alert, unless a server has seen since that its row needs attention. Returns
    /// whether this call has closed it.
    package func delete(_ alert: OpenAlert) throws(StorageFailure) -> Bool {
        try connection.run(
            "DELETE FROM alerts WHERE app = $1 AND subject = $2 AND seen_at_ms = $3",
            Self.key(alert.subject) + [.integer(alert.seenAt.milliseconds)]) > 0
    }

    private static func key(_ subject: AlertSubject) -> [Value] {
        [.text(subject.app?.rawValue ?? ""), .text(subject.name)]
    }

    // MARK: - Messages

    /// Lets a message wait. Returns how many older messages were deleted for it.
    package func enqueue(_ message: WaitingAlert) throws(StorageFailure) -> Int {
        let channel = Value.text(message.channel.rawValue)
        let now = Value.integer(message.createdAt.milliseconds)
        try connection.run(
            "INSERT INTO alert_messages (app, channel, created_at_ms, message, content) "
                + "VALUES ('', $1, $2, $3, $4)",
            [channel, now, .text(message.id), .text(message.content)])
        // Also locks the channel, so that no other server finds it empty at this moment.
        try connection.run(
            "INSERT INTO alert_channels (app, channel, due_at_ms, attempts, lease_until_ms) "
                + "VALUES ('', $1, $2, 0, 0) ON CONFLICT (app, channel) DO UPDATE "
                + "SET due_at_ms = coalesce(alert_channels.due_at_ms, excluded.due_at_ms)",
            [channel, now])
        let surplus = try connection.rows(
            "SELECT created_at_ms, message FROM alert_messages WHERE app = '' AND channel = $1 "
                + "ORDER BY created_at_ms DESC, message DESC LIMIT $2 OFFSET $3",
            [channel, .integer(Int64(Self.messagesMax)), .integer(Int64(Self.messagesMax))])
        for row in surplus {
            try connection.run(
                "DELETE FROM alert_messages WHERE app = '' AND channel = $1 "
                    + "AND created_at_ms = $2 AND message = $3", [channel] + row.values)
        }
        return surplus.count
    }

    /// Leases a channel that is due. Returns its number of failed attempts in a row; nil if it is
    /// not due, or leased by another server.
    package func lease(
        _ channel: AlertChannel, dueBy now: Instant, for holder: String, lease: Duration
    ) throws(StorageFailure) -> Int? {
        try tx.queues.leaseDue(
            .alertChannels, in: Self.key(channel), by: now, limit: 1, for: holder, lease: lease
        ).read { row throws(StorageFailure) in
            defer { _ = row.rest() }
            return try row.count()
        }.first
    }

    /// The oldest message of a channel.
    package func oldest(on channel: AlertChannel) throws(StorageFailure) -> WaitingAlert? {
        try connection.rows(
            "SELECT created_at_ms, message, content FROM alert_messages "
                + "WHERE app = '' AND channel = $1 ORDER BY created_at_ms, message LIMIT 1",
            [.text(channel.rawValue)]
        ) { row throws(StorageFailure) in
            WaitingAlert(
                channel: channel, createdAt: try row.instant(), id: try row.text(),
                content: try row.text())
        }.first
    }

    /// The number of messages that wait on a channel.
    package func waiting(on channel: AlertChannel) throws(StorageFailure) -> Int {
        Int(
            try connection.number(
                "SELECT count(*) FROM alert_messages WHERE app = '' AND channel = $1",
                [.text(channel.rawValue)]))
    }

    /// Deletes the messages of a channel that were made before a moment. Returns how many.
    package func delete(
        on channel: AlertChannel, before moment: Instant
    ) throws(StorageFailure) -> Int {
        try connection.run(
            "DELETE FROM alert_messages WHERE app = '' AND channel = $1 AND created_at_ms < $2",
            [.text(channel.rawValue), .integer(moment.milliseconds)])
    }

    /// Records that a message was sent, even if the lease was lost. Its channel is due again.
    package func complete(
        _ message: WaitingAlert, by holder: String, at now: Instant
    ) throws(StorageFailure) {
        try connection.run(
            "DELETE FROM alert_messages WHERE app = '' AND channel = $1 AND created_at_ms = $2 "
                + "AND message = $3",
            [
                .text(message.channel.rawValue), .integer(message.createdAt.milliseconds),
                .text(message.id),
            ])
        try tx.queues.complete(
            Self.key(message.channel), of: .alertChannels, .completed(next: now), by: holder,
            isAttempt: false, [("attempts", .integer(0))])
    }

    /// Ends the lease of a channel on which nothing waits.
    package func complete(
        _ channel: AlertChannel, by holder: String
    ) throws(StorageFailure) {
        try tx.queues.release(
            Self.key(channel), of: .alertChannels, by: holder,
            [("due_at_ms", .null), ("attempts", .integer(0)), ("trouble", .null)])
    }

    /// Records an attempt that failed.
    package func fail(
        _ channel: AlertChannel, _ trouble: String, by holder: String, next: Instant
    ) throws(StorageFailure) {
        try tx.queues.complete(
            Self.key(channel), of: .alertChannels, .failed(trouble, next: next), by: holder)
    }

    private static func key(_ channel: AlertChannel) -> [Value] {
        [.text(""), .text(channel.rawValue)]
    }

    // MARK: - Backlog

    /// The state of each channel by which a message was ever sent.
    package func backlogs() throws(StorageFailure) -> [AlertBacklog] {
        let found = try connection.rows(
            "SELECT c.channel, c.attempts, c.trouble, count(m.message), min(m.created_at_ms) "
                + "FROM alert_channels AS c LEFT JOIN alert_messages AS m "
                + "ON m.app = c.app AND m.channel = c.channel WHERE c.app = '' "
                + "GROUP BY c.channel, c.attempts, c.trouble ORDER BY c.channel", []
        ) { row throws(StorageFailure) in
            let name = try row.text()
            let failures = try row.count()
            let trouble = try row.optionalText()
            let waiting = try row.count()
            let oldest = try row.optionalInstant()
            return AlertChannel(rawValue: name).map {
                AlertBacklog(
                    channel: $0, waiting: waiting, oldest: oldest, failures: failures,
                    trouble: trouble)
            }
        }
        return found.compactMap(\.self)
    }
}
