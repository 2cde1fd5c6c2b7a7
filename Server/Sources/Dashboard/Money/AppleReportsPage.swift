import PerennialContract

/// The page `/reports/{month}/{report}`: do our numbers equal Apple's?
package struct AppleReportsPage: Sendable {
    package var filters: [ChartFilter]
    /// The comparison. Nil if there is nothing to compare.
    package var comparison: Comparison?
    package var files: [File]
    /// Why nothing is compared, or why a file was not understood.
    package var trouble: Notice?

    package struct Comparison: Sendable {
        /// `October 2026`
        package var month: String
        package var linesEqual: Int
        /// The number of lines in Apple's files: one line for each day, product, country and
        /// currency.
        package var linesTotal: Int
        /// How many numbers differ, including those that are not shown.
        package var differencesTotal: Int
        /// How many of the differences have no explanation, so that money may be missing.
        package var unexplained: Int
        package var differences: [Difference]
        package var sums: [Residual]
        package var days: [Day]

        package init(
            month: String, linesEqual: Int, linesTotal: Int, differencesTotal: Int,
            unexplained: Int, differences: [Difference], sums: [Residual], days: [Day]
        ) {
            self.month = month
            self.linesEqual = linesEqual
            self.linesTotal = linesTotal
            self.differencesTotal = differencesTotal
            self.unexplained = unexplained
            self.differences = differences
            self.sums = sums
            self.days = days
        }

        /// The share of Apple's lines that are equal, in hundredths of a percent, truncated: 9951
        /// is 99.51 %.
        var agreement: Int { linesTotal == 0 ? 10_000 : linesEqual * 10_000 / linesTotal }
    }

    /// A number that differs.
    package struct Difference: Sendable {
        package var day: String
        package var country: String
        package var productID: String
        /// `units`, `gross`, `refunded`, `proceeds`
        package var quantity: String
        package var apple: Amount
        package var ours: Amount
        package var difference: Amount
        /// The cause of the difference in a word: `day boundary`, `commission`.
        package var cause: String
        /// Whether money may be missing.
        package var isResidual: Bool
        package var sentence: String

        package init(
            day: String, country: String, productID: String, quantity: String, apple: Amount,
            ours: Amount, difference: Amount, cause: String, isResidual: Bool, sentence: String
        ) {
            self.day = day
            self.country = country
            self.productID = productID
            self.quantity = quantity
            self.apple = apple
            self.ours = ours
            self.difference = difference
            self.cause = cause
            self.isResidual = isResidual
            self.sentence = sentence
        }
    }

    package enum Amount: Sendable {
        case money(Money)
        case units(Int64)

        var text: String {
            switch self {
            case .money(let money): Figures.money(money)
            case .units(let count): Figures.count(count)
            }
        }

        var signedText: String {
            switch self {
            case .money(let money): Figures.signedMoney(money)
            case .units(let count): Figures.change(count)
            }
        }
    }

    /// One of the month's sums, in one currency, and the part of its difference that is explained.
    package struct Residual: Sendable {
        /// `USD, refunded`
        package var name: String
        package var lines: Int
        package var apple: Money
        package var ours: Money
        package var explained: Money
        package var unexplained: Money

        package init(
            name: String, lines: Int, apple: Money, ours: Money, explained: Money,
            unexplained: Money
        ) {
            self.name = name
            self.lines = lines
            self.apple = apple
            self.ours = ours
            self.explained = explained
            self.unexplained = unexplained
        }

        var isZero: Bool { unexplained.amount.allSatisfy { "0.-".contains($0) } }
    }

    /// A day of the month.
    package struct Day: Sendable {
        package var name: String
        package var hasFile: Bool
        package var appleUnits: Int64
        package var ourUnits: Int64
        /// The number of differences.
        package var differences: Int

        package init(
            name: String, hasFile: Bool, appleUnits: Int64 = 0, ourUnits: Int64 = 0,
            differences: Int = 0
        ) {
            self.name = name
            self.hasFile = hasFile
            self.appleUnits = appleUnits
            self.ourUnits = ourUnits
            self.differences = differences
        }
    }

    /// An imported file.
    package struct File: Sendable {
        package var name: String
        /// `SALES`
        package var kind: String
        /// `29 Oct 2026`
        package var days: String
        package var rows: Int
        package var importedAt: Timestamp

        package init(
            name: String, kind: String, days: String, rows: Int, importedAt: Timestamp
        ) {
            self.name = name
            self.kind = kind
            self.days = days
            self.rows = rows
            self.importedAt = importedAt
        }
    }

    package init(
        filters: [ChartFilter] = [], comparison: Comparison?, files: [File] = [],
        trouble: Notice? = nil
    ) {
        self.filters = filters
        self.comparison = comparison
        self.files = files
        self.trouble = trouble
    }

    package func html(in frame: Frame) -> String {
        Layout(
            title: "Apple’s reports", section: .reports, heading: "Apple’s reports",
            lede: "Apple’s files, compared with our ledger line by line.",
            content: body(in: frame)
        ).html(in: frame)
    }

    private func body(in frame: Frame) -> Markup {
        let isEmpty = comparison == nil && files.isEmpty && trouble == nil
        let filters = filters.enumerated().map { $1.markup(number: $0) }.joined()
        return """
            <div class="stack">
            \(filters.inside { ChartFilter.form($0, to: .reports, in: frame) })
            \(trouble?.markup(in: frame))
            \(comparison.map { panels($0) } ?? (isEmpty ? empty : ""))
            <div class="cols c2">\(comparison.map { days($0) })\(filePanel(in: frame))</div>
            </div>
            """
    }

    private var empty: Markup {
        let empty = Empty(
            title: "No file yet",
            text: """
                With a team key of App Store Connect this server fetches each day’s files. Or \
                download them there (Sales and Trends), and import them here: \
                <code>perennial apple-reports import S_D_*.txt.gz</code>. The text of each file \
                is stored byte for byte, and a second time changes nothing.
                """)
        return "<section class=\"panel\">\(empty.markup)</section>"
    }

    // MARK: - Comparison

    private func panels(_ comparison: Comparison) -> Markup {
        let (whole, rest) = comparison.agreement.quotientAndRemainder(dividingBy: 100)
        let numbers = comparison.differencesTotal
        let differ: Markup =
            "\(Figures.count(numbers, "number")) \(numbers == 1 ? "differs" : "differ")"
        let verdict: Markup =
            if numbers == 0 {
                "Nothing differs."
            } else if comparison.unexplained == 0 {
                "\(differ): <b>all of it is explained.</b>"
            } else {
                "\(differ), <b>\(Figures.count(comparison.unexplained)) without a known reason.</b>"
            }
        let missing = comparison.days.count { !$0.hasFile }
        let gap: Markup =
            missing == 0
            ? ""
            : """
             \(Figures.count(missing, "day")) \(missing == 1 ? "has" : "have") no file yet, and \
            \(missing == 1 ? "is" : "are") left out.
            """
        return """
            <section class="panel answer\(comparison.unexplained > 0 ? " bad" : "")">\
            <p class="line">\(.bdi(comparison.month)) agrees to \
            \(whole).\(rest < 10 ? "0" : "")\(rest) %. \(verdict)</p>\
            <p class="muted small">\(Figures.count(comparison.linesTotal, "line")) of Apple’s \
            report, \(Figures.count(comparison.linesEqual)) of them equal.\(gap)</p></section>\
            \(sums(comparison.sums))\
            \(comparison.differences.isEmpty ? "" : table(comparison))
            """
    }

    private func table(_ comparison: Comparison) -> Markup {
        let rows = comparison.differences.map { line -> Markup in
            let chip = Chip(line.cause, line.isResidual ? .bad : .trial)
            return Table.row(
                .init(.bdi(line.day)),
                [
                    .init(.bdi(line.country)), .init(.bdi(line.productID), "full"),
                    .init(.bdi(line.quantity)),
                    .init("<span class=\"fold-only\">Apple </span>\(line.apple.text)", "num"),
                    .init("<span class=\"fold-only\">ours </span>\(line.ours.text)", "num"),
                    .init("<b>\(line.difference.signedText)</b>", "num r"),
                    .init(
                        """
                        \(chip.markup)<br><span class="muted small">\(.bdi(line.sentence))</span>
                        """, "full"),
                ])
        }
        let table = Table(
            name: "Numbers that differ",
            columns: [
                .init("Day"), .init("Country"), .init("Product"), .init("What"),
                .number("Apple"), .number("Ours"), .number("Difference"), .init("Why"),
            ], rows: rows)
        let rest = comparison.differencesTotal - comparison.differences.count
        let side: Markup =
            rest > 0
            ? """
            \(Figures.count(rest)) more: <code>perennial reconcile money</code> lists all
            """
            : "\(Figures.count(comparison.differencesTotal, "number"))"
        return Panel(title: "What differs", side: side, content: table.markup, classes: "flush")
            .markup
    }

    private func sums(_ sums: [Residual]) -> Markup {
        guard !sums.isEmpty else { return "" }
        let rows = sums.map { line -> Markup in
            let look: Markup = line.isZero ? "muted" : "down"
            return Table.row(
                .init(.bdi(line.name)),
                [
                    .init("\(Figures.count(line.lines))", "num"),
                    .init("\(Figures.money(line.apple))", "num"),
                    .init("\(Figures.money(line.ours))", "num"),
                    .init("\(Figures.signedMoney(line.explained))", "num"),
                    .init(
                        "<span class=\"\(look)\">\(Figures.signedMoney(line.unexplained))</span>",
                        "num"),
                ])
        }
        let table = Table(
            name: "Sums of the month, by currency",
            columns: [
                .init("Currency"), .number("Lines"), .number("Apple"), .number("Ours"),
                .number("Explained"), .number("Unexplained"),
            ], rows: rows, classes: "roomy")
        return Panel(
            title: "By currency", side: "Apple’s less ours, explained or not",
            content: table.markup, classes: "flush"
        ).markup
    }

    private func days(_ comparison: Comparison) -> Markup {
        let rows = comparison.days.map { day -> Markup in
            let chip =
                !day.hasFile
                ? Chip("no file", .warn)
                : day.differences == 0 ? Chip("equal", .open) : Chip("differs", .trial)
            let apple: Markup = day.hasFile ? "\(Figures.count(day.appleUnits))" : "–"
            return Table.row(
                .init(.bdi(day.name)),
                [
                    .init(apple, "num"), .init("\(Figures.count(day.ourUnits))", "num"),
                    .init(chip.markup),
                ])
        }
        let table = Table(
            name: "Days of the month",
            columns: [
                .init("Day"), .number("Units, Apple"), .number("Units, ours"), .init("State"),
            ], rows: rows, classes: "")
        return Panel(title: "By day", content: table.markup, classes: "flush").markup
    }

    // MARK: - Files

    private func filePanel(in frame: Frame) -> Markup {
        guard !files.isEmpty else { return "" }
        let rows = files.map { file in
            Table.row(
                .init("<span class=\"mono\">\(.bdi(file.name))</span>"),
                [
                    .init(.bdi(file.kind)), .init(.bdi(file.days)),
                    .init("\(Figures.count(file.rows))", "num"),
                    .init("\(frame.shortTime(file.importedAt))"),
                ])
        }
        let table = Table(
            name: "Files that were imported",
            columns: [
                .init("File"), .init("Report"), .init("Of"), .number("Rows"), .init("Imported"),
            ], rows: rows)
        return Panel(
            title: "Files",
            content: """
                \(table.markup)<footer>Apple keeps daily files for a year. They are archived here \
                for good. More: <code>perennial apple-reports import FILE</code></footer>
                """, classes: "flush"
        ).markup
    }
}
