import PerennialContract

/// The confirmation before a credit to a wallet: the present balance, and the new one.
package struct CreditPage: Sendable {
    package var customerID: String
    package var currency: String
    package var amount: Int64
    package var reason: String
    /// The balance now.
    package var balance: Int64
    /// The key from the form of the customer's page. Because of this key, an amount that is
    /// confirmed twice is credited once.
    package var formKey: String

    package init(
        customerID: String, currency: String, amount: Int64, reason: String, balance: Int64,
        formKey: String
    ) {
        self.customerID = customerID
        self.currency = currency
        self.amount = amount
        self.reason = reason
        self.balance = balance
        self.formKey = formKey
    }

    private var name: Markup { .id(customerID) }
    private var unit: Markup { .bdi(currency) }
    private var what: Markup { "\(Figures.count(amount)) \(unit)" }

    package func html(in frame: Frame) -> String {
        let back: Markup = """
            <a href="\(frame.link(.customer(customerID)))">\(name)</a>
            """
        return Layout(
            title: "Add to a wallet", section: .customers, heading: "Add \(what) for \(name)",
            lede: "Nothing has been added yet.",
            trail: "<a href=\"\(frame.link(.customers))\">Customers</a> / \(back) / Add",
            content: "<div class=\"stack\">\(panel(in: frame))</div>"
        ).html(in: frame)
    }

    private func panel(in frame: Frame) -> Markup {
        let after = Figures.count(balance + amount)
        return """
            <section class="panel"><header><h2>Wallet</h2></header><dl class="facts">\
            <dt>Now</dt><dd>\(Figures.count(balance)) \(unit)</dd>\
            <dt>Afterwards</dt><dd><b>\(after) \(unit)</b></dd>\
            <dt>Why</dt><dd>\(.bdi(reason))</dd></dl>\
            <p>\(name) gets it at once, and an event is recorded. No refund takes it away. It is \
            spent after what was bought.</p>\
            \(frame.viewer.mayHelp ? form(in: frame) : "")</section>
            """
    }

    private func form(in frame: Frame) -> Markup {
        """
        <form method="post" action="\(frame.link(.credit(of: currency, to: customerID)))">\
        \(frame.csrf)<input type="hidden" name="key" value="\(.value(formKey))">\
        <input type="hidden" name="amount" value="\(.value("\(amount)"))">\
        <input type="hidden" name="reason" value="\(.value(reason))">\
        <input type="hidden" name="confirmed" value="yes"><div class="row">\
        <a class="btn" href="\(frame.link(.customer(customerID)))">Cancel</a>\
        <button class="btn go" type="submit"><span>Add \(what) to the wallet\
        </span></button></div></form>
        """
    }
}
