import PerennialContract

/// The figures of a webhook's deliveries.
package struct WebhookFigures: Hashable, Sendable {
    /// The counts of the last 48 hours, the oldest first. Contains only hours that were read
    /// completely.
    package var hours: [Strip.Hour]
    package var waiting: Int
    /// Whether more deliveries wait than ``waiting``.
    package var waitingIsMore: Bool
    /// The number of customers whose deliveries wait. Nil if unknown.
    package var waitingCustomers: Int?
    package var oldestWaiting: Timestamp?
    package var delivered: Int
    /// Whether more deliveries succeeded than ``delivered``.
    package var deliveredIsMore: Bool
    package var lastStatus: Int?
    package var lastTrouble: String?
    package var nextAttemptAt: Timestamp?
    /// The earliest time at which the attempts for the oldest waiting delivery end. Nil if no
    /// delivery waits.
    package var triedUntil: Timestamp?

    /// The time within which a receiver must answer. The sender has the same limit.
    package static let answerSeconds = 15

    package init(
        hours: [Strip.Hour], waiting: Int = 0, waitingIsMore: Bool = false,
        waitingCustomers: Int? = nil, oldestWaiting: Timestamp? = nil, delivered: Int = 0,
        deliveredIsMore: Bool = false, lastStatus: Int? = nil, lastTrouble: String? = nil,
        nextAttemptAt: Timestamp? = nil, triedUntil: Timestamp? = nil
    ) {
        self.hours = hours
        self.waiting = waiting
        self.waitingIsMore = waitingIsMore
        self.waitingCustomers = waitingCustomers
        self.oldestWaiting = oldestWaiting
        self.delivered = delivered
        self.deliveredIsMore = deliveredIsMore
        self.lastStatus = lastStatus
        self.lastTrouble = lastTrouble
        self.nextAttemptAt = nextAttemptAt
        self.triedUntil = triedUntil
    }
}

/// A webhook with its figures, as both pages show it.
struct WebhookCard {
    var webhook: Webhook
    var figures: WebhookFigures

    func chip(in frame: Frame) -> Chip {
        if webhook.isPaused {
            return webhook.pauseReason == "gone"
                ? Chip("paused: it answered 410", .badShut) : Chip("paused", .shut)
        }
        if let since = webhook.failingSince {
            return Chip("down for \(frame.span(since: since))", .bad)
        }
        if figures.waiting > 0 {
            let more = figures.waitingIsMore ? "more than " : ""
            return Chip("\(more)\(Figures.count(figures.waiting)) wait", .warn)
        }
        return figures.lastStatus == nil && figures.delivered == 0
            ? Chip("nothing sent lately", .neutral) : Chip("all delivered", .open)
    }

    var strip: Markup {
        guard !figures.hours.isEmpty else { return "" }
        let strip = Strip(figures.hours)
        return "\(strip.markup)<p class=\"muted small\">\(strip.sentence)</p>"
    }

    func facts(in frame: Frame) -> Markup {
        var facts: [(Markup, Markup)] = [("Gets", contents)]
        if figures.waiting > 0 {
            let oldest: Markup =
                figures.oldestWaiting.map { ", the oldest since \(frame.shortTime($0))" } ?? ""
            let more: Markup = figures.waitingIsMore ? "more than " : ""
            let customers: Markup =
                figures.waitingCustomers.map { " of \(Figures.count($0, "customer"))" } ?? ""
            let count = Figures.count(figures.waiting, "delivery", "deliveries")
            facts.append(("Waiting", "<b>\(more)\(count)</b>\(customers)\(oldest)"))
        } else {
            let more: Markup = figures.deliveredIsMore ? "more than " : ""
            facts.append(("Delivered", "\(more)\(Figures.count(figures.delivered)) in 48 hours"))
        }
        if let last = Self.response(figures.lastStatus, figures.lastTrouble) {
            facts.append(("Last answer", last))
        }
        if let next = figures.nextAttemptAt {
            let until: Markup =
                figures.triedUntil.map { ", then again until \(frame.time($0)) at least" } ?? ""
            facts.append(("Next attempt", "\(frame.time(next))\(until)"))
        }
        let from: Markup = webhook.isConfigured ? "perennial.yaml" : "this page, or the API"
        facts.append(("Comes from", from))
        let rows = facts.map { Markup("<dt>\($0.0)</dt><dd>\($0.1)</dd>") }
        return "<dl class=\"facts\">\(rows.joined())</dl>"
    }

    private var contents: Markup {
        let types = webhook.types.map { list($0.map(\.rawValue)) } ?? "all events"
        let products: Markup = webhook.products.map { ", of \(list($0))" } ?? ""
        let places: Markup =
            webhook.environments.map { ", in \(list($0.map(\.rawValue)))" } ?? ""
        let form: Markup =
            switch webhook.format {
            case .perennial: ""
            case .revenueCat: ", in RevenueCat’s form"
            default: ", in the form \(.bdi(webhook.format.rawValue))"
            }
        return "\(types)\(products)\(places)\(form)"
    }

    private func list(_ words: [String]) -> Markup { words.map(Markup.bdi).joined(by: ", ") }

    /// The receiver's answer, or why there was none.
    static func response(_ status: Int?, _ trouble: String?) -> Markup? {
        switch (status, trouble) {
        case (let status?, let trouble?): "\(status) <span class=\"muted\">\(.bdi(trouble))</span>"
        case (let status?, nil): "\(status)"
        case (nil, let trouble?): .bdi(trouble)
        case (nil, nil): nil
        }
    }

    // MARK: - Acts

    func acts(in frame: Frame) -> [Dialog] {
        guard frame.viewer.mayConfigure else { return [] }
        let id = webhook.webhookID
        let name = Markup.bdi(webhook.url)
        let key = Self.key(of: id)
        let pause = Dialog(
            id: "pause-\(key)", button: "Pause", title: "Pause this endpoint?",
            sentences: """
                <p class="soft">Nothing is sent to \(name) until you resume. Events wait in \
                their order, for thirty days.</p>
                """, path: .act("pause", onWebhook: id), submit: "Pause it")
        let resume = Dialog(
            id: "pause-\(key)", button: "Resume", title: "Send to \(name) again?",
            sentences: "<p class=\"soft\">Waiting events are sent now, in order.</p>",
            path: .act("resume", onWebhook: id), submit: "Resume")
        let test = Dialog(
            id: "test-\(key)", button: "Send a test", title: "Send a test to \(name)?",
            sentences: """
                <p class="soft">One event of the type <code>test</code>, without a customer. A \
                receiver answers it within \(WebhookFigures.answerSeconds) seconds, or the attempt \
                fails.</p>
                """, path: .act("test", onWebhook: id), submit: "Send a test")
        return [webhook.isPaused ? resume : pause, test]
    }

    /// A webhook's id may be any text; in an HTML id, only its letters and digits are safe.
    static func key(of id: String) -> Markup {
        Markup(text: String(id.utf8.flatMap { String($0, radix: 16) }))
    }
}
