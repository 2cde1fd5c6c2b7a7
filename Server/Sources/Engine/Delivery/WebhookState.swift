import Ledger
import Storage
import Synchronization

/// The state of the deliveries to one webhook, as of the last refresh.
package struct WebhookState: Hashable, Sendable {
    package var app: AppID
    package var webhook: WebhookID
    /// Its address without its path: see ``ForwardLabel``.
    package var label: String
    package var waiting: Int
    /// How long the oldest delivery has waited.
    package var oldestAge: Duration
    /// The number of events that were not read for it yet.
    package var unreadEvents: Int64
    package var isPaused: Bool
    /// How long it has failed without a success; nil if the last attempt succeeded.
    package var failingFor: Duration?

    /// The time after which a failing webhook is named in the log and in the answer of `/ready`.
    package static let failingAfter = Duration.hours(1)

    package var isFailing: Bool { failingFor.map { $0 >= Self.failingAfter } ?? false }
}

/// The last known state of all webhooks.
final class WebhookStateCache: Sendable {
    private let states = Mutex<[WebhookState]>([])

    var all: [WebhookState] { states.withLock { $0 } }

    func update(_ new: [WebhookState]) { states.withLock { $0 = new } }
}

extension WebhookService {
    private static let deliveredRetention = Duration.days(8)
    private static let failedRetention = Duration.days(30)
    private static let deletionBatch = 500
    /// The maximum number of deletion batches in one refresh.
    private static let deletionBatchesMax = 20

    /// The states as of the last ``refreshStates()``.
    package var states: [WebhookState] { stateCache.all }

    /// Refreshes ``states``, logs each webhook that has failed for an hour, once, and deletes old
    /// deliveries. Also adds webhooks of the configuration that are missing.
    package func refreshStates() async throws(EngineFailure) {
        try await prepare()
        let webhooks = try await all()
        let now = context.now()
        let urls = webhooks.map(\.settings.url)
        let seen = try await context.read { tx in
            try webhooks.map { webhook in
                let backlog = try tx.deliveries.backlog(ofDeliveriesTo: webhook.id, of: webhook.app)
                let last = try tx.events.lastSequence(of: webhook.app)
                return WebhookState(
                    app: webhook.app, webhook: webhook.id,
                    label: ForwardLabel.text(of: webhook.settings.url, among: urls),
                    waiting: backlog.count,
                    oldestAge: backlog.oldest.map { now - $0 } ?? .zero,
                    unreadEvents: max(0, last - webhook.stored.cursor),
                    isPaused: webhook.isPaused,
                    failingFor: webhook.stored.failingSince.map { now - $0 })
            }
        }
        stateCache.update(seen)
        for (state, webhook) in zip(seen, webhooks)
        where state.isFailing && !webhook.stored.isReported {
            let isFirst = try await context.transaction { tx in
                try tx.webhooks.reportFailing(webhook.id, of: webhook.app)
            }
            guard isFirst else { continue }
            context.logger.error(
                "a webhook has failed for an hour; its deliveries are retried for three days",
                metadata: ["app": "\(webhook.app)", "webhook": "\(webhook.id)"])
        }
        for app in context.apps.keys.sorted() { try await deleteDeliveries(of: app, at: now) }
    }

    private func deleteDeliveries(
        of app: AppID, at now: Instant
    ) async throws(EngineFailure) {
        for _ in 0..<Self.deletionBatchesMax {
            let count = try await context.transaction { tx in
                try tx.deliveries.delete(
                    of: app, deliveredBefore: now - Self.deliveredRetention,
                    failedBefore: now - Self.failedRetention, limit: Self.deletionBatch)
            }
            if count < Self.deletionBatch { return }
        }
    }
}
