import PerennialContract

/// The page `/webhooks/{webhook_id}`: its deliveries, their attempts, and replays.
package struct WebhookPage: Sendable {
    package var webhook: Webhook
    package var figures: WebhookFigures
    package var deliveries: WebhookDeliveryList
    /// A word of ``WebhookDelivery/State``, or empty.
    package var state: String
    /// The delivery that was opened, with its log.
    package var opened: WebhookDelivery?
    /// Identifies the secret that the form replaces.
    package var secretMark: String
    /// The events that were just delivered again.
    package var replayed: ReplayedPart?

    package init(
        webhook: Webhook, figures: WebhookFigures, deliveries: WebhookDeliveryList,
        state: String = "", opened: WebhookDelivery? = nil, secretMark: String = "",
        replayed: ReplayedPart? = nil
    ) {
        self.webhook = webhook
        self.figures = figures
        self.deliveries = deliveries
        self.state = state
        self.opened = opened
        self.secretMark = secretMark
        self.replayed = replayed
    }

    private var id: String { webhook.webhookID }
    private var name: Markup { .bdi(webhook.url) }
    private var path: DashboardPath { .webhook(id) }

    package func html(in frame: Frame) -> String {
        Layout(
            title: webhook.url, section: .webhooks, heading: name,
            lede: "Since \(CivilTime(webhook.createdAt).longDate).",
            trail: "<a href=\"\(frame.link(.webhooks))\">Webhooks</a> / \(name)", isLive: true,
            content: body(in: frame)
        ).html(in: frame)
    }

    private func body(in frame: Frame) -> Markup {
        let card = WebhookCard(webhook: webhook, figures: figures)
        let acts = card.acts(in: frame) + ownActs(in: frame)
        let buttons = acts.map(\.buttonMarkup).joined()
        return """
            <div class="stack">
            \(secret(in: frame))
            \(replayed?.markup(of: id, in: frame))
            <section class="panel" id="webhook"><header><h2>Endpoint</h2>\
            \(card.chip(in: frame).markup)</header>\(card.strip)\(card.facts(in: frame))\
            \(buttons.inside { "<div class=\"row\">\($0)</div>" })\
            \(acts.map { $0.dialogMarkup(in: frame) }.joined())</section>
            <section class="panel flush"><header><h2>Deliveries</h2>\(filter(in: frame))</header>\
            \(table(in: frame))</section>
            \(older(in: frame).inside { "<div class=\"row end\"><span></span>\($0)</div>" })
            <div class="cols c2"><section class="panel" id="delivery"><header>\
            <h2>One delivery</h2></header>\(delivery(in: frame))</section>\(replay(in: frame))</div>
            </div>
            """
    }

    // MARK: - Acts

    /// The secret, which is shown once, to operators who may change it.
    private func secret(in frame: Frame) -> Markup {
        guard frame.viewer.mayConfigure, let secret = webhook.secret else { return "" }
        return """
            <div class="say ok" role="status">\(Icon.check.markup)<div><strong>The secret is shown \
            once.</strong> Put it where the receiver verifies signatures. \
            <code>\(.bdi(secret))</code> \
            <button class="link" type="button" \
            data-copy="\(.value(secret))">Copy</button></div></div>
            """
    }

    private func ownActs(in frame: Frame) -> [Dialog] {
        guard frame.viewer.mayConfigure, !webhook.isConfigured else { return [] }
        return [
            Dialog(
                id: "secret", button: "New secret", title: "Give \(name) a new secret?",
                sentences: """
                    <p class="soft">The new one is shown once. The former one signs as well for a \
                    day, so that the receiver can change over. Then it is gone for good.</p>
                    """, path: .act("secret", onWebhook: id),
                fields: "<input type=\"hidden\" name=\"key\" value=\"\(.value(secretMark))\">",
                submit: "Make a new secret"),
            Dialog(
                id: "delete", button: "Delete", title: "Delete \(name)?",
                sentences: """
                    <p class="soft">Its deliveries are removed, also those that wait. The events \
                    stay. \
                    This cannot be undone; a new endpoint gets a new secret.</p>
                    """, path: .act("delete", onWebhook: id),
                fields: """
                    <div><label for="d-c">Type <b>delete</b> to continue</label>\
                    <input id="d-c" name="confirm" required pattern="delete" \
                    autocomplete="off"></div>
                    """, submit: "Delete the endpoint", isGrave: true),
        ]
    }

    // MARK: - Deliveries

    private func filter(in frame: Frame) -> Markup {
        let words = [""] + WebhookDelivery.State.known.map(\.rawValue)
        let links = words.map { word -> Markup in
            let current: Markup = word == state ? " aria-current=\"true\"" : ""
            let label = word.isEmpty ? "all" : word
            return """
                <a href="\(frame.link(path.with("state", word)))"\(current)>\(label)</a>
                """
        }
        return "<nav class=\"seg\" aria-label=\"State\">\(links.joined())</nav>"
    }

    private func table(in frame: Frame) -> Markup {
        guard !deliveries.items.isEmpty else {
            return Empty(
                title: state.isEmpty ? "Nothing was sent yet" : "No delivery is \(.bdi(state))",
                text: """
                    The next event makes the next delivery. A test shows at once whether it \
                    arrives.
                    """
            ).markup
        }
        return Table(
            name: "Deliveries, the newest first",
            columns: [
                .init("Event"), .init("What"), .init("State"), .init("Last answer"),
                .number("Attempts"), .init("Next, or ended"), .init("Do"),
            ], rows: deliveries.items.map { row($0, in: frame) }, bodyID: "deliveries"
        ).markup
    }

    private func row(_ delivery: WebhookDelivery, in frame: Frame) -> Markup {
        let number = delivery.sequence.map { "\(Figures.count($0))" } ?? "test"
        let opened = path.with("state", state).with("delivery", delivery.deliveryID)
        let when: Markup =
            delivery.nextAttemptAt.map {
                "<span class=\"fold-only\">next </span>\(frame.shortTime($0))"
            }
            ?? delivery.endedAt.map { "\(frame.shortTime($0))" } ?? "–"
        return Table.row(
            id: "delivery-\(delivery.deliveryID)",
            .init("<a href=\"\(frame.link(opened))#delivery\">\(number)</a>"),
            [
                .init("<code>\(.bdi(delivery.type))</code>"),
                .init(Self.chip(delivery.state).markup, "r"),
                .init(
                    WebhookCard.response(delivery.lastStatus, delivery.lastTrouble) ?? "none yet",
                    "full"),
                .init(
                    """
                    \(Figures.count(delivery.attempts))<span class="fold-only"> \
                    \(delivery.attempts == 1 ? "attempt" : "attempts")</span>
                    """,
                    "num"), .init(when), .init(sendNow(delivery, in: frame), "r"),
            ])
    }

    static func chip(_ state: WebhookDelivery.State) -> Chip {
        switch state {
        case .delivered: Chip(state.rawValue, .open)
        case .waiting: Chip(state.rawValue, .warn)
        case .failed: Chip(state.rawValue, .bad)
        default: Chip(state.rawValue, .neutral)
        }
    }

    private func sendNow(_ delivery: WebhookDelivery, in frame: Frame) -> Markup {
        guard frame.viewer.mayConfigure, delivery.sequence != nil else { return "" }
        let verb: Markup = delivery.state == .waiting ? "Send now" : "Send again"
        return """
            <form method="post" action="\(frame.link(.act("replay", onWebhook: id)))">\(frame.csrf)\
            <input type="hidden" name="delivery_id" value="\(.value(delivery.deliveryID))">\
            <button class="btn s" type="submit">\(verb)</button></form>
            """
    }

    private func older(in frame: Frame) -> Markup {
        guard let cursor = deliveries.nextCursor else { return "" }
        let older = path.with("state", state).with("cursor", cursor)
        return "<a class=\"btn s\" href=\"\(frame.link(older))\">Older</a>"
    }

    // MARK: - One delivery, and many

    private func delivery(in frame: Frame) -> Markup {
        guard let opened else {
            return "<p class=\"soft\">Open a delivery in the table to see its attempts.</p>"
        }
        let number = opened.sequence.map { "Event \(Figures.count($0))" } ?? "A test"
        let attempts = (opened.log ?? []).reversed().map { attempt -> Markup in
            let answer: Markup =
                attempt.answer.flatMap { answer in
                    guard frame.viewer.seesDocuments, !answer.isEmpty else { return nil }
                    return "<pre>\(.bdi(answer))</pre>"
                } ?? ""
            return """
                <li>\(frame.element(attempt.at))<div>\
                \(WebhookCard.response(attempt.status, attempt.trouble) ?? "no answer") \
                <span class="muted">after \(Figures.count(attempt.milliseconds)) ms</span>\(answer)\
                </div></li>
                """
        }
        let none: Markup = "<p class=\"soft\">Not tried yet.</p>"
        return """
            <p class="small soft">\(number), <code>\(.bdi(opened.type))</code>, \
            \(Self.chip(opened.state).markup)<br><code>webhook-id: \
            \(.bdi(opened.deliveryID))</code>\
            </p>\(attempts.isEmpty ? none : "<ul class=\"feed hist\">\(attempts.joined())</ul>")
            """
    }

    private func replay(in frame: Frame) -> Markup {
        guard frame.viewer.mayConfigure else { return "" }
        let from = Timestamp(milliseconds: frame.now.milliseconds - 86_400_000)
        return Panel(
            title: "Send again",
            content: """
                <p class="soft small">All events in a span of time, in order, with the same \
                ids: \
                a receiver that knows an id may skip it.</p>\
                <form method="post" action="\(frame.link(.act("replay", onWebhook: id)))" \
                class="stack">\(frame.csrf)<div class="fields two"><div>\
                <label for="r-f">From, UTC</label><input id="r-f" name="from" \
                type="datetime-local" \
                required value="\(CivilTime(from).isoMinute)"></div><div>\
                <label for="r-t">To, UTC</label><input id="r-t" name="to" type="datetime-local" \
                required value="\(CivilTime(frame.now).isoMinute)"></div><div>\
                <label for="r-c">Only of this customer (may be empty)</label>\
                <input id="r-c" name="customer_id"></div></div><div class="row end">\
                <span class="muted small">500 events at a time.</span>\
                <button class="btn go" type="submit">Send again</button></div></form>
                """
        ).markup
    }
}
