import PerennialContract

/// The confirmation before a purchase is moved: its owner, and what will happen.
package struct MovePage: Sendable {
    /// The customer to whom the purchase would be moved.
    package var customerID: String
    /// The text that the operator typed.
    package var query: String
    package var reason: String
    package var found: [Found]
    package var apple: AppleSearch

    package struct Found: Sendable {
        package var originalTransactionID: String
        package var productID: String?
        /// The present owner of the purchase. Nil if the purchase has no owner.
        package var owner: String?
        package var state: AccessState?
        /// Whether support has blocked the purchase in favour of its owner.
        package var isBlocked: Bool

        package init(
            originalTransactionID: String, productID: String? = nil, owner: String? = nil,
            state: AccessState? = nil, isBlocked: Bool = false
        ) {
            self.originalTransactionID = originalTransactionID
            self.productID = productID
            self.owner = owner
            self.state = state
            self.isBlocked = isBlocked
        }
    }

    package init(
        customerID: String, query: String, reason: String, found: [Found],
        apple: AppleSearch = .notAsked
    ) {
        self.customerID = customerID
        self.query = query
        self.reason = reason
        self.found = found
        self.apple = apple
    }

    private var name: Markup { .id(customerID) }

    package func html(in frame: Frame) -> String {
        let back: Markup = """
            <a href="\(frame.link(.customer(customerID)))">\(name)</a>
            """
        return Layout(
            title: "Move a purchase", section: .customers, heading: "Move a purchase to \(name)",
            lede: "Nothing has been moved yet.",
            trail: "<a href=\"\(frame.link(.customers))\">Customers</a> / \(back) / Move",
            content: "<div class=\"stack\">\(content(in: frame))</div>"
        ).html(in: frame)
    }

    private func content(in frame: Frame) -> Markup {
        guard !found.isEmpty else {
            let empty = Empty(
                title: "No purchase with the number “\(.bdi(query))”",
                text: """
                    Neither a transaction nor an order of this number is known here in \
                    \(frame.environment.rawValue). \(apple.sentence)
                    """,
                actions: """
                    <a class="btn" href="\(frame.link(.customer(customerID)))"><span>Back to \
                    \(name)</span></a>
                    """)
            return "<section class=\"panel\">\(empty.markup)</section>"
        }
        return found.map { panel($0, in: frame) }.joined()
    }

    private func panel(_ purchase: Found, in frame: Frame) -> Markup {
        let what = purchase.productID.map(Markup.bdi) ?? .bdi(purchase.originalTransactionID)
        let isTheirs = purchase.owner == customerID
        let owner: Markup =
            purchase.owner == nil ? "no customer" : frame.customer(purchase.owner)
        let blocked: Markup =
            purchase.isBlocked
            ? "<p class=\"soft\">Support keeps it with this customer. A move overrides that.</p>"
            : ""
        let sentence: Markup =
            if isTheirs {
                "It already belongs to \(name)."
            } else if purchase.owner == nil {
                "It belongs to no customer. \(name) gets it."
            } else {
                "\(owner) loses it, and \(name) gets it. An event is recorded for each."
            }
        return """
            <section class="panel"><header><h2>\(what)</h2>\
            \(purchase.state.map { Chip($0).markup })</header>\
            <dl class="facts"><dt>Original transaction</dt>\
            <dd class="mono">\(.bdi(purchase.originalTransactionID))</dd><dt>Belongs to</dt>\
            <dd>\(owner)</dd><dt>Why</dt><dd>\(.bdi(reason))</dd></dl><p>\(sentence)</p>\(blocked)\
            \(isTheirs || !frame.viewer.mayHelp ? "" : form(purchase, what, in: frame))</section>
            """
    }

    private func form(_ purchase: Found, _ what: Markup, in frame: Frame) -> Markup {
        let transaction = purchase.originalTransactionID
        return """
            <form method="post" action="\(frame.link(.act("transfers", on: customerID)))">\
            \(frame.csrf)<input type="hidden" name="original_transaction_id" \
            value="\(.value(transaction))"><input type="hidden" name="reason" \
            value="\(.value(reason))"><div class="row">\
            <a class="btn" href="\(frame.link(.customer(customerID)))">Cancel</a>\
            <button class="btn go" type="submit"><span>Move \(what) to \(name)\
            </span></button></div></form>
            """
    }
}
