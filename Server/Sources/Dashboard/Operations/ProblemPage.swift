import PerennialContract

/// The page in place of one that cannot be shown: not found, refused, or wrong.
package struct ProblemPage: Sendable {
    package var problem: Problem
    /// Whether a form was sent: then it says that nothing has changed.
    package var wasAct: Bool

    package init(_ problem: Problem, wasAct: Bool = false) {
        self.problem = problem
        self.wasAct = wasAct
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
        let detail: Markup = problem.detail.map { " \(.bdi($0))" } ?? ""
        let unchanged: Markup = wasAct ? " Nothing has changed." : ""
        let reference = [problem.code.rawValue, problem.requestID.map { "request \($0)" }]
            .compactMap { $0 }.joined(separator: ", ")
        return """
            <div class="stack"><div class="say bad" role="alert">\(Icon.warning.markup)<div>\
            <strong>\(.bdi(problem.title))</strong>\(detail)\(unchanged) \(.bdi(problem.remedy)) \
            <span class="muted">\(.bdi(reference))</span></div></div><div class="row">\
            <a class="btn" href="\(frame.link(.overview))">Overview</a>\
            <a class="btn" href="\(frame.link(.customers))">Find a customer</a></div></div>
            """
    }
}
