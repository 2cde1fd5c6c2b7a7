import Engine
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The routes that list, add, change, and delete webhooks.
struct WebhookRoutes: RouteGroup {
    let server: PerennialServer

    /// The routes that change webhooks. ``WebhookDeliveryRoutes`` has the routes about deliveries.
    var all: [Route] {
        [
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, Paths.webhooks, "webhooks", "The addresses that events are posted to",
                    output: .json(WebhookList.self)), list),
            server.secret(
                for: .admin,
                OpenAPIOperation(
                    .post, Paths.webhooks, "addWebhook", "Add a webhook",
                    description: """
                        The webhook gets the events after this request. The response shows the \
                        secret, which is never shown again. See docs/webhooks.md.
                        """, input: WebhookRequest.self,
                    output: .json(PerennialContract.Webhook.self)), add),
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/webhooks/{webhook_id}", "webhook", "A webhook",
                    output: .json(PerennialContract.Webhook.self)), find),
            server.secret(
                for: .admin,
                OpenAPIOperation(
                    .patch, "/v1/webhooks/{webhook_id}", "changeWebhook", "Change a webhook",
                    description: """
                        A member that is left out does not change. For a webhook in \
                        perennial.yaml, only paused can be changed.
                        """, input: WebhookChangeRequest.self,
                    output: .json(PerennialContract.Webhook.self)), change),
            server.secret(
                for: .admin,
                OpenAPIOperation(
                    .delete, "/v1/webhooks/{webhook_id}", "deleteWebhook",
                    "Delete a webhook and its deliveries",
                    description: """
                        Also deletes a webhook that was taken out of perennial.yaml: its url is \
                        empty in the response.
                        """,
                    output: .json(PerennialContract.Webhook.self)), delete),
            server.secret(
                for: .admin,
                OpenAPIOperation(
                    .post, "/v1/webhooks/{webhook_id}/secret", "rotateWebhookSecret",
                    "Give a webhook another secret",
                    description: """
                        For overlap_hours, the former secret signs, too. The response shows the \
                        new secret, which is never shown again.
                        """, input: WebhookSecretRequest.self,
                    output: .json(PerennialContract.Webhook.self)), rotateSecret),
        ] + server.deliveryRoutes.all
    }

    static func webhookID(in context: ServerContext) -> WebhookID {
        WebhookID(rawValue: context.parameters.get("webhook_id") ?? "")
    }

    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let found = try await engine.webhooks.all(of: holder.app)
        return try JSONResponse.ok(WebhookList(items: found.map { PerennialContract.Webhook($0) }))
    }

    @Sendable func find(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let found = try await engine.webhooks.find(Self.webhookID(in: context), of: holder.app)
        return try JSONResponse.ok(PerennialContract.Webhook(found))
    }

    @Sendable func add(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let asked = try await request.value(WebhookRequest.self, max: BodyLimit.order)
        return try JSONResponse.ok(try await add(asked, of: holder.app))
    }

    /// Adds a webhook. The result contains its secret. Idempotent if `key` is not nil.
    func add(
        _ asked: WebhookRequest, key: String? = nil, of app: AppID
    ) async throws -> PerennialContract.Webhook {
        var settings = WebhookSettings(url: asked.url)
        settings.filter.types = try Self.types(asked.types)
        settings.filter.products = try Self.products(asked.products)
        settings.filter.environments = try Self.environments(asked.environments)
        settings.format = try Self.format(asked.format) ?? .perennial
        settings.authorization = asked.authorization.flatMap { $0.isEmpty ? nil : $0 }
        let added = try await engine.webhooks.add(
            settings, secret: asked.secret, isPaused: asked.paused ?? false, key: key, of: app)
        return PerennialContract.Webhook(added, showsSecret: true)
    }

    @Sendable func change(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let asked = try await request.value(WebhookChangeRequest.self, max: BodyLimit.order)
        var change = WebhookChange()
        change.url = asked.url
        if asked.types != nil { change.types = .some(try Self.types(asked.types)) }
        if asked.products != nil { change.products = .some(try Self.products(asked.products)) }
        if asked.environments != nil {
            change.environments = .some(try Self.environments(asked.environments))
        }
        change.format = try Self.format(asked.format)
        change.authorization = asked.authorization.map { $0.isEmpty ? nil : $0 }
        change.isPaused = asked.paused
        let changed = try await engine.webhooks.change(
            Self.webhookID(in: context), change, of: holder.app)
        return try JSONResponse.ok(PerennialContract.Webhook(changed))
    }

    @Sendable func delete(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let deleted = try await engine.webhooks.delete(
            Self.webhookID(in: context), of: holder.app)
        return try JSONResponse.ok(PerennialContract.Webhook(deleted))
    }

    @Sendable func rotateSecret(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let asked = try await request.value(WebhookSecretRequest.self, max: BodyLimit.order)
        let hours = asked.overlapHours ?? WebhookService.formerSecretHours
        let range = WebhookService.formerSecretHoursRange
        guard range.contains(hours) else {
            throw ProblemError(
                .webhookNotValid,
                detail: "overlap_hours must be from \(range.lowerBound) to \(range.upperBound).")
        }
        let rotated = try await engine.webhooks.rotateSecret(
            of: Self.webhookID(in: context), to: asked.secret, overlap: .hours(hours),
            app: holder.app)
        return try JSONResponse.ok(PerennialContract.Webhook(rotated, showsSecret: true))
    }

    // MARK: - Filters

    /// The maximum number of names in one filter.
    private static let namesMax = 200

    private static func types(_ names: [String]?) throws -> Set<Change.Kind>? {
        try filter(names, "types") { name in
            guard let kind = Change.Kind(rawValue: name) else {
                throw unknown("event type", name, among: Change.Kind.allCases.map(\.rawValue))
            }
            return kind
        }
    }

    private static func products(_ names: [String]?) throws -> Set<ProductID>? {
        try filter(names, "products", ProductID.init(rawValue:))
    }

    private static func environments(_ names: [String]?) throws -> Set<Ledger.Environment>? {
        try filter(names, "environments") { name in
            guard let environment = Ledger.Environment(rawValue: name) else {
                throw unknown(
                    "environment", name, among: Ledger.Environment.allCases.map(\.rawValue))
            }
            return environment
        }
    }

    private static func format(_ name: String?) throws -> WebhookFormat? {
        guard let name else { return nil }
        guard let format = WebhookFormat(rawValue: name) else {
            throw unknown("format", name, among: WebhookFormat.allCases.map(\.rawValue))
        }
        return format
    }

    /// Returns nil if there are no names, which means no filter.
    ///
    /// - Parameter member: the member of the request that has the names.
    private static func filter<Word: Hashable>(
        _ names: [String]?, _ member: String, _ word: (String) throws -> Word
    ) throws -> Set<Word>? {
        guard let names, !names.isEmpty else { return nil }
        guard names.count <= namesMax else {
            throw ProblemError(
                .filterTooLong,
                detail: "\(member) has \(names.count) names. The maximum is \(namesMax).")
        }
        return Set(try names.map(word))
    }

    private static func unknown(
        _ what: String, _ name: String, among known: [String]
    ) -> ProblemError {
        let remedy = Spelling.remedy(
            for: name, among: known, else: "Known are: \(known.sorted().joined(separator: ", ")).")
        return ProblemError(
            .webhookNotValid,
            detail: "There is no \(what) “\(EngineFailure.shortened(name))”. \(remedy)")
    }
}

extension ProblemCatalogue.Entry {
    fileprivate static let filterTooLong = of(.webhookNotValid).variant(
        remedy: "Leave the member out to get all events, and filter at the receiver; or "
            + "name the others in another webhook.")
}

extension PerennialContract.Webhook {
    init(_ webhook: WebhookEndpoint, showsSecret: Bool = false) {
        let filter = webhook.settings.filter
        self.init(
            webhookID: webhook.id.rawValue,
            url: ForwardLabel.text(of: webhook.settings.url, among: []),
            types: filter.types.map {
                $0.map(\.rawValue).sorted().map(EventType.init(rawValue:))
            },
            products: filter.products.map { $0.map(\.rawValue).sorted() },
            environments: filter.environments.map {
                $0.sorted { $0.rawValue < $1.rawValue }.map { StoreEnvironment($0) }
            },
            format: Format(rawValue: webhook.settings.format.rawValue),
            hasAuthorization: webhook.settings.authorization != nil,
            isConfigured: webhook.isConfigured, isPaused: webhook.isPaused,
            pauseReason: webhook.isPaused
                ? (webhook.stored.pauseReason ?? .asked).rawValue : nil,
            createdAt: Timestamp(webhook.stored.createdAt),
            failingSince: webhook.stored.failingSince.map { Timestamp($0) },
            secret: showsSecret ? webhook.secrets.first : nil)
    }
}
