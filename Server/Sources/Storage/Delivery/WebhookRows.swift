import Ledger

/// The id of a webhook: an address to which an app's events are posted.
package struct WebhookID: TextIdentifier {
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
}

/// The form of a webhook's body.
package enum WebhookFormat: String, Hashable, Sendable, CaseIterable {
    /// A body with `type`, `timestamp` and `data`: the event and the customer, as the API shows
    /// them.
    case perennial
    /// The form of RevenueCat's webhooks. One event becomes zero, one or several webhooks of
    /// RevenueCat.
    case revenueCat = "revenuecat"
}

/// The events that a webhook gets. A member that is nil accepts all events.
package struct WebhookFilter: Hashable, Sendable {
    package var types: Set<Change.Kind>?
    /// The products whose events pass. If not nil, events without a product are left out.
    package var products: Set<ProductID>?
    /// The environments whose events pass. Events that are only about a customer belong to no
    /// environment, and always pass.
    package var environments: Set<Environment>?

    package init(
        types: Set<Change.Kind>? = nil, products: Set<ProductID>? = nil,
        environments: Set<Environment>? = nil
    ) {
        self.types = types
        self.products = products
        self.environments = environments
    }

    package func permits(_ entry: EventEntry) -> Bool {
        if let types, !types.contains(entry.change.kind) { return false }
        if let environments, let own = entry.environment, !environments.contains(own) {
            return false
        }
        guard let products else { return true }
        return entry.change.product.map(products.contains) ?? false
    }
}

/// The settings of a webhook: its address, and what is posted there.
package struct WebhookSettings: Hashable, Sendable {
    package var url: String
    package var filter: WebhookFilter
    package var format: WebhookFormat
    /// The value of the header `Authorization`. Nil if the header is not sent.
    package var authorization: String?

    package init(
        url: String, filter: WebhookFilter = WebhookFilter(), format: WebhookFormat = .perennial,
        authorization: String? = nil
    ) {
        self.url = url
        self.filter = filter
        self.format = format
        self.authorization = authorization
    }
}

/// A webhook as stored in the database.
package struct StoredWebhook: Hashable, Sendable {
    package var id: WebhookID
    /// The webhook's settings. Nil if the configuration contains the settings and the secrets.
    package var settings: WebhookSettings?
    package var secret: String?
    /// The former secrets, from before the last rotation, the oldest first. These secrets continue
    /// to sign until `formerUntil`.
    package var formerSecrets: [String] = []
    package var formerUntil: Instant?
    package var createdAt: Instant
    /// The sequence number of the last event that was read for the webhook.
    package var cursor: Int64
    package var pausedAt: Instant?
    package var pauseReason: PauseReason?
    /// Nothing is posted before this time, because the receiver asked for a pause. Nil if the
    /// receiver asked for no pause.
    package var heldUntil: Instant?
    /// When the first attempt since the last success failed. Nil if no attempt has failed since.
    package var failingSince: Instant?
    /// Whether the server's log has reported that the webhook fails.
    package var isReported: Bool

    package enum PauseReason: String, Hashable, Sendable {
        case asked
        /// The receiver answered with the status 410 (Gone).
        case gone
    }

    package init(
        id: WebhookID, settings: WebhookSettings? = nil, secret: String? = nil,
        createdAt: Instant, cursor: Int64, pausedAt: Instant? = nil
    ) {
        self.id = id
        self.settings = settings
        self.secret = secret
        self.createdAt = createdAt
        self.cursor = cursor
        self.pausedAt = pausedAt
        pauseReason = pausedAt == nil ? nil : .asked
        isReported = false
    }
}

/// The right of one server to read the log for a webhook.
package struct WebhookLease: Hashable, Sendable {
    package var webhook: WebhookID
    package var cursor: Int64
    package var holder: String
}

extension LeaseQueue {
    /// The cursors of webhooks. A cursor is leased by its key, and has no due time.
    static let webhookCursors = Self(
        table: "webhooks", key: ["app", "webhook"], columns: "cursor",
        unfinished: "deleted_at_ms IS NULL")
}

/// Webhooks, with their settings, secrets and cursors.
package struct WebhookRows: RowGroup {
    package let tx: DatabaseSession

    private static let columns =
        "webhook, secret, created_at_ms, cursor, paused_at_ms, former_secret, former_until_ms, "
        + "pause_reason, held_until_ms, failing_since_ms, is_reported, origin, "
        + "types, products, environments, format, url, authorization_value"

    // MARK: - Reading

    /// The webhooks of an app, by id.
    package func all(of app: AppID) throws(StorageFailure) -> [StoredWebhook] {
        try connection.rows(
            "SELECT \(Self.columns) FROM webhooks WHERE app = $1 AND deleted_at_ms IS NULL "
                + "ORDER BY webhook", [.text(app.rawValue)], Self.webhook)
    }

    package func find(
        _ id: WebhookID, of app: AppID
    ) throws(StorageFailure) -> StoredWebhook? {
        try connection.firstRow(
            "SELECT \(Self.columns) FROM webhooks WHERE app = $1 AND webhook = $2 "
                + "AND deleted_at_ms IS NULL", [.text(app.rawValue), .text(id.rawValue)],
            Self.webhook)
    }

    private static func webhook(_ row: inout ColumnReader) throws(StorageFailure) -> StoredWebhook {
        var webhook = StoredWebhook(
            id: WebhookID(rawValue: try row.text()), secret: try row.optionalText(),
            createdAt: try row.instant(), cursor: try row.integer(),
            pausedAt: try row.optionalInstant())
        webhook.formerSecrets =
            try row.optionalText()?.split(separator: " ").map(String.init) ?? []
        webhook.formerUntil = try row.optionalInstant()
        webhook.pauseReason = try row.optionalText().flatMap(
            StoredWebhook.PauseReason.init(rawValue:))
        webhook.heldUntil = try row.optionalInstant()
        webhook.failingSince = try row.optionalInstant()
        webhook.isReported = try row.flag()
        if try row.text() == "api" {
            webhook.settings = try settings(&row)
        } else {
            try row.skip(6)
        }
        return webhook
    }

    private static func settings(_ row: inout ColumnReader) throws(StorageFailure)
        -> WebhookSettings
    {
        let filter = WebhookFilter(
            types: try words(&row).map { Set($0.compactMap(Change.Kind.init(rawValue:))) },
            products: try words(&row).map { Set($0.map(ProductID.init(rawValue:))) },
            environments: try words(&row).map { Set($0.compactMap(Environment.init(rawValue:))) })
        guard let format = WebhookFormat(rawValue: try row.text()) else {
            throw StorageFailure("a webhook has an unknown format: use a newer Perennial")
        }
        return WebhookSettings(
            url: try row.text(), filter: filter, format: format,
            authorization: try row.optionalText())
    }

    private static func words(_ row: inout ColumnReader) throws(StorageFailure) -> [String]? {
        try row.optionalText()?.split(separator: "\n").map(String.init)
    }

    // MARK: - Changing

    /// Adds a webhook, unless a webhook with its id exists. A deleted webhook is replaced. The
    /// webhook's deliveries begin after `cursor`. Returns whether the webhook was added.
    @discardableResult
    package func add(
        _ webhook: StoredWebhook, of app: AppID
    ) throws(StorageFailure) -> Bool {
        let settings = Self.values(of: webhook.settings)
        try connection.run(
            "DELETE FROM webhooks WHERE app = $1 AND webhook = $2 AND deleted_at_ms IS NOT NULL",
            [.text(app.rawValue), .text(webhook.id.rawValue)])
        return try connection.run(
            "INSERT INTO webhooks (app, webhook, origin, url, types, products, environments, "
                + "format, authorization_value, secret, created_at_ms, cursor, paused_at_ms, "
                + "pause_reason, is_reported, lease_until_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, "
                + "$8, $9, $10, $11, $12, $13, $14, 0, 0) ON CONFLICT (app, webhook) DO NOTHING",
            [
                .text(app.rawValue), .text(webhook.id.rawValue),
                .text(webhook.settings == nil ? "configuration" : "api"),
            ] + settings + [
                .text(webhook.secret), .integer(webhook.createdAt.milliseconds),
                .integer(webhook.cursor), .integer(webhook.pausedAt?.milliseconds),
                .text(webhook.pauseReason?.rawValue),
            ]) > 0
    }

    /// The columns from `url` to `authorization_value`.
    private static func values(of settings: WebhookSettings?) -> [Value] {
        guard let settings else { return Array(repeating: .null, count: 6) }
        func list(_ words: [String]?) -> Value {
            .text(words.map { $0.sorted().joined(separator: "\n") })
        }
        return [
            .text(settings.url), list(settings.filter.types?.map(\.rawValue)),
            list(settings.filter.products?.map(\.rawValue)),
            list(settings.filter.environments?.map(\.rawValue)),
            .text(settings.format.rawValue), .text(settings.authorization),
        ]
    }

    package func update(
        _ id: WebhookID, _ settings: WebhookSettings, of app: AppID
    ) throws(StorageFailure) {
        try connection.run(
            "UPDATE webhooks SET url = $1, types = $2, products = $3, environments = $4, "
                + "format = $5, authorization_value = $6 WHERE app = $7 AND webhook = $8",
            Self.values(of: settings) + [.text(app.rawValue), .text(id.rawValue)])
    }

    /// Pauses a webhook, or resumes it. Resuming forgets earlier failures.
    package func pause(
        _ id: WebhookID, of app: AppID, since: Instant?, _ reason: StoredWebhook.PauseReason?
    ) throws(StorageFailure) {
        try update(
            id, of: app,
            "paused_at_ms = $1, pause_reason = $2, held_until_ms = NULL, "
                + "failing_since_ms = NULL, is_reported = 0",
            [.integer(since?.milliseconds), .text(reason?.rawValue)])
    }

    /// Pauses every webhook that is not paused yet, in a copy of a database. The server of the
    /// original database continues the deliveries.
    package func pauseAll(since: Instant) throws(StorageFailure) {
        let apps = try connection.rows("SELECT DISTINCT app FROM webhooks ORDER BY app", []) {
            row throws(StorageFailure) in AppID(rawValue: try row.text())
        }
        for app in apps {
            for webhook in try all(of: app) where webhook.pausedAt == nil {
                try pause(webhook.id, of: app, since: since, .asked)
            }
        }
    }

    package func hold(_ id: WebhookID, of app: AppID, until: Instant) throws(StorageFailure) {
        try update(id, of: app, "held_until_ms = $1", [.integer(until.milliseconds)])
    }

    /// Replaces the secret. The former secrets, which contain no spaces, continue to sign until a
    /// given time.
    package func rotateSecret(
        of id: WebhookID, in app: AppID, to secret: String, formers: [String],
        formerUntil: Instant
    ) throws(StorageFailure) {
        try update(
            id, of: app, "former_secret = $1, former_until_ms = $2, secret = $3",
            [
                .text(formers.isEmpty ? nil : formers.joined(separator: " ")),
                .integer(formerUntil.milliseconds), .text(secret),
            ])
    }

    /// Marks a webhook as deleted. ``WebhookDeliveryRows`` deletes its rows later.
    package func delete(
        _ id: WebhookID, of app: AppID, at now: Instant
    ) throws(StorageFailure) {
        try update(
            id, of: app,
            "deleted_at_ms = $1, secret = NULL, former_secret = NULL, authorization_value = NULL",
            [.integer(now.milliseconds)])
    }

    /// Records when a webhook began to fail; nil after a success. If an earlier time is already
    /// recorded, it stays.
    package func setFailing(
        _ id: WebhookID, of app: AppID, since: Instant?
    ) throws(StorageFailure) {
        guard let row = try find(id, of: app),
            (since == nil) != (row.failingSince == nil)
        else { return }
        try update(
            id, of: app, "failing_since_ms = $1, is_reported = 0",
            [.integer(since?.milliseconds)])
    }

    /// Marks a failing webhook as reported. Returns true only for the first caller since the
    /// webhook began to fail.
    package func reportFailing(_ id: WebhookID, of app: AppID) throws(StorageFailure) -> Bool {
        try connection.run(
            "UPDATE webhooks SET is_reported = 1 WHERE app = $1 AND webhook = $2 "
                + "AND is_reported = 0 AND failing_since_ms IS NOT NULL",
            [.text(app.rawValue), .text(id.rawValue)]) > 0
    }

    private func update(
        _ id: WebhookID, of app: AppID, _ sets: String, _ values: [Value]
    ) throws(StorageFailure) {
        let next = values.count + 1
        try connection.run(
            "UPDATE webhooks SET \(sets) WHERE app = $\(next) AND webhook = $\(next + 1)",
            values + [.text(app.rawValue), .text(id.rawValue)])
    }

    // MARK: - Reading the log

    /// Leases the cursor of a webhook. Returns nil if another server has leased it.
    package func leaseCursor(
        of id: WebhookID, in app: AppID, for holder: String, lease: Duration
    ) throws(StorageFailure) -> WebhookLease? {
        let rows = try tx.queues.lease(
            .webhookCursors, key: [.text(app.rawValue), .text(id.rawValue)], for: holder,
            lease: lease)
        return try rows.first?.read { row throws(StorageFailure) in
            let cursor = try row.integer()
            try row.skip(LeaseQueue.webhookCursors.key.count)
            return WebhookLease(webhook: id, cursor: cursor, holder: holder)
        }
    }

    /// Moves a leased cursor forward, and adds the deliveries of the events that it passed. Does
    /// nothing if the lease was lost: another server has continued, or a person was erased
    /// meanwhile.
    package func advance(
        _ lease: WebhookLease, to sequence: Int64, of app: AppID, adding deliveries: [NewDelivery],
        at now: Instant
    ) throws(StorageFailure) {
        let isOurs = try tx.queues.release(
            [.text(app.rawValue), .text(lease.webhook.rawValue)], of: .webhookCursors,
            by: lease.holder, [("cursor", .integer(sequence))])
        if isOurs { try tx.deliveries.add(deliveries, to: lease.webhook, of: app, at: now) }
    }

    /// Ends a lease without moving the cursor.
    package func release(_ lease: WebhookLease, of app: AppID) throws(StorageFailure) {
        try tx.queues.release(
            [.text(app.rawValue), .text(lease.webhook.rawValue)], of: .webhookCursors,
            by: lease.holder)
    }

    /// Ends the leases of an app's cursors, so that bodies rendered in the meantime are rendered
    /// again.
    package func revokeCursorLeases(of app: AppID) throws(StorageFailure) {
        try connection.run(
            "UPDATE webhooks SET lease_until_ms = 0, lease_holder = NULL "
                + "WHERE app = $1 AND lease_holder IS NOT NULL", [.text(app.rawValue)])
    }
}
