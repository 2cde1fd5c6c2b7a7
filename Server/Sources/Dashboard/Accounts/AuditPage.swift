import PerennialContract

/// The page `/audit`: the manual actions of operators.
package struct AuditPage: Sendable {
    package var entries: [AuditEntry]
    /// The cursor of the next page. Nil on the last page.
    package var next: String?
    /// Whether these are the actions about the server, and not about the app.
    package var isOfServer: Bool

    package init(entries: [AuditEntry], next: String? = nil, isOfServer: Bool = false) {
        self.entries = entries
        self.next = next
        self.isOfServer = isOfServer
    }

    package func html(in frame: Frame) -> String {
        Layout(
            title: "Audit", section: .audit, heading: "Audit",
            lede: "What operators did, newest first. Entries cannot be changed.",
            actions: frame.viewer.managesOperators ? places(in: frame) : "",
            content: entries.isEmpty ? empty : list(in: frame)
        ).html(in: frame)
    }

    private func places(in frame: Frame) -> Markup {
        let places: [(Markup, DashboardPath, Bool)] = [
            (.bdi(frame.app), .audit, !isOfServer),
            ("Accounts", DashboardPath.audit.with("of", "server"), isOfServer),
        ]
        let links = places.map { name, path, isCurrent -> Markup in
            let current: Markup = isCurrent ? " aria-current=\"true\"" : ""
            return "<a href=\"\(frame.link(path))\"\(current)>\(name)</a>"
        }
        return "<nav class=\"seg\" aria-label=\"About\">\(links.joined())</nav>"
    }

    private var empty: Markup {
        let empty = Empty(
            title: "Nothing yet",
            text: "Each act on the dashboard is recorded with the name of its author.")
        return "<section class=\"panel\">\(empty.markup)</section>"
    }

    private func list(in frame: Frame) -> Markup {
        let rows = entries.map { entry -> Markup in
            Table.row(
                .init("\(frame.time(entry.at))"),
                [
                    .init(.bdi(entry.author)), .init("<code>\(.bdi(entry.act))</code>"),
                    .init(subject(of: entry, in: frame)), .init(Self.change(of: entry)),
                ])
        }
        let table = Table(
            name: "Acts",
            columns: [
                .init("When"), .init("Who"), .init("Act"), .init("To what"), .init("Change"),
            ], rows: rows)
        let path = DashboardPath.audit.with("of", isOfServer ? "server" : nil)
        let more: Markup? = next.map { next in
            "<p><a class=\"btn\" href=\"\(frame.link(path.with("cursor", next)))\">Older</a></p>"
        }
        return """
            <div class="panel flush">\(table.markup)</div>\(more)
            """
    }

    private func subject(of entry: AuditEntry, in frame: Frame) -> Markup {
        let customer = entry.customerID.map { frame.customer($0) }
        let subject = entry.subject.map { Markup.bdi($0) }
        let environment: Markup? = entry.environment == .sandbox ? "sandbox" : nil
        return [customer, subject, environment].compactMap { $0 }.joined(by: " · ")
    }

    private static func change(of entry: AuditEntry) -> Markup {
        let names = Set((entry.before ?? [:]).keys).union((entry.after ?? [:]).keys).sorted()
        return names.map { name -> Markup in
            let before: Markup? = entry.before?[name].map { "\(.bdi($0)) → " }
            let after = entry.after?[name].map { Markup.bdi($0) } ?? "–"
            return "<span class=\"muted\">\(.bdi(name))</span> \(before)\(after)"
        }.joined(by: "<br>")
    }
}
