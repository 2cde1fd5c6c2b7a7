import PerennialContract

/// The page `/webhooks`: did my server hear of it?
package struct WebhooksPage: Sendable {
    package var webhooks: [Entry]
    /// The formats that a new one may have.
    package var formats: [Webhook.Format]
    /// Makes the form one act, however often it is sent.
    package var formKey: String

    package struct Entry: Sendable {
        package var webhook: Webhook
        package var figures: WebhookFigures

        package init(_ webhook: Webhook, _ figures: WebhookFigures) {
            self.webhook = webhook
            self.figures = figures
        }
    }

    package init(
        webhooks: [Entry], formats: [Webhook.Format] = Webhook.Format.known, formKey: String = ""
    ) {
        self.webhooks = webhooks
        self.formats = formats
        self.formKey = formKey
    }

    package func html(in frame: Frame) -> String {
        let add = frame.viewer.mayConfigure ? addition : nil
        let fields = Fields([
            "cards": .html(cards(in: frame)),
            "isEmpty": .flag(webhooks.isEmpty),
            "empty": .html(
                Empty(
                    title: "No endpoint",
                    text: """
                        Events are kept all the same, and can be read. An endpoint gets those from \
                        now on, or from any day on.
                        """, actions: add?.buttonMarkup ?? ""
                ).markup),
            "dialogs": .html(add?.dialogMarkup(in: frame) ?? ""),
        ])
        return Layout(
            title: "Webhooks", section: .webhooks, heading: "Webhooks",
            lede: """
                Events, pushed to your servers: signed, in order for each customer, tried for \
                three \
                days.
                """, actions: webhooks.isEmpty ? "" : add?.buttonMarkup ?? "", isLive: true,
            content: Template.webhooks.markup(fields)
        ).html(in: frame)
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
        let options = formats.map { format -> Markup in
            let name = format == .revenueCat ? "as RevenueCat’s webhooks" : "ours"
            return "<option value=\"\(.value(format.rawValue))\">\(name)</option>"
        }
        return Dialog(
            id: "add", button: "Add an endpoint", title: "Add an endpoint",
            sentences: """
                <p class="soft">It gets the events from now on. Its secret is shown once, when it \
                has \
                been added. You can delete it again.</p>
                """, path: .webhooks,
            fields: """
                <input type="hidden" name="key" value="\(.value(formKey))">\
                <div><label for="a-u">Address (https)</label>\
                <input id="a-u" name="url" type="url" required placeholder="https://…"></div>\
                <div class="fields"><div><label for="a-f">Form</label>\
                <select id="a-f" name="format">\(options.joined())</select></div>\
                <div><label for="a-t">Only these types (empty: all)</label>\
                <input id="a-t" name="types" placeholder="renewed, refunded"></div></div>\
                <div><label for="a-a">Header <code>Authorization</code> (may be empty)</label>\
                <input id="a-a" name="authorization" autocomplete="off"></div>
                """, submit: "Add the endpoint", buttonClasses: "btn go")
    }
}
