import PerennialContract

/// The page `/customers/{id}`: what the customer may use, why, and what support can do.
package struct CustomerPage: Sendable {
    package var customer: Customer
    /// Whether a customer has this id. If false, there is nothing to erase.
    package var isKnown: Bool
    /// When the customer was first seen, the total that the customer paid in each currency after
    /// refunds, and the three letters of the customer's storefront. Nil or empty if unknown.
    package var since: Timestamp?
    package var paid: [Money]
    package var storefront: String?
    package var purchases: [PurchaseLine]
    package var timeline: TimelinePicture
    /// The lines of ``Explanation``.
    package var explanation: [String]
    /// A statement for each wallet.
    package var wallets: [WalletStatement]
    package var transfers: [Transfer]
    /// The original transactions of purchases that are blocked in favour of this customer.
    package var blocked: [String]
    package var grants: [Grant]
    /// The groups that the customer pays for, newest first, and whether there are more.
    package var groups: [CustomerGroup]
    package var hasMoreGroups: Bool
    /// The seats that the customer has in the groups of others.
    package var seats: [CustomerSeat]
    package var consumption: ConsumptionOverview?
    /// The newest events, newest first.
    package var happened: [Event]
    /// The number of lines of the whole history.
    package var linesCount: Int
    /// A part of the whole history, the oldest line first. If not nil, the page shows this part
    /// instead of the events, with the newest line first.
    package var history: History?
    /// Entitlements that can be granted by hand.
    package var entitlements: [String]
    /// The number of purchases, in both environments, that lose their owner when this customer is
    /// erased.
    package var erasedPurchases: Int
    /// How many events have this customer's id. Shown in the dialog that erases.
    package var eventsCount: Int?
    /// What the app says about the customer. Empty for viewers who may not see it.
    package var attributes: [Attribute] = []
    /// An idempotency key, new for each rendered page.
    package var formKey: String

    package init(
        customer: Customer, isKnown: Bool = true, since: Timestamp? = nil, paid: [Money] = [],
        storefront: String? = nil, purchases: [PurchaseLine]? = nil,
        timeline: TimelinePicture = .init(lanes: []),
        explanation: [String] = [], wallets: [WalletStatement] = [], transfers: [Transfer] = [],
        blocked: [String] = [], grants: [Grant] = [], groups: [CustomerGroup] = [],
        hasMoreGroups: Bool = false, seats: [CustomerSeat] = [],
        consumption: ConsumptionOverview? = nil,
        happened: [Event] = [], linesCount: Int = 0, history: History? = nil,
        entitlements: [String], erasedPurchases: Int = 0, eventsCount: Int? = nil,
        formKey: String = ""
    ) {
        self.customer = customer
        self.isKnown = isKnown
        self.since = since
        self.paid = paid
        self.storefront = storefront
        self.purchases = purchases ?? PurchaseLine.lines(of: customer)
        self.timeline = timeline
        self.explanation = explanation
        self.wallets = wallets
        self.transfers = transfers
        self.blocked = blocked
        self.grants = grants
        self.groups = groups
        self.hasMoreGroups = hasMoreGroups
        self.seats = seats
        self.consumption = consumption
        self.happened = happened
        self.linesCount = linesCount
        self.history = history
        self.entitlements = entitlements
        self.erasedPurchases = erasedPurchases
        self.eventsCount = eventsCount
        self.formKey = formKey
    }

    /// The maximum number of lines of the explanation that a page shows.
    private static let explanationLinesMax = 40

    var id: String { customer.customerID }
    var name: Markup { .id(id) }

    package func html(in frame: Frame) -> String {
        Layout(
            title: id, section: .customers, heading: name, lede: lede(in: frame),
            trail: "<a href=\"\(frame.link(.customers))\">Customers</a> / \(name)",
            isLive: true, content: body(in: frame)
        ).html(in: frame)
    }

    private func body(in frame: Frame) -> Markup {
        """
        <div class="stack">
        \(currentAnswer(in: frame))
        \(warnings(in: frame))
        \(CustomerActs(page: self).markup(in: frame))
        <div class="cols c21"><div class="stack">
        <section class="panel" id="story"><header><h2>Timeline</h2></header>\
        \(timelineFigure(in: frame))</section>
        <section class="panel flush" id="purchases"><header><h2>Purchases</h2></header>\
        \(purchaseTable(in: frame))</section>
        \(groupPanels(in: frame))
        <section class="panel" id="history"><header><h2>History</h2>\
        <p>\(historyLinks(in: frame))</p></header>\(historyLines(in: frame))\
        \(earlier(in: frame).inside { "<div class=\"row\">\($0)</div>" })</section>
        </div><div class="stack">
        <section class="panel" id="rights"><header><h2>Access</h2></header>\
        \(rights(in: frame))</section>
        \(walletPanels(in: frame))
        \(CustomerMovements(page: self).markup(in: frame))
        <section class="panel"><header><h2>Ids</h2></header>\(ids)</section>\(details(in: frame))
        </div></div>
        </div>
        """
    }

    /// The attributes that the app has set. Nobody has verified them.
    private func details(in frame: Frame) -> Markup {
        let rows = attributes.map { attribute -> Markup in
            let at = frame.shortTime(attribute.at)
            return "<dt>\(.bdi(attribute.name))</dt><dd>\(.bdi(attribute.value)) "
                + "<span class=\"muted small\">by the \(attribute.author), \(at)</span></dd>"
        }
        return rows.joined(by: "").inside {
            """
            <section class="panel"><header><h2>Attributes</h2></header><p class="muted small">What \
            the app says. Nobody has proven it.</p><dl class="facts">\($0)</dl></section>
            """
        }
    }

    private func currentAnswer(in frame: Frame) -> Markup {
        let answer = Answer(customer, in: frame)
        return """
            <section class="panel answer\(answer.look)" id="answer" aria-label="The answer">\
            <p class="line" role="status">\(answer.markup)</p><p class="muted small">The app got \
            this answer at \(frame.longTime(customer.asOf)). You can send this sentence to the \
            customer. <button class="link" type="button" data-copy="\(.value(answer.text))">Copy\
            </button></p>\(why(in: frame))</section>
            """
    }

    private func timelineFigure(in frame: Frame) -> Markup {
        let story: Markup = "\(story(in: frame))"
        let table = timeline.lanes.isEmpty ? "" : timeline.table(in: frame)
        return """
            <figure>\(story.inside { "<figcaption>\($0)</figcaption>" })\
            \(timeline.markup(in: frame))</figure>\
            \(table.inside { "<details><summary>Show as a table</summary>\($0)</details>" })
            """
    }

    private func lede(in frame: Frame) -> Markup {
        guard let since else {
            return isKnown
                ? "This customer has no purchases and no grants yet."
                : "No customer with this id is known yet."
        }
        let place: Markup = storefront.map { ", storefront \(.bdi($0))" } ?? ""
        let sum: Markup =
            paid.isEmpty ? "" : " Paid \(CustomersPage.sum(paid)) so far, after refunds."
        return "Customer since \(CivilTime(since).longDate)\(place).\(sum)"
    }

    private func why(in frame: Frame) -> Markup {
        guard !explanation.isEmpty else { return "" }
        let lines = explanation.prefix(Self.explanationLinesMax).map(Markup.bdi).joined(by: "\n")
        let rest = explanation.count - Self.explanationLinesMax
        let more: Markup =
            rest > 0
            ? """
            <p class="muted small">\(Figures.count(rest, "more line")): \
            <code>perennial explain \(name)</code></p>
            """ : ""
        return """
            <details><summary>Why, with the documents</summary><pre>\(lines)</pre>\(more)\
            </details>
            """
    }

    // MARK: - Warnings

    /// What needs attention, the worst first.
    private func warnings(in frame: Frame) -> Markup {
        var found = waitingQuestions.map { question($0, in: frame) }
        if let failing { found.append(paymentFailed(failing, in: frame)) }
        found += (customer.unlistedProducts ?? []).map { unlisted($0, in: frame) }
        return found.joined()
    }

    private func unlisted(_ product: UnlistedProduct, in frame: Frame) -> Markup {
        let what = "\(product.productID) was bought, and perennial.yaml does not list it."
        let help = "It gives nothing until you add it: \(product.line)"
        return Notice(.warning, what, help, link: .init("Products", .products)).markup(in: frame)
    }

    var waitingQuestions: [ConsumptionQuestion] {
        consumption?.requests.filter { $0.state == "waiting" } ?? []
    }

    /// The entitlement that a warning suggests to grant by hand.
    var failingEntitlement: String? {
        failing.flatMap { $0.isShut ? $0.name : nil }
    }

    /// The subject of a payment that could not be collected: an entitlement; or the product, if the
    /// customer has the entitlement from elsewhere.
    private var failing: (name: String, isShut: Bool)? {
        let troubled: [AccessState] = [.grace, .retry]
        let entitlement = customer.entitlements.filter { troubled.contains($0.value.state) }.keys
            .min()
        if let entitlement { return (entitlement, true) }
        let subscription = customer.subscriptions.first { troubled.contains($0.state) }
        return subscription.map { ($0.productID, false) }
    }

    private func question(_ question: ConsumptionQuestion, in frame: Frame) -> Markup {
        """
        <div class="say warn" role="status">\(Icon.warning.markup)<div><strong>Apple asks how \
        \(.bdi(question.productID)) was used.</strong> The customer asked Apple for a refund. The \
        answer is due by \
        \(frame.time(question.answerUntil)).\(question.trouble.map { " \(.bdi($0))" })</div></div>
        """
    }

    private func paymentFailed(
        _ failing: (name: String, isShut: Bool), in frame: Frame
    ) -> Markup {
        let what = Markup.bdi(failing.name)
        let help: Markup = " Meanwhile you can grant <b>\(what)</b>."
        return """
            <div class="say warn">\(Icon.warning.markup)<div><strong>The renewal of \(what) could \
            not be collected.</strong> Only \(name) can fix it, on the iPhone: Settings → their \
            name → Payment & Shipping.\
            \(frame.viewer.mayHelp && failing.isShut ? help : "")\
            </div></div>
            """
    }

    // MARK: - Purchases and rights

    private func story(in frame: Frame) -> String {
        let spans = timeline.lanes.flatMap(\.spans)
        guard let first = spans.map(\.from).min() else { return "" }
        let refunds = spans.count { $0.kind == .refunded }
        let failures = spans.count { $0.kind == .grace || $0.kind == .retry }
        let periods = Figures.count(spans.count - failures, "period")
        var words = "Since \(frame.day(first)): \(periods)"
        if failures > 0 { words += ", \(Figures.count(failures, "failed payment"))" }
        if refunds > 0 { words += ", \(Figures.count(refunds, "refund"))" }
        return words + "."
    }

    private func purchaseTable(in frame: Frame) -> Markup {
        guard !purchases.isEmpty else {
            return """
                <p class="soft inset">Nothing was bought with \
                \(customer.aliases.isEmpty ? "this id" : "these ids").</p>
                """
        }
        return Table(
            name: "Purchases of \(id)",
            columns: [
                .init("Product"), .init("State"), .init("Period"), .number("Total paid"),
                .init("Original transaction"),
            ], rows: purchases.map { $0.row(in: frame) }
        ).markup
    }

    private func rights(in frame: Frame) -> Markup {
        guard !customer.entitlements.isEmpty else {
            return "<p class=\"soft\">Nothing yet.</p>"
        }
        let sorted = customer.entitlements.sorted {
            ($0.value.active ? 0 : 1, $0.key) < ($1.value.active ? 0 : 1, $1.key)
        }
        let lines = sorted.map { name, entitlement -> Markup in
            let by: Markup =
                entitlement.productID.map { "by \(.bdi($0))" }
                ?? (entitlement.grantID == nil ? "" : "granted")
            return """
                <li><div>\(Chip(entitlement.state).markup)</div><div><b>\(.bdi(name))</b> \
                <span class="muted">\(by)</span><br>\
                <span class="soft">\(.bdi(entitlement.reason))</span></div></li>
                """
        }
        return "<ul class=\"rights\">\(lines.joined())</ul>"
    }

    private var ids: Markup {
        // Apple's notifications identify the customer by the token, so the token is an alias, too.
        let others = customer.aliases.filter { $0 != customer.accountToken }.map {
            alias -> Markup in
            "<dt>Also</dt><dd class=\"mono\">\(.id(alias))</dd>"
        }
        let token: Markup =
            customer.accountToken.map {
                "<dt>Account token</dt><dd class=\"mono\">\(.bdi($0))</dd>"
            } ?? ""
        return """
            <dl class="facts"><dt>Yours</dt><dd>\(name)</dd>\(others.joined())\(token)</dl>
            """
    }
}
