import Engine
import HTTPBasics
import Hummingbird
import Ledger
import PerennialContract
import Storage

/// The routes that list, test, and repeat the deliveries of a webhook.
struct WebhookDeliveryRoutes: RouteGroup {
    let server: PerennialServer

    /// The number of deliveries on a page if the request sets no limit.
    static let deliveriesDefault = 100
    /// The maximum number of deliveries in one response.
    private static let deliveriesMax = 500

    var all: [Route] {
        [
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/webhooks/{webhook_id}/deliveries", "webhookDeliveries",
                    "The deliveries of a webhook, newest first",
                    parameters: [
                        OpenAPIParameter(
                            name: "state", description: "Only deliveries in this state.",
                            schema: [
                                "type": "string",
                                "enum": .list(
                                    WebhookDelivery.State.known.map { .text($0.rawValue) }),
                            ]),
                        .customerID("Only events of this customer."),
                        .after,
                        .limit(usual: Self.deliveriesDefault, most: Self.deliveriesMax),
                    ], output: .json(WebhookDeliveryList.self)), list),
            server.secret(
                for: .read,
                OpenAPIOperation(
                    .get, "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}", "webhookDelivery",
                    "A delivery with every attempt", output: .json(WebhookDelivery.self)),
                find),
            server.secret(
                for: .admin,
                OpenAPIOperation(
                    .post, "/v1/webhooks/{webhook_id}/replay", "replayWebhook",
                    "Deliver events once more",
                    description: """
                        The webhook-id of each event stays the same. Reads at most 500 events: to \
                        continue, send next_cursor as after. See docs/webhooks.md.
                        """, input: WebhookReplayRequest.self,
                    output: .json(WebhookReplayResult.self)), replay),
            server.secret(
                for: .admin,
                OpenAPIOperation(
                    .post, "/v1/webhooks/{webhook_id}/test", "testWebhook",
                    "Deliver a test event", output: .json(WebhookDelivery.self)), test),
        ]
    }

    @Sendable func list(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let asked = request.uri.queryParameters
        func text(_ name: Substring) -> String? { asked[name].map { String($0) } }
        let limit = try RequestReader.limit(
            in: request, usual: Self.deliveriesDefault, most: Self.deliveriesMax)
        return try JSONResponse.ok(
            try await list(
                to: WebhookRoutes.webhookID(in: context), of: holder.app, in: text("state"),
                customer: text("customer_id"), after: text("after"), limit: limit))
    }

    /// Returns a page of a webhook's deliveries, newest first.
    ///
    /// - Parameter state: a word of ``WebhookDelivery/State``; nil for all.
    func list(
        to webhook: WebhookID, of app: AppID, in state: String?, customer: String? = nil,
        after cursor: String?, limit: Int = deliveriesDefault
    ) async throws -> WebhookDeliveryList {
        let position = try Self.deliveryPosition(cursor)
        let state = try state.map { text in
            guard let state = StoredDelivery.State(rawValue: text) else {
                throw ProblemError(
                    .stateUnknown(known: StoredDelivery.State.allCases.map(\.rawValue)))
            }
            return state
        }
        let found = try await engine.webhooks.deliveries(
            to: webhook, of: app, in: state, customer: customer.map(CustomerID.init(rawValue:)),
            after: position, limit: limit)
        let last = found.count == limit ? found.last : nil
        return WebhookDeliveryList(
            items: found.map { WebhookDelivery($0) },
            nextCursor: last.map { Self.cursor(of: $0) })
    }

    @Sendable func find(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        return try JSONResponse.ok(
            try await find(
                context.parameters.get("delivery_id") ?? "",
                to: WebhookRoutes.webhookID(in: context),
                of: holder.app))
    }

    /// Returns a delivery with every attempt.
    func find(
        _ id: String, to webhook: WebhookID, of app: AppID
    ) async throws -> WebhookDelivery {
        let found = try await engine.webhooks.delivery(id, to: webhook, of: app)
        return WebhookDelivery(found.delivery, log: found.attempts.map { WebhookAttempt($0) })
    }

    @Sendable func test(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let sent = try await engine.webhooks.test(
            WebhookRoutes.webhookID(in: context), of: holder.app)
        return try JSONResponse.ok(WebhookDelivery(sent))
    }

    @Sendable func replay(
        _ request: Request, _ context: ServerContext, _ holder: StoredKey
    ) async throws -> Response {
        let asked = try await request.value(WebhookReplayRequest.self, max: BodyLimit.order)
        return try JSONResponse.ok(
            try await replay(asked, to: WebhookRoutes.webhookID(in: context), of: holder.app))
    }

    func replay(
        _ asked: WebhookReplayRequest, to webhook: WebhookID, of app: AppID
    ) async throws -> WebhookReplayResult {
        var replay = WebhookReplay()
        replay.after = try asked.after.map(Self.place)
        replay.until = try asked.until.map(Self.place)
        replay.from = asked.from.map { Instant(milliseconds: $0.milliseconds) }
        replay.to = asked.to.map { Instant(milliseconds: $0.milliseconds) }
        replay.event = try asked.eventID.map { text in
            guard text.hasPrefix("evt_"),
                let place = LogPosition(String(text.dropFirst("evt_".count)))
            else { throw Self.eventUnknown(text) }
            return place
        }
        replay.customer = asked.customerID.map(CustomerID.init(rawValue:))
        do throws(EngineFailure) {
            let done = try await engine.webhooks.replay(replay, to: webhook, of: app)
            return WebhookReplayResult(count: done.count, nextCursor: done.next.map { "\($0)" })
        } catch {
            if case .unknownCursor = error, let id = asked.eventID { throw Self.eventUnknown(id) }
            throw error
        }
    }

    private static func eventUnknown(_ id: String) -> ProblemError {
        ProblemError(.eventUnknown, detail: "Found \(EngineFailure.quoted(id)).")
    }

    private static func place(_ text: String) throws -> LogPosition {
        guard let place = LogPosition(text) else { throw ProblemError(.cursorUnknown) }
        return place
    }

    // MARK: - Cursors

    /// A cursor: the time of a delivery, the number of its event, and its id.
    private static func cursor(of delivery: StoredDelivery) -> String {
        "\(delivery.createdAt.milliseconds)-\(delivery.sequence)-\(delivery.message)"
    }

    private static func deliveryPosition(_ cursor: String?) throws -> DeliveryPosition? {
        guard let cursor, !cursor.isEmpty else { return nil }
        let parts = cursor.split(
            separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let moment = Int64(parts[0]), let sequence = Int64(parts[1]),
            !parts[2].isEmpty
        else { throw ProblemError(.cursorUnknown) }
        return DeliveryPosition(
            createdAt: Instant(milliseconds: moment), sequence: sequence,
            message: String(parts[2]))
    }
}

extension WebhookDelivery {
    fileprivate init(_ delivery: StoredDelivery, log: [WebhookAttempt]? = nil) {
        self.init(
            deliveryID: delivery.message, type: delivery.kind,
            sequence: delivery.sequence > 0 ? delivery.sequence : nil,
            state: State(rawValue: delivery.state.rawValue),
            createdAt: Timestamp(delivery.createdAt), attempts: delivery.attempts,
            lastAttemptAt: delivery.attemptedAt.map { Timestamp($0) },
            lastStatus: delivery.status, lastTrouble: delivery.trouble,
            nextAttemptAt: delivery.dueAt.map { Timestamp($0) },
            endedAt: delivery.endedAt.map { Timestamp($0) }, log: log)
    }
}

extension WebhookAttempt {
    fileprivate init(_ attempt: DeliveryAttempt) {
        self.init(
            at: Timestamp(attempt.at), milliseconds: attempt.milliseconds, status: attempt.status,
            trouble: attempt.trouble, answer: attempt.answer)
    }
}
