/// The charts to choose from. The charts have the names of the API's reports.
package struct ChartMenu: Sendable {
    package var groups: [Group]

    package struct Group: Sendable {
        package var title: String
        package var entries: [Entry]

        package init(_ title: String, _ entries: [Entry]) {
            self.title = title
            self.entries = entries
        }
    }

    package struct Entry: Sendable {
        /// The name in the path.
        package var name: String
        package var title: String

        package init(_ name: String, _ title: String) {
            self.name = name
            self.title = title
        }
    }

    package init(_ groups: [Group]) { self.groups = groups }

    /// The reports of this version.
    package static let known = ChartMenu([
        Group(
            "Money",
            [
                Entry("mrr", "MRR"), Entry("mrr_movement", "MRR movement"),
                Entry("revenue", "Revenue"), Entry("refunds", "Refunds"),
                Entry("payments", "Payments"),
            ]),
        Group(
            "Subscriptions",
            [
                Entry("active", "Active"), Entry("active_movement", "Active, movement"),
                Entry("trials", "Trials"), Entry("churn", "Churn"),
            ]),
        Group("Over time", [Entry("retention", "Retention")]),
        Group("Trouble", [Entry("billing", "Failed payments")]),
    ])

    func markup(current: String, in frame: Frame) -> Markup {
        let groups = groups.map { group -> Markup in
            let links = group.entries.map { entry -> Markup in
                let mark: Markup = entry.name == current ? " aria-current=\"page\"" : ""
                return """
                    <li><a href="\(frame.link(.chart(entry.name)))"\(mark)>\
                    \(.bdi(entry.title))</a></li>
                    """
            }
            return "<h2>\(.bdi(group.title))</h2><ul>\(links.joined())</ul>"
        }
        return "<nav aria-label=\"Charts\" class=\"chlist\">\(groups.joined())</nav>"
    }
}

/// One field of the form above a chart. All fields together are the view, and are in the URL.
package struct ChartFilter: Sendable {
    /// The name in the query: `range`, `by`, `product`, `country`, `currency`, `compare`, `known`.
    package var name: String
    package var label: String
    package var options: [Option]
    package var selected: String

    package struct Option: Sendable {
        package var value: String
        package var label: String

        package init(_ value: String, _ label: String) {
            self.value = value
            self.label = label
        }
    }

    package init(name: String, label: String, options: [Option], selected: String) {
        self.name = name
        self.label = label
        self.options = options
        self.selected = selected
    }

    /// A form that contains filters, and shows a page with them.
    static func form(_ filters: Markup, to path: DashboardPath, in frame: Frame) -> Markup {
        """
        <form class="panel" method="get" action="\(frame.link(path))" data-auto>\
        \(frame.environmentField)<div class="fields">\(filters)<div>\
        <button class="btn go" type="submit">Show</button></div></div></form>
        """
    }

    func markup(number: Int) -> Markup {
        Choice(
            id: "f\(number)", name: .value(name), label: .bdi(label),
            options: options.map { ($0.value, $0.label) }, selected: selected
        ).markup
    }
}

/// A table beside a chart: the chart's last number, by currency, product or country. The table's
/// foot is the sum.
package struct Breakdown: Sendable {
    /// `By product`
    package var title: String
    /// The heading of the first column: `Product`.
    package var rowName: String
    /// Columns before the number, such as the number in its own currency and the rate.
    package var extraColumns: [String]
    package var valueName: String
    package var unit: ChartUnit
    package var rows: [Row]

    package struct Row: Sendable {
        package var name: String
        package var extra: [String]
        package var value: Int64
        package var purchases: DashboardPath?

        package init(
            _ name: String, extra: [String] = [], value: Int64, purchases: DashboardPath? = nil
        ) {
            self.name = name
            self.extra = extra
            self.value = value
            self.purchases = purchases
        }
    }

    package init(
        title: String, rowName: String, extraColumns: [String] = [], valueName: String,
        unit: ChartUnit, rows: [Row]
    ) {
        self.title = title
        self.rowName = rowName
        self.extraColumns = extraColumns
        self.valueName = valueName
        self.unit = unit
        self.rows = rows
    }

    package var sum: Int64 { rows.map(\.value).reduce(0, +) }

    func markup(in frame: Frame) -> Markup {
        let lines = rows.map { row -> Markup in
            let text = unit.text(row.value)
            let value: Markup =
                row.purchases.map {
                    "<a href=\"\(frame.link($0))\">\(text)</a>"
                } ?? "\(text)"
            return Table.row(
                .init(.bdi(row.name)),
                row.extra.map { .init(.bdi($0), "num") } + [.init(value, "num")])
        }
        let gaps = extraColumns.map { _ in Markup("<td></td>") }.joined()
        let table = Table(
            name: "\(title)",
            columns: [.init(.bdi(rowName))] + extraColumns.map { .number(.bdi($0)) }
                + [.number(.bdi(valueName))], rows: lines,
            foot: """
                <tr><th scope="row">All</th>\(gaps)<td class="num">\(unit.text(sum))</td></tr>
                """, classes: "")
        return Panel(title: .bdi(title), content: table.markup, classes: "flush").markup
    }
}

/// How a number is computed. The version changes whenever the computed number would change.
package struct ChartDefinition: Sendable {
    package var version: Int
    package var sentence: String
    /// `Not counted`: `Trials, grants, …`
    package var facts: [(name: String, text: String)]

    package init(version: Int, sentence: String, facts: [(name: String, text: String)] = []) {
        self.version = version
        self.sentence = sentence
        self.facts = facts
    }

    var markup: Markup {
        let rows = facts.map { Markup("<dt>\(.bdi($0.name))</dt><dd>\(.bdi($0.text))</dd>") }
        let details: Markup =
            facts.isEmpty
            ? ""
            : """
            <details><summary>The whole definition</summary>\
            <dl class="facts">\(rows.joined())</dl></details>
            """
        return Panel(
            title: "How this number is made", side: "Definition \(version)",
            content: facts.isEmpty ? "<p>\(.bdi(sentence))</p>" : details
        ).markup
    }
}
