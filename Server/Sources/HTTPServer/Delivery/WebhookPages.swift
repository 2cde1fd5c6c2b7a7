import Dashboard
import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The pages and acts about webhooks, with the figures of their deliveries.
struct WebhookPages: PageGroup {
    let routes: DashboardRoutes

    func add(to router: Router<ServerContext>) {
        routes.livePage("/webhooks", by: .everything, of: router, list)
        routes.livePage("/webhooks/{webhook_id}", by: .everything, of: router) { page in
            try await show(page, try await endpoint(page))
        }
        routes.act("/webhooks", for: .admin, of: router, addition)
        for (word, isPaused) in [("pause", true), ("resume", false)] {
            routes.act("/webhooks/{webhook_id}/\(word)", for: .admin, of: router) { page, _ in
                var change = WebhookChange()
                change.isPaused = isPaused
                let former = PerennialContract.Webhook(try await endpoint(page)).isPaused
                page.audit.change(
                    from: ["is_paused": "\(former)"], to: ["is_paused": "\(isPaused)"])
                _ = try await engine.webhooks.change(try page.webhook, change, of: app)
                return .done(isPaused ? .paused : .resumed, try page.path)
            }
        }
        routes.act("/webhooks/{webhook_id}/test", for: .admin, of: router) { page, _ in
            _ = try await engine.webhooks.test(try page.webhook, of: app)
            return .done(.tested, try page.path)
        }
        routes.act("/webhooks/{webhook_id}/replay", for: .admin, of: router, replay)
        routes.act("/webhooks/{webhook_id}/secret", for: .admin, of: router, rotation)
        routes.act("/webhooks/{webhook_id}/delete", for: .admin, of: router) { page, form in
            guard form["confirm"] == "delete" else {
                throw ProblemError(
                    .requestNotUnderstood, detail: "The word “delete” was not typed.")
            }
            let deleted = try await engine.webhooks.delete(try page.webhook, of: app)
            page.audit.change(from: PerennialContract.Webhook(deleted).auditState)
            return .done(.deleted, .webhooks)
        }
    }

    private func endpoint(_ page: PageRequest) async throws -> WebhookEndpoint {
        try await engine.webhooks.find(try page.webhook, of: app)
    }

    // MARK: - Pages

    @Sendable private func list(_ page: PageRequest) async throws -> String {
        try await list(page, draft: nil)
    }

    private func list(
        _ page: PageRequest, draft: WebhooksPage.Draft?
    ) async throws -> String {
        var entries: [WebhooksPage.Entry] = []
        for endpoint in try await engine.webhooks.all(of: app) {
            entries.append(
                .init(PerennialContract.Webhook(endpoint), try await figures(endpoint.id, page)))
        }
        return WebhooksPage(webhooks: entries, formKey: page.formKey, draft: draft)
            .html(in: page.frame)
    }

    private func show(
        _ page: PageRequest, _ endpoint: WebhookEndpoint, showsSecret: Bool = false,
        replayed: ReplayedPart? = nil
    ) async throws -> String {
        let id = endpoint.id
        let deliveries = try await server.deliveryRoutes.list(
            to: id, of: app, in: page.query["state"], after: page.cursor)
        var opened: WebhookDelivery?
        if let delivery = page.query["delivery"] {
            opened = try await server.deliveryRoutes.find(delivery, to: id, of: app)
        }
        return WebhookPage(
            webhook: PerennialContract.Webhook(endpoint, showsSecret: showsSecret),
            figures: try await figures(id, page), deliveries: deliveries,
            state: page.query["state"] ?? "", opened: opened, secretMark: endpoint.secretMark,
            replayed: replayed
        ).html(in: page.frame)
    }

    // MARK: - Acts

    /// The page that shows the secret, which is never shown again. A form that is sent twice adds
    /// one webhook. If the content of the form was changed in between, the second form adds another
    /// webhook.
    @Sendable private func addition(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        let types = form["types"]?.split { $0 == "," || $0 == " " }.map(String.init)
        let names = ["url", "types", "format", "authorization"]
        let key = form["key"].map { key in
            (["dashboard", app.rawValue, key] + names.map { form[$0] ?? "" })
                .joined(separator: "\n")
        }
        let asked = WebhookRequest(
            url: form["url"] ?? "", types: types, format: form["format"],
            authorization: form["authorization"])
        let added: PerennialContract.Webhook
        do { added = try await server.webhookRoutes.add(asked, key: key, of: app) } catch {
            guard let trouble = Self.trouble(error) else { throw error }
            page.audit.leaveOut()
            let draft = WebhooksPage.Draft(
                trouble: trouble, url: asked.url, types: form["types"] ?? "",
                format: asked.format ?? "", authorization: asked.authorization ?? "")
            return .response(
                routes.response(
                    try await list(page, draft: draft), to: page.request, status: .badRequest))
        }
        page.audit.change(of: added.webhookID, to: added.auditState)
        let endpoint = try await engine.webhooks.find(WebhookID(rawValue: added.webhookID), of: app)
        return .page(try await show(page, endpoint, showsSecret: true))
    }

    /// The problem with the settings of a webhook. Returns nil for any other error.
    private static func trouble(_ error: any Error) -> String? {
        switch error {
        case EngineFailure.invalidWebhook(let sentence): sentence
        case let failure as ProblemError where failure.problem.code == .webhookNotValid:
            failure.problem.detail
        default: nil
        }
    }

    /// The page that shows the new secret. A form replaces only the secret that existed when the
    /// form was shown, so a form that is sent twice makes one secret.
    @Sendable private func rotation(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        let rotated = try await engine.webhooks.rotateSecret(
            of: try page.webhook, to: nil, overlap: .hours(WebhookService.formerSecretHours),
            from: form["key"], app: app)
        if let key = form["key"], !rotated.hasReplaced(key) {
            throw ProblemError(.formOutdated, detail: "The secret was replaced meanwhile.")
        }
        return .page(try await show(page, rotated, showsSecret: true))
    }

    /// Delivers one event again, or the events of a time range. If only a part of the range was
    /// delivered, the page shows where the replay stopped, with a form for the rest.
    @Sendable private func replay(
        _ page: PageRequest, _ form: FormFields
    ) async throws -> ActResult {
        let id = try page.webhook
        var asked = WebhookReplayRequest()
        if let name = form["delivery_id"] {
            let delivery = try await server.deliveryRoutes.find(name, to: id, of: app)
            guard let sequence = delivery.sequence else {
                throw ProblemError(.webhookDeliveryUnknown)
            }
            let place = LogPosition(
                try await engine.events.lastLogPosition(of: app).epoch, sequence)
            asked.eventID = "evt_\(place)"
        } else {
            asked.from = try form["from"].map(Self.minute)
            asked.to = try form["to"].map(Self.minute)
            asked.customerID = form["customer_id"]
            asked.after = form["after"]
        }
        let sent = try await server.deliveryRoutes.replay(asked, to: id, of: app)
        page.audit.change(
            to: [
                "event_id": asked.eventID, "from": asked.from?.description,
                "to": asked.to?.description, "after": asked.after, "count": "\(sent.count)",
            ])
        if asked.eventID != nil { return .done(.replayed, try page.path) }
        return .page(
            try await show(
                page, try await endpoint(page),
                replayed: ReplayedPart(
                    count: sent.count, rest: try await rest(of: form, after: sent.nextCursor))))
    }

    /// The form for the rest of the replay; nil if nothing is left.
    private func rest(
        of form: FormFields, after cursor: String?
    ) async throws -> ReplayedPart.Rest? {
        guard let cursor, let place = LogPosition(cursor) else { return nil }
        let before = LogPosition(place.epoch, place.sequence - 1)
        let event = try await engine.events.page(of: app, after: before, limit: 1).events.first
        let fields = ["from", "to", "customer_id"].compactMap { name in
            form[name].map { ReplayedPart.Field(name, $0) }
        }
        return ReplayedPart.Rest(
            fields: fields + [.init("after", cursor)], event: place.sequence,
            knownAt: event.map { Timestamp($0.entry.knownAt) })
    }

    /// Parses a minute in UTC, in the format of form fields: `2026-11-24T09:00`.
    private static func minute(_ text: String) throws -> Timestamp {
        let seconds = text.count == "2026-11-24T09:00".count ? ":00" : ""
        guard let time = Timestamp("\(text)\(seconds)Z") else {
            throw ProblemError(.timeNotReadable)
        }
        return time
    }
}

extension PageRequest {
    /// The page of the webhook in the path.
    fileprivate var path: DashboardPath {
        get throws { .webhook(try webhook.rawValue) }
    }
}

extension PerennialContract.Webhook {
    /// The values for the audit. These values omit the path and the query of the address, because
    /// the path or the query could be secret.
    fileprivate var auditState: [String: String?] {
        ["url": url, "format": format.rawValue]
    }
}
