import PerennialContract

/// The page `/webhooks`: the addresses that receive events.
package struct WebhooksPage: Sendable {
    package var webhooks: [Entry]
    /// The formats that a new webhook may have.
    package var formats: [Webhook.Format]
    /// An idempotency key: the form is one action, however often it is sent.
    package var formKey: String
    /// The form of a webhook that could not be added.
    package var draft: Draft?

    package struct Entry: Sendable {
        package var webhook: Webhook
        package var figures: WebhookFigures

        package init(_ webhook: Webhook, _ figures: WebhookFigures) {
            self.webhook = webhook
            self.figures = figures
        }
    }

    /// The values typed into the form of a new webhook, and why it could not be added.
    package struct Draft: Hashable, Sendable {
        package var trouble: String
        package var url: String
        package var types: String
        package var format: String
        package var authorization: String

        package init(
            trouble: String = "", url: String = "", types: String = "", format: String = "",
            authorization: String = ""
        ) {
            self.trouble = trouble
            self.url = url
            self.types = types
            self.format = format
            self.authorization = authorization
        }
    }

    package init(
        webhooks: [Entry], formats: [Webhook.Format] = Webhook.Format.known, formKey: String = "",
        draft: Draft? = nil
    ) {
        self.webhooks = webhooks
        self.formats = formats
        self.formKey = formKey
        self.draft = draft
    }

    package func html(in frame: Frame) -> String {
        let add = frame.viewer.mayConfigure ? addition : nil
        return Layout(
            title: "Webhooks", section: .webhooks, heading: "Webhooks",
            lede: """
                Events, sent to your servers: signed, in order for each customer, tried for three \
                days.
                """, actions: webhooks.isEmpty ? "" : add?.buttonMarkup ?? "", isLive: true,
            content: body(adding: add, in: frame)
        ).html(in: frame)
    }

    private func body(adding add: Dialog?, in frame: Frame) -> Markup {
        let list: Markup =
            webhooks.isEmpty
            ? "<section class=\"panel\">\(empty(adding: add))</section>"
            : "<div class=\"cols c2\">\(cards(in: frame))</div>"
        return """
            <div class="stack">
            \(draft.map { form($0, in: frame) })
            \(list)
            \(add?.dialogMarkup(in: frame))
            </div>
            """
    }

    private func empty(adding add: Dialog?) -> Markup {
        Empty(
            title: "No endpoint",
            text: """
                Events are stored without one, too, and can be read. A new endpoint gets \
                the events from now on, or from a day that you choose.
                """, actions: add?.buttonMarkup ?? ""
        ).markup
    }

    private func cards(in frame: Frame) -> Markup {
        webhooks.map { entry -> Markup in
            let card = WebhookCard(webhook: entry.webhook, figures: entry.figures)
            let acts = card.acts(in: frame)
            let page = frame.link(.webhook(entry.webhook.webhookID))
            return """
                <section class="panel" \
                id="webhook-\(WebhookCard.key(of: entry.webhook.webhookID))">\
                <header><h2><a href="\(page)">\(.bdi(entry.webhook.url))</a></h2>\
                \(card.chip(in: frame).markup)</header>\(card.strip)\(card.facts(in: frame))\
                <div class="row"><a class="btn s" href="\(page)">Deliveries</a>\
                \(acts.map(\.buttonMarkup).joined())</div>\
                \(acts.map { $0.dialogMarkup(in: frame) }.joined())</section>
                """
        }.joined()
    }

    private var addition: Dialog {
        Dialog(
            id: "add", button: "Add an endpoint", title: "Add an endpoint",
            sentences: """
                <p class="soft">It gets the events from now on. Its secret is shown once, when it \
                has been added. You can delete it again.</p>
                """, path: .webhooks, fields: fields(Draft(), id: "a"),
            submit: "Add the endpoint", buttonClasses: "btn go")
    }

    /// The form again, with the typed values.
    private func form(_ draft: Draft, in frame: Frame) -> Markup {
        """
        <section class="panel"><header><h2>Add an endpoint</h2></header>\
        <div class="say bad" role="alert">\(Icon.warning.markup)<div><strong>It was not \
        added.</strong> \(.bdi(draft.trouble))</div></div>\
        <form class="stack" method="post" action="\(frame.link(.webhooks))">\(frame.csrf)\
        \(fields(draft, id: "d"))<div class="row end"><a class="btn" \
        href="\(frame.link(.webhooks))">Cancel</a>\
        <button class="btn go" type="submit">Add the endpoint</button></div></form></section>
        """
    }

    /// - Parameter id: the beginning of the ids of the fields.
    private func fields(_ draft: Draft, id: Markup) -> Markup {
        let options = formats.map { format -> Markup in
            let name = format == .revenueCat ? "as RevenueCat’s webhooks" : "ours"
            let selected: Markup = format.rawValue == draft.format ? " selected" : ""
            return "<option value=\"\(.value(format.rawValue))\"\(selected)>\(name)</option>"
        }
        return """
            <input type="hidden" name="key" value="\(.value(formKey))">\
            <div><label for="\(id)-u">Address (https)</label>\
            <input id="\(id)-u" name="url" type="url" required placeholder="https://…" \
            value="\(.value(draft.url))"></div>\
            <div class="fields"><div><label for="\(id)-f">Form</label>\
            <select id="\(id)-f" name="format">\(options.joined())</select></div>\
            <div><label for="\(id)-t">Only these types (empty: all)</label>\
            <input id="\(id)-t" name="types" placeholder="renewed, refunded" \
            value="\(.value(draft.types))"></div></div>\
            <div><label for="\(id)-a">Header <code>Authorization</code> (may be empty)</label>\
            <input id="\(id)-a" name="authorization" autocomplete="off" \
            value="\(.value(draft.authorization))"></div>
            """
    }
}
