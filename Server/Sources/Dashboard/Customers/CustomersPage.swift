import PerennialContract

/// The page `/customers`: search, and the list, beginning with the latest events.
package struct CustomersPage: Sendable {
    /// The searched text. Empty for the whole list.
    package var query: String
    /// A word of ``AccessState``, or empty.
    package var state: String
    package var rows: [Row]
    /// The number of customers, and how many of them have something open. Nil while that is being
    /// counted.
    package var total: Int?
    package var open: Int?
    /// The cursor of the page with older events.
    package var olderCursor: String?
    /// Whether this is the page with the newest events.
    package var isFirstPage: Bool
    /// Whether more customers match the search than are shown.
    package var hasMore: Bool
    package var apple: AppleSearch

    /// One customer, or one purchase without a customer.
    package struct Row: Sendable {
        /// Nil if the purchase that was found belongs to no customer.
        package var customerID: String?
        /// How a search found the customer: `id`, `id_prefix`, `transaction_id` or `order_id`.
        package var by: String?
        /// The most important state of the customer's entitlements. Nil if the customer never had
        /// one.
        package var state: AccessState?
        /// When the open access ends, or when the last access ended.
        package var until: Timestamp?
        package var entitlements: [String]
        /// The product that gives the access.
        package var productID: String?
        /// The total that the customer paid in each currency, after refunds.
        package var paid: [Money]
        package var since: Timestamp?
        package var newsAt: Timestamp?

        package init(
            customerID: String?, by: String? = nil, state: AccessState? = nil,
            until: Timestamp? = nil, entitlements: [String] = [], productID: String? = nil,
            paid: [Money] = [], since: Timestamp? = nil, newsAt: Timestamp? = nil
        ) {
            self.customerID = customerID
            self.by = by
            self.state = state
            self.until = until
            self.entitlements = entitlements
            self.productID = productID
            self.paid = paid
            self.since = since
            self.newsAt = newsAt
        }
    }

    package init(
        query: String = "", state: String = "", rows: [Row], total: Int? = nil, open: Int? = nil,
        olderCursor: String? = nil, isFirstPage: Bool = true, hasMore: Bool = false,
        apple: AppleSearch = .notAsked
    ) {
        self.query = query
        self.state = state
        self.rows = rows
        self.total = total
        self.open = open
        self.olderCursor = olderCursor
        self.isFirstPage = isFirstPage
        self.hasMore = hasMore
        self.apple = apple
    }

    package func html(in frame: Frame) -> String {
        Layout(
            title: "Customers", section: .customers, heading: "Customers", lede: lede(in: frame),
            content: body(in: frame)
        ).html(in: frame)
    }

    private func body(in frame: Frame) -> Markup {
        """
        <div class="stack">
        <form class="panel" method="get" action="\(frame.link(.customers))" role="search" \
        data-auto>\(frame.environmentField)<div class="row"><div class="grow"><label for="q">Find \
        by your id, an alias, an account token, a transaction, a claim on a seat, a mail address, \
        or the order number of Apple’s mail (M…)</label>\
        <input id="q" name="query" type="search" value="\(.value(query))" \
        placeholder="cleo, 2000000811204417, MLQ4X2…" autocomplete="off"></div>\(states)\
        <button class="btn go" type="submit">Find</button></div></form>
        \(trouble)
        <section class="panel flush">\(rows.isEmpty ? empty(in: frame) : table(in: frame))</section>
        <div class="row end"><span class="muted small">\(count)</span>\(older(in: frame))</div>
        </div>
        """
    }

    private func lede(in frame: Frame) -> Markup {
        guard let total else {
            return "Every customer who has a purchase or a grant."
        }
        let place = frame.environment.rawValue
        let opened: Markup = open.map { ", \(Figures.count($0)) of them with something open" } ?? ""
        return "\(Figures.count(total)) in \(place)\(opened)."
    }

    private var states: Markup {
        Choice(
            id: "st", name: "state", label: "State",
            options: [("", "Any")] + AccessState.known.map { ($0.rawValue, $0.rawValue) },
            selected: state
        ).markup
    }

    /// The notice that the results may be incomplete.
    private var trouble: Markup {
        switch apple {
        case .notAsked, .unknown, .known: ""
        case .noKey, .away:
            """
            <div class="say warn" role="status">\(Icon.warning.markup)<div>\(apple.sentence)</div>\
            </div>
            """
        }
    }

    private var count: Markup {
        guard !rows.isEmpty else { return "" }
        let shown = Figures.count(rows.count)
        if !query.isEmpty {
            return hasMore ? "The first \(shown). Type more of the id." : "Found: \(shown)."
        }
        guard let total else { return "Latest event first." }
        return "Latest event first. \(shown) of \(Figures.count(total))."
    }

    private func older(in frame: Frame) -> Markup {
        guard let olderCursor else { return "" }
        let path = DashboardPath.customers.with("query", query).with("state", state)
            .with("cursor", olderCursor)
        let label: Markup = rows.isEmpty ? "Look further back" : "Older"
        return "<a class=\"btn s\" href=\"\(frame.link(path))\">\(label)</a>"
    }

    private func empty(in frame: Frame) -> Markup {
        let all: Markup = "<a class=\"btn\" href=\"\(frame.link(.customers))\">All customers</a>"
        if !query.isEmpty {
            return Empty(
                title: "No customer with the id “\(.bdi(query))”",
                text: """
                    No id begins with it, and no account token, transaction, order or claim on a \
                    seat matches. \
                    \(trouble.isEmpty ? apple.sentence : "")
                    """, actions: all
            ).markup
        }
        if olderCursor != nil {
            return Empty(
                title: state.isEmpty
                    ? "No customers here yet" : "No customer is “\(.bdi(state))” here",
                text: """
                    \(state.isEmpty ? unclaimed : others) \
                    <a href="\(frame.link(.events))">Show the events</a>, or look further back.
                    """
            ).markup
        }
        guard isFirstPage else {
            return Empty(
                title: "No more customers", text: "There are no older events.", actions: all
            ).markup
        }
        if !state.isEmpty {
            return Empty(
                title: "No customer is “\(.bdi(state))”", text: "No customer is in this state now.",
                actions: all
            ).markup
        }
        return Empty(
            title: "No customer yet",
            text: """
                A customer is created when your app posts a purchase with an id of yours, or when \
                you give access to somebody. The id is any text: a number, a name, a UUID.
                """
        ).markup
    }

    /// The sentence for a page on which no event has a customer.
    private var unclaimed: Markup {
        "The latest events are about purchases that no customer has claimed yet."
    }

    private var others: Markup { "The latest events are about customers in other states." }

    // MARK: - Table

    private func table(in frame: Frame) -> Markup {
        // Search results have no events.
        let hasNews = rows.contains { $0.newsAt != nil }
        return Table(
            name: query.isEmpty ? "Customers, latest event first" : "Customers that were found",
            columns: [
                .init("Customer"), .init("State"), .init("Until"), .init("Access"),
                .init("Product"),
            ] + (frame.viewer.seesMoney ? [.number("Total paid")] : []) + [.init("Since")]
                + (hasNews ? [.init("Latest event")] : []),
            rows: rows.map { row($0, hasNews: hasNews, in: frame) },
            classes: "fold dense"
        ).markup
    }

    private func row(_ row: Row, hasNews: Bool, in frame: Frame) -> Markup {
        let found: Markup =
            row.by.flatMap { ["id", "id_prefix"].contains($0) ? nil : $0 }.map {
                " <span class=\"muted small\">by \($0.replacing("_", with: " "))</span>"
            } ?? ""
        let chip = row.state.map { Chip($0).markup } ?? "<span class=\"muted\">nothing yet</span>"
        let rights = row.entitlements.map(Markup.bdi).joined(by: ", ")
        let news = Table.Cell("\(row.newsAt.map { frame.shortTime($0) } ?? "–")", "alt nowrap")
        return Table.row(
            .init("\(frame.customer(row.customerID))\(found)"),
            [
                .init(chip, "r"), .init("\(Self.until(row, in: frame))", "full nowrap"),
                .init(rights.isEmpty ? "–" : rights),
                .init(row.productID.map(Markup.bdi) ?? "–", "alt"),
            ] + (frame.viewer.seesMoney ? [.init(Self.sum(row.paid), "num")] : [])
                + [.init("\(row.since.map { CivilTime($0).date } ?? "–")", "alt nowrap")]
                + (hasNews ? [news] : []))
    }

    private static func until(_ row: Row, in frame: Frame) -> String {
        guard let state = row.state else { return "" }
        guard let until = row.until else { return state == .owned ? "to keep" : "without end" }
        let day = frame.day(until)
        return switch state {
        case .unconfirmed: "held until \(day)"
        case .expired, .refunded, .revoked, .retry: "since \(day)"
        default: "until \(day)"
        }
    }

    /// Amounts of different currencies are shown side by side; they are never added.
    static func sum(_ paid: [Money]) -> Markup {
        paid.isEmpty ? "–" : paid.map { Markup(text: Figures.money($0)) }.joined(by: ", ")
    }
}
