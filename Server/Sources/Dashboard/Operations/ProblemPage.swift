import PerennialContract

/// The page that replaces a page that cannot be shown: not found, refused, or failed.
package struct ProblemPage: Sendable {
    package var problem: Problem
    /// Whether a form was sent. After a form, the page says that nothing has changed.
    package var wasAct: Bool
    /// The page from which the form was sent.
    package var origin: DashboardPath?

    package init(_ problem: Problem, wasAct: Bool = false, origin: DashboardPath? = nil) {
        self.problem = problem
        self.wasAct = wasAct
        self.origin = origin
    }

    package func html(in frame: Frame) -> String {
        var layout = Layout(
            title: heading, section: .none, heading: .init(text: heading), isWide: false,
            content: content(in: frame))
        layout.loadsAgain = problem.status >= 500 && !wasAct
        return layout.html(in: frame)
    }

    private var heading: String {
        switch problem.status {
        case 404 where !wasAct: "There is no such page"
        case 401, 403: "You may not do that"
        case 500...: "That did not work"
        default: "That was not done"
        }
    }

    /// What to do. The problem's own remedy is for programs. For the problems that a form can
    /// cause, there is another remedy for the person who sent the form.
    private var remedy: String {
        wasAct ? Self.remediesOfActs[problem.code] ?? problem.remedy : problem.remedy
    }

    /// The remedies of problems that the forms of pages can cause.
    static let remediesOfActs: [ProblemCode: String] = [
        .requestNotUnderstood: "Go back, and fill in the form again.",
        .bodyNotUnderstood: "Go back, and fill in the form again.",
        .customerIDNotValid: "Use the id of one person.",
        .entitlementUnknown: "Load the customer's page again: it lists what can be given now.",
        .grantUnknown: "Load the customer's page again: it shows what was given.",
        .grantAlreadyEnded: "Go back, and choose a later day, or leave the day empty.",
        .purchaseUnknown: "Go back, and look the purchase up by another number. It may be in the "
            + "other environment.",
        .purchaseBelongsToAnotherCustomer: "Load the customer's page again: it shows what they "
            + "have now. A purchase of another customer can be moved here, unless it was used up.",
        .transferUnknown: "Load the customer's page again: it shows the moves.",
        .transferSuperseded: "Take the later move back first, or move the purchase again.",
        .currencyUnknown: "Load the customer's page again: it shows the wallets.",
        .amountNotPositive: "Go back, and type a whole number from 1.",
        .walletBalanceTooLow: "Go back, and take out at most what the wallet has.",
        .idempotencyKeyReused: "The form was sent before, with other words. Load the page again, "
            + "and use its form.",
        .forwardUnknown: "Load the page again: it shows what can be sent.",
        .webhookUnknown: "Load the list of webhooks again: it shows those that there are.",
        .webhookNotValid: "Go back, and fill in the form again.",
    ]

    private func content(in frame: Frame) -> Markup {
        // For a form, the detail is sufficient. The rest is for programs.
        let isForm =
            wasAct && [.requestNotUnderstood, .bodyNotUnderstood].contains(problem.code)
        let title = isForm ? problem.detail ?? problem.title : problem.title
        let detail: Markup = isForm ? "" : problem.detail.map { " \(.bdi($0))" } ?? ""
        let remedy: Markup = .bdi(remedy)
        let unchanged: Markup = wasAct ? " Nothing has changed." : ""
        let reference = [problem.code.rawValue, problem.requestID.map { "request \($0)" }]
            .compactMap { $0 }.joined(separator: ", ")
        return """
            <div class="stack"><div class="say bad" role="alert">\(Icon.warning.markup)<div>\
            <strong>\(.bdi(title))</strong>\(detail)\(unchanged) \(remedy) \
            <span class="muted">\(.bdi(reference))</span></div></div><div class="row">\
            \(origin.map { "<a class=\"btn go\" href=\"\(frame.link($0))\">Back</a>" })\
            <a class="btn" href="\(frame.link(.overview))">Overview</a>\
            <a class="btn" href="\(frame.link(.customers))">Find a customer</a></div></div>
            """
    }
}
