import PerennialContract

/// The page in place of one that cannot be shown: not found, refused, or wrong.
package struct ProblemPage: Sendable {
    package var problem: Problem
    /// Whether a form was sent: then it says that nothing has changed.
    package var wasAct: Bool
    /// The page from which the form was sent.
    package var origin: DashboardPath?

    package init(_ problem: Problem, wasAct: Bool = false, origin: DashboardPath? = nil) {
        self.problem = problem
        self.wasAct = wasAct
        self.origin = origin
    }

    package func html(in frame: Frame) -> String {
        Layout(
            title: heading, section: .none, heading: .init(text: heading), isWide: false,
            content: content(in: frame)
        ).html(in: frame)
    }

    private var heading: String {
        switch problem.status {
        case 404: "There is no such page"
        case 401, 403: "You may not do that"
        case 500...: "That did not work"
        default: "That was not done"
        }
    }

    private func content(in frame: Frame) -> Markup {
        // Of a form the detail says all. What else there is to say is for programs.
        let isForm = wasAct && problem.code == .requestNotUnderstood
        let title = isForm ? problem.detail ?? problem.title : problem.title
        let detail: Markup = isForm ? "" : problem.detail.map { " \(.bdi($0))" } ?? ""
        let remedy: Markup = isForm ? "Go back, and fill in the form again." : .bdi(problem.remedy)
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
