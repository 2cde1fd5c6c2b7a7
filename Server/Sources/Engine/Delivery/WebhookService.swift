import Ledger
import Storage

/// Webhooks and their deliveries: settings, queue, attempts, tests and replays.
package struct WebhookService: Sendable {
    let context: Context
    let events: EventService
    let webhookTransport: WebhookTransport
    let stateCache: WebhookStateCache

    /// - Parameter former: the service of the previous configuration, whose caches are reused.
    init(
        context: Context, events: EventService, webhookTransport: WebhookTransport,
        former: WebhookService?
    ) {
        self.context = context
        self.events = events
        self.webhookTransport = webhookTransport
        stateCache = former?.stateCache ?? WebhookStateCache()
    }

    /// The allowed numbers of hours for which a former secret continues to sign.
    package static let formerSecretHoursRange = 0...168
    package static let formerSecretHours = 24
    package static let authorizationBytesMax = 1_024
    /// The number of characters in a new webhook's id after its prefix.
    private static let idCharacters = 16

    // MARK: - The webhooks

    /// Adds the webhooks of the configuration to the database. A new webhook begins with the events
    /// after this call. Idempotent.
    package func prepare() async throws(EngineFailure) {
        let now = context.now()
        for app in context.apps.values.sorted(by: { $0.id < $1.id })
        where !app.webhooks.endpoints.isEmpty {
            let known = try await context.read { tx in try tx.webhooks.all(of: app.id).map(\.id) }
            let missing = app.webhooks.endpoints.map(\.id).filter { !known.contains($0) }
            guard !missing.isEmpty else { continue }
            // The webhook starts after all events that are committed already.
            try await events.numberEvents()
            try await context.transaction { tx in
                let last = try tx.events.lastSequence(of: app.id)
                for id in missing {
                    try tx.webhooks.add(
                        StoredWebhook(id: id, createdAt: now, cursor: last), of: app.id)
                }
            }
        }
    }

    /// The webhooks in force of one app, or of every app.
    package func all(of only: AppID? = nil) async throws(EngineFailure) -> [WebhookEndpoint] {
        let chosen = context.apps.values.filter { only == nil || $0.id == only }
            .sorted { $0.id < $1.id }
        let now = context.now()
        return try await context.read { tx in
            try chosen.flatMap { app in
                try tx.webhooks.all(of: app.id).compactMap { WebhookEndpoint($0, of: app, at: now) }
            }
        }
    }

    package func find(
        _ id: WebhookID, of appID: AppID
    ) async throws(EngineFailure) -> WebhookEndpoint {
        let (app, _) = try context.app(appID)
        let now = context.now()
        let found = try await context.read { tx in try tx.webhooks.find(id, of: appID) }
        guard let found, let webhook = WebhookEndpoint(found, of: app, at: now) else {
            throw .unknownWebhook(id)
        }
        return webhook
    }

    /// Adds a webhook, which begins with the events after this call. Idempotent if the request has
    /// a key.
    ///
    /// - Parameter secret: the secret that signs the webhook's posts; nil for a new random one.
    package func add(
        _ settings: WebhookSettings, secret: String?, isPaused: Bool, key: String? = nil,
        of appID: AppID
    ) async throws(EngineFailure) -> WebhookEndpoint {
        let (app, _) = try context.app(appID)
        if let failure = Self.refusal(of: settings, in: app) { throw failure }
        if let secret { try require(secret: secret) }
        let digits = IdempotencyKey.digits(for: key, count: Self.idCharacters)
        let id = WebhookID(rawValue: "wh_\(digits)")
        let now = context.now()
        let secret = secret ?? webhookTransport.newSecret()
        // The webhook starts after all events that are committed already.
        try await events.numberEvents()
        try await context.decide { (tx) -> Decision<Void> in
            guard try tx.webhooks.find(id, of: appID) == nil else { return .unchanged(()) }
            let inForce = try tx.webhooks.all(of: appID).filter {
                WebhookEndpoint($0, of: app, at: now) != nil
            }
            guard inForce.count < WebhookRules.webhooksMax else {
                return .refused(.tooManyWebhooks(limit: WebhookRules.webhooksMax))
            }
            try tx.webhooks.add(
                StoredWebhook(
                    id: id, settings: settings, secret: secret, createdAt: now,
                    cursor: try tx.events.lastSequence(of: appID), pausedAt: isPaused ? now : nil),
                of: appID)
            return .done(())
        }
        return try await find(id, of: appID)
    }

    /// Changes a webhook. If the webhook is in the configuration, only the pause can be changed.
    package func change(
        _ id: WebhookID, _ change: WebhookChange, of appID: AppID
    ) async throws(EngineFailure) -> WebhookEndpoint {
        let (app, _) = try context.app(appID)
        let now = context.now()
        try await context.decide { tx -> Decision<Void> in
            guard let stored = try tx.webhooks.find(id, of: appID),
                let known = WebhookEndpoint(stored, of: app, at: now)
            else { return .refused(.unknownWebhook(id)) }
            if change.changesSettings {
                guard !known.isConfigured else { return .refused(.webhookInConfiguration(id)) }
                var new = known.settings
                change.apply(to: &new)
                // Products that the configuration listed when the filter was made stay allowed.
                let former = known.settings.filter.products ?? []
                if let failure = Self.refusal(of: new, in: app, beside: former) {
                    return .refused(failure)
                }
                try tx.webhooks.update(id, new, of: appID)
                if new.format != known.settings.format {
                    // Without their bodies, waiting deliveries are rendered again before their next
                    // attempt.
                    try tx.deliveries.clearBodies(ofDeliveriesTo: id, of: appID)
                    try tx.webhooks.revokeCursorLeases(of: appID)
                }
            }
            let wasPaused = stored.pausedAt != nil
            if let isPaused = change.isPaused, !wasPaused || !isPaused {
                try tx.webhooks.pause(
                    id, of: appID, since: isPaused ? now : nil, isPaused ? .asked : nil)
            } else if !change.changesSettings {
                return .unchanged(())
            }
            return .done(())
        }
        return try await find(id, of: appID)
    }

    /// Deletes a webhook and its deliveries, even if the configuration no longer contains it.
    package func delete(
        _ id: WebhookID, of appID: AppID
    ) async throws(EngineFailure) -> WebhookEndpoint {
        let (app, _) = try context.app(appID)
        let now = context.now()
        guard let stored = try await context.read({ tx in try tx.webhooks.find(id, of: appID) })
        else {
            throw .unknownWebhook(id)
        }
        let inForce = WebhookEndpoint(stored, of: app, at: now)
        let known = inForce ?? WebhookEndpoint(stored, formerlyOf: appID)
        guard inForce == nil || !known.isConfigured else { throw .webhookInConfiguration(id) }
        try await context.transaction { tx in try tx.webhooks.delete(id, of: appID, at: now) }
        return known
    }

    /// Replaces a webhook's secret. The former secret continues to sign for a while.
    ///
    /// - Parameter secret: the new secret; nil for a random one.
    /// - Parameter mark: the ``WebhookEndpoint/secretMark`` of the secret to be replaced. If that
    ///   secret was replaced already, nothing changes. Nil replaces the present secret.
    package func rotateSecret(
        of id: WebhookID, to secret: String?, overlap: Duration, from mark: String? = nil,
        app appID: AppID
    ) async throws(EngineFailure) -> WebhookEndpoint {
        let known = try await find(id, of: appID)
        guard !known.isConfigured else { throw .webhookInConfiguration(id) }
        if let secret { try require(secret: secret) }
        let (new, now) = (secret ?? webhookTransport.newSecret(), context.now())
        try await context.decide { tx -> Decision<Void> in
            guard let stored = try tx.webhooks.find(id, of: appID) else {
                return .refused(.unknownWebhook(id))
            }
            // If the closure runs twice, it must not record the new secret as the former secret.
            guard stored.secret != new else { return .done(()) }
            guard mark == nil || mark == known.secretMark(of: stored.secret) else {
                return .unchanged(())
            }
            let formers = stored.formers(afterRotationAt: now, overlap: overlap)
            try tx.webhooks.rotateSecret(
                of: id, in: appID, to: new, formers: formers.secrets, formerUntil: formers.until)
            return .done(())
        }
        return try await find(id, of: appID)
    }

    /// The maximum number of characters of an unknown product's name that an error message quotes.
    private static let productCharacters = 100

    /// Why a webhook cannot have these settings. Returns nil if the webhook can have them.
    ///
    /// - Parameter former: the products of the webhook's present filter, which are allowed even
    ///   if they are unknown.
    private static func refusal(
        of settings: WebhookSettings, in app: AppSettings, beside former: Set<ProductID> = []
    ) -> EngineFailure? {
        guard app.webhooks.permits(url: settings.url) else {
            return .invalidWebhook(
                "The url must begin with https://, and have no user, password or fragment.")
        }
        if let unknown = settings.filter.products?.subtracting(app.knownProducts)
            .subtracting(former).min()
        {
            let known = app.knownProducts.map(\.rawValue)
            let remedy = Spelling.remedy(for: unknown.rawValue, among: known, else: "")
            return .invalidWebhook(
                "perennial.yaml lists no product “\(unknown.rawValue.prefix(productCharacters))”."
                    + (remedy.isEmpty ? "" : " \(remedy)"))
        }
        if let value = settings.authorization {
            let isPlain = value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            guard isPlain, (1...authorizationBytesMax).contains(value.utf8.count) else {
                return .invalidWebhook(
                    "The authorization must be 1 to \(authorizationBytesMax) printable ASCII "
                        + "characters.")
            }
        }
        return nil
    }

    private func require(secret: String) throws(EngineFailure) {
        guard webhookTransport.isSecret(secret) else {
            throw .invalidWebhook("The secret must be `whsec_` and 24 to 64 bytes in Base64.")
        }
    }

    // MARK: - Deliveries

    /// Sends a test event to a webhook. A paused webhook gets the event when the webhook is
    /// resumed.
    package func test(
        _ id: WebhookID, of appID: AppID
    ) async throws(EngineFailure) -> StoredDelivery {
        let webhook = try await find(id, of: appID)
        let now = context.now()
        let digits = IdempotencyKey.digits(for: nil, count: Self.idCharacters)
        let message = "\(appID)_test_\(digits)"
        let bodies = try render(
            WebhookSubject(
                app: appID, .test(webhook.settings.format, message: message, at: now)))
        let delivery = NewDelivery(
            message: message, sequence: 0, kind: "test", stream: message, body: bodies.first)
        try await context.transaction { tx in
            try tx.deliveries.add([delivery], to: id, of: appID, at: now)
        }
        return try await self.delivery(message, to: id, of: appID).delivery
    }

    /// The deliveries of a webhook, newest first.
    package func deliveries(
        to id: WebhookID, of appID: AppID, in state: StoredDelivery.State?, customer: CustomerID?,
        after position: DeliveryPosition?, limit: Int
    ) async throws(EngineFailure) -> [StoredDelivery] {
        _ = try await find(id, of: appID)
        return try await context.read { tx in
            let streams = try customer.map { customer in
                try tx.customers.find(known: customer, in: appID)?.ids.map(\.rawValue)
                    ?? [customer.rawValue]
            }
            return try tx.deliveries.all(
                to: id, of: appID, in: state, streams: streams, after: position, limit: limit)
        }
    }

    /// A delivery with all its attempts.
    package func delivery(
        _ message: String, to id: WebhookID, of appID: AppID
    ) async throws(EngineFailure) -> (delivery: StoredDelivery, attempts: [DeliveryAttempt]) {
        _ = try await find(id, of: appID)
        let found = try await context.read { tx in
            try tx.deliveries.find(message, to: id, of: appID).map {
                ($0, try tx.deliveries.attempts(of: message, to: id, of: appID))
            }
        }
        guard let found else { throw .unknownDelivery(message) }
        return found
    }

    /// Delivers events again, with the same `webhook-id`. Reads at most ``WebhookReplay/eventsMax``
    /// events. Idempotent, except that each call restarts the attempts.
    ///
    /// - Returns: the number of deliveries that are made again, and the position at which to
    ///   continue. The position is nil if no event is left.
    /// - Throws: ``EngineFailure``: `unknownCursor` if the log does not contain the chosen event.
    package func replay(
        _ replay: WebhookReplay, to id: WebhookID, of appID: AppID
    ) async throws(EngineFailure) -> (count: Int, next: LogPosition?) {
        let webhook = try await find(id, of: appID)
        let start = try await start(of: replay, in: appID)
        let limit = replay.event == nil ? WebhookReplay.eventsMax : 1
        let page = try await events.page(
            of: appID, customer: replay.customer, after: start, limit: limit)
        let last = min(replay.until?.sequence ?? .max, webhook.stored.cursor)
        let chosen = page.events.filter { event in
            event.sequence <= last && webhook.settings.filter.permits(event.entry)
                && replay.from.map { event.entry.knownAt >= $0 } ?? true
                && replay.to.map { event.entry.knownAt < $0 } ?? true
        }
        let now = context.now()
        let (app, _) = try context.app(appID)
        try await prepareAnonymousIDs(for: webhook)
        let count = try await context.transaction { tx in
            // The events are read in this transaction, so that a concurrent erasure takes effect
            // either before or after the whole replay.
            let deliveries = try chosen.flatMap { chosen -> [NewDelivery] in
                guard let event = try tx.events.find(chosen.sequence, of: appID) else { return [] }
                guard webhook.settings.format != .perennial else {
                    let stream = event.entry.stream
                    return [NewDelivery(event, page.epochs, stream: stream, body: nil)]
                }
                let holder = try WebhookSubjects(tx).holder(
                    of: event, page.epochs, toldTo: id, in: appID)
                let subject = try WebhookSubjects(tx).subject(
                    of: event, page.epochs, webhook, app, for: holder, at: now)
                return try render(subject, of: event, page.epochs)
            }
            try tx.deliveries.replay(deliveries, to: id, of: appID, at: now)
            return deliveries.count
        }
        let isOver =
            replay.event != nil || page.events.count < limit || page.next.sequence >= last
            || page.events.last.map { end in replay.to.map { end.entry.knownAt > $0 } ?? false }
                ?? true
        return (count, isOver ? nil : page.next)
    }

    /// How far before the requested time a replay begins to read. Greater than the difference
    /// between the servers' clocks, and greater than the duration of a transaction.
    private static let replayMargin = Duration.seconds(60)

    /// The position after which a replay reads.
    private func start(
        of replay: WebhookReplay, in app: AppID
    ) async throws(EngineFailure) -> LogPosition? {
        let epochs = try await context.read { tx in try tx.events.epochs(of: app) }
        if let event = replay.event {
            let last = try await context.read { tx in try tx.events.lastSequence(of: app) }
            guard (1...max(1, last)).contains(event.sequence), last > 0,
                epochs.position(of: event.sequence) == event
            else { throw .unknownCursor(event) }
            return LogPosition(epochs.current, event.sequence - 1)
        }
        if let after = replay.after { return after }
        guard let from = replay.from else { return nil }
        let moment = from - Self.replayMargin
        let sequence: Int64 = try await context.read { tx in
            var (low, high) = (Int64(0), try tx.events.lastSequence(of: app))
            // Finds the last event before the moment. Events are numbered in order of time, except
            // for differences within the margin.
            while low < high {
                let middle = (low + high + 1) / 2
                let event = try tx.events.find(middle, of: app)
                if let event, event.entry.knownAt < moment {
                    low = middle
                } else {
                    high = middle - 1
                }
            }
            return low
        }
        return LogPosition(epochs.current, sequence)
    }
}
