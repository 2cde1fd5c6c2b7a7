/// A notice above a page's content: the result of an action, a problem that needs attention, or why
/// something was not done.
package struct Notice: Hashable, Sendable {
    package var kind: Kind
    /// What happened, in one sentence with its full stop.
    package var title: String
    /// What the event means, and what to do.
    package var text: String
    package var link: Link?
    /// An action that undoes what happened.
    package var undo: Link?
    /// The problem's code, and the id of the request.
    package var code: String?
    package var requestID: String?

    package enum Kind: Sendable { case done, about, warning, wrong }

    package struct Link: Hashable, Sendable {
        package var label: String
        package var path: DashboardPath

        package init(_ label: String, _ path: DashboardPath) {
            self.label = label
            self.path = path
        }
    }

    package init(
        _ kind: Kind, _ title: String, _ text: String = "", link: Link? = nil, undo: Link? = nil,
        code: String? = nil, requestID: String? = nil
    ) {
        self.kind = kind
        self.title = title
        self.text = text
        self.link = link
        self.undo = undo
        self.code = code
        self.requestID = requestID
    }

    func markup(in frame: Frame) -> Markup {
        """
        <div class="say\(look)" role="\(role)">\(icon.markup)<div>\
        <strong>\(.bdi(title))</strong>\(text.isEmpty ? "" : " \(.bdi(text))")\
        \(link.map { " <a href=\"\(frame.link($0.path))\">\(.bdi($0.label))</a>" })\
        \(undo.map { undoForm($0, in: frame) })\(reference)</div></div>
        """
    }

    private func undoForm(_ link: Link, in frame: Frame) -> Markup {
        guard frame.viewer.mayHelp else { return "" }
        return """
             <form class="inline" method="post" action="\(frame.link(link.path))">\(frame.csrf)\
            <button class="link" type="submit">\(.bdi(link.label))</button></form>
            """
    }

    private var reference: Markup {
        let parts = [code, requestID.map { "request \($0)" }].compactMap { $0 }
        guard !parts.isEmpty else { return "" }
        return " <span class=\"muted\">\(.bdi(parts.joined(separator: ", ")))</span>"
    }

    private var look: Markup {
        switch kind {
        case .done: " ok"
        case .about: ""
        case .warning: " warn"
        case .wrong: " bad"
        }
    }

    private var role: Markup { kind == .wrong ? "alert" : "status" }

    private var icon: Icon {
        switch kind {
        case .done: .check
        case .about: .about
        case .warning, .wrong: .warning
        }
    }
}

/// The content of a page or a panel that has no data.
struct Empty {
    var title: Markup
    var text: Markup
    var actions: Markup = ""

    var markup: Markup {
        """
        <div class="empty">\(Icon.sprout)<h2>\(title)</h2><p>\(text)</p>\
        \(actions.isEmpty ? "" : "<div class=\"row\">\(actions)</div>")</div>
        """
    }
}

/// The content of a page or a panel while it waits.
enum Bones {
    static func markup(_ sentence: Markup, remark: Markup = "") -> Markup {
        """
        <div class="stack" role="status" aria-busy="true"><span class="vh">\(sentence)</span>\
        <span class="bone w3"></span><span class="bone big"></span><span class="bone w6"></span>\
        </div>\(remark.isEmpty ? "" : "<p class=\"muted small\">\(remark)</p>")
        """
    }

    /// Rows of a table that is being read.
    static func rows(_ count: Int, columns: Int) -> Markup {
        let cells = (0..<columns).map { _ in Markup("<td><span class=\"bone\"></span></td>") }
        let row: Markup = "<tr>\(cells.joined())</tr>"
        return (0..<count).map { _ in row }.joined()
    }
}
