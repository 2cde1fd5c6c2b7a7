/// Cohorts: how many of the people who began in a period did something in each later period. The
/// table itself is the picture.
package struct HeatTable: Sendable {
    /// The name of the table: `Retention by month of first payment, pro.monthly`.
    package var name: String
    /// The heading of the first column: `First paid`.
    package var cohortName: String
    /// The meaning of a column: `Renewal`. Columns are numbered from 1.
    package var columnName: String
    package var cohorts: [Cohort]

    /// Cohorts with fewer people have no shade, so that chance does not look like a pattern.
    package static let peopleMin = 20

    package struct Cohort: Sendable {
        package var name: String
        package var people: Int
        package var cells: [Cell]

        package init(name: String, people: Int, cells: [Cell]) {
            self.name = name
            self.people = people
            self.cells = cells
        }
    }

    package struct Cell: Sendable {
        package var people: Int
        /// Whether the number can still grow.
        package var isOpen: Bool
        package var purchases: DashboardPath?

        package init(people: Int, isOpen: Bool = false, purchases: DashboardPath? = nil) {
            self.people = people
            self.isOpen = isOpen
            self.purchases = purchases
        }
    }

    package init(name: String, cohortName: String, columnName: String, cohorts: [Cohort]) {
        self.name = name
        self.cohortName = cohortName
        self.columnName = columnName
        self.cohorts = cohorts
    }

    private var width: Int { cohorts.map(\.cells.count).max() ?? 0 }

    /// The largest share of any cohort that is large enough to be shaded. This share has the
    /// deepest shade.
    private var deepest: Double {
        cohorts.filter { $0.people >= Self.peopleMin }.flatMap { cohort in
            cohort.cells.map { Double($0.people) / Double(cohort.people) }
        }.max() ?? 1
    }

    package func markup(in frame: Frame) -> Markup {
        let (width, deepest) = (width, deepest)
        let heads = (0..<width).map { index -> Markup in
            "<th scope=\"col\"><span class=\"vh\">\(columnName) </span>\(index + 1)</th>"
        }
        let rows = cohorts.map { cohort -> Markup in
            let cells = cohort.cells.map { cell($0, of: cohort, deepest: deepest, in: frame) }
            let rest = Array(repeating: Markup("<td></td>"), count: width - cohort.cells.count)
            return """
                <tr><th scope="row" class="nowrap">\(.bdi(cohort.name))</th>\
                <td class="num">\(Figures.count(cohort.people))</td>\((cells + rest).joined())</tr>
                """
        }
        return """
            <div class="scroll" role="region" tabindex="0" aria-label="\(name)"><table \
            class="heat">\
            <caption class="vh">\(name)</caption><thead><tr><th \
            scope="col">\(.bdi(cohortName))</th>\
            <th scope="col">People</th>\(heads.joined())</tr></thead><tbody>\
            \(rows.joined())</tbody>\
            <tfoot>\(sum(width: width, deepest: deepest))</tfoot></table></div>
            """
    }

    private func cell(
        _ cell: Cell, of cohort: Cohort, deepest: Double, in frame: Frame
    ) -> Markup {
        let shade = Self.shade(cell.people, of: cohort.people, deepest: deepest)
        let classes = shade + (cell.isOpen ? " sofar" : "")
        let share = Self.percent(cell.people, of: cohort.people)
        let title = "\(Figures.count(cell.people)) of \(Figures.count(cohort.people))"
        let content: Markup =
            cell.purchases.map {
                "<a href=\"\(frame.link($0))\" title=\"\(title)\">\(share)</a>"
            } ?? "<span title=\"\(title)\">\(share)</span>"
        return "<td\(Table.attribute("class", classes))>\(content)</td>"
    }

    /// The last row: for each column, the sum over the cohorts that are old enough.
    private func sum(width: Int, deepest: Double) -> Markup {
        let cells = (0..<width).map { index -> Markup in
            let reached = cohorts.filter { $0.cells.count > index }
            let people = reached.map(\.people).reduce(0, +)
            let stayed = reached.map { $0.cells[index].people }.reduce(0, +)
            let shade = Self.shade(stayed, of: people, deepest: deepest)
            return "<td\(Table.attribute("class", shade))>\(Self.percent(stayed, of: people))</td>"
        }
        return """
            <tr><th scope="row">All</th>\
            <td class="num">\(Figures.count(cohorts.map(\.people).reduce(0, +)))</td>\
            \(cells.joined())</tr>
            """
    }

    private static func shade(_ people: Int, of all: Int, deepest: Double) -> Markup {
        guard all >= peopleMin, deepest > 0 else { return "" }
        let share = Double(people) / Double(all) / deepest
        return "h\(max(0, min(9, Int(share * 9.99))))"
    }

    static func percent(_ people: Int, of all: Int) -> String {
        guard all > 0 else { return "–" }
        return "\(Int((Double(people) / Double(all) * 100).rounded()))\u{A0}%"
    }
}
