import Ledger
import Storage

extension WebhookService {
    /// The states of all webhooks, as of the last ``refreshStates()``.
    package var states: [WebhookState] { stateCache.all }

    /// Refreshes ``states``, and deletes old deliveries. Logs each webhook that has failed for an
    /// hour, but only once. Also adds webhooks of the configuration that the database lacks.
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
        for app in context.apps.keys.sorted() { try await deleteOldDeliveries(of: app, at: now) }
    }
}
