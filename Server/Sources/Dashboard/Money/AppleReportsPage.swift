import PerennialContract

/// The page `/reports/{month}/{report}`: does Apple say the same?
package struct AppleReportsPage: Sendable {
    package var filters: [ChartFilter]
    /// Nil if no file was imported yet.
    package var comparison: Comparison?
    package var files: [File]
    /// A line that was not understood, with its file.
    package var trouble: Notice?

    package struct Comparison: Sendable {
        /// `October 2026`
        package var month: String
        /// How much of Apple's amount is equal, in hundredths of a per cent: 9951 is 99.51 %.
        package var agreement: Int
        package var linesEqual: Int
        package var linesTotal: Int
        package var differences: [Difference]
        package var currencies: [Residual]

        package init(
            month: String, agreement: Int, linesEqual: Int, linesTotal: Int,
            differences: [Difference], currencies: [Residual]
        ) {
            self.month = month
            self.agreement = agreement
            self.linesEqual = linesEqual
            self.linesTotal = linesTotal
            self.differences = differences
            self.currencies = currencies
        }
    }

    package struct Difference: Sendable {
        package var day: String
        package var country: String
        package var productID: String
        package var apple: Money
        package var ours: Money
        package var difference: Money
        /// A word: `other day`, `heard later`, `upgrade`. Nil if it is not explained.
        package var why: String?
        package var sentence: String

        package init(
            day: String, country: String, productID: String, apple: Money, ours: Money,
            difference: Money, why: String?, sentence: String
        ) {
            self.day = day
            self.country = country
            self.productID = productID
            self.apple = apple
            self.ours = ours
            self.difference = difference
            self.why = why
            self.sentence = sentence
        }
    }

    /// What is left over in one currency.
    package struct Residual: Sendable {
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

    package struct File: Sendable {
        package var report: String
        package var imported: Int
        package var expected: Int
        /// `29 Oct missing`. Empty if it is complete.
        package var missing: String

        package init(report: String, imported: Int, expected: Int, missing: String = "") {
            self.report = report
            self.imported = imported
            self.expected = expected
            self.missing = missing
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
        let fields = Fields([
            "action": .html(frame.link(.reports)),
            "environment": .html(frame.environmentField),
            "filters": .html(filters.enumerated().map { $1.markup(number: $0) }.joined()),
            "trouble": .html(trouble?.markup(in: frame) ?? ""),
            "comparison": .html(comparison.map { panels($0) } ?? empty),
            "residuals": .html(comparison.map { residuals($0.currencies) } ?? ""),
            "files": .html(filePanel),
        ])
        return Layout(
            title: "Apple’s reports", section: .reports, heading: "Apple’s reports",
            lede: "What Apple’s files say, held against our ledger, line by line.",
            content: Template.reports.markup(fields)
        ).html(in: frame)
    }

    private var empty: Markup {
        let empty = Empty(
            title: "No file yet",
            text: """
                Give the server a key for App Store Connect, and it fetches each day’s files. Or \
                import one: <code>perennial reports import FILE</code>.
                """)
        return "<section class=\"panel\">\(empty.markup)</section>"
    }

    private func panels(_ comparison: Comparison) -> Markup {
        let (whole, rest) = comparison.agreement.quotientAndRemainder(dividingBy: 100)
        let open = comparison.differences.count { $0.why == nil }
        let count = Figures.count(comparison.differences.count, "line")
        let verdict: Markup =
            if comparison.differences.isEmpty {
                "Nothing differs."
            } else if open == 0 {
                "\(count) differ: <b>all of it is explained.</b>"
            } else {
                "\(count) differ, <b>\(open) without a known reason.</b>"
            }
        return """
            <section class="panel answer\(open > 0 ? " bad" : "")"><p class="line">\
            \(.bdi(comparison.month)) agrees to \(whole).\(rest < 10 ? "0" : "")\(rest) %. \
            \(verdict)\
            </p><p class="muted small">\(Figures.count(comparison.linesTotal, "line")) of Apple’s \
            report; \(Figures.count(comparison.linesEqual)) are equal.</p></section>\
            \(comparison.differences.isEmpty ? "" : table(comparison.differences))
            """
    }

    private func table(_ differences: [Difference]) -> Markup {
        let rows = differences.map { line -> Markup in
            let chip = line.why.map { Chip($0, .trial) } ?? Chip("not explained", .bad)
            return Table.row(
                .init(.bdi(line.day)),
                [
                    .init(.bdi(line.country)), .init(.bdi(line.productID), "full"),
                    .init(
                        "<span class=\"fold-only\">Apple </span>\(Figures.money(line.apple))", "num"
                    ),
                    .init(
                        "<span class=\"fold-only\">ours </span>\(Figures.money(line.ours))", "num"),
                    .init("<b>\(Figures.signedMoney(line.difference))</b>", "num r"),
                    .init(
                        """
                        \(chip.markup)<br><span class="muted small">\(.bdi(line.sentence))</span>
                        """, "full"),
                ])
        }
        let table = Table(
            name: "Lines that differ",
            columns: [
                .init("Day"), .init("Country"), .init("Product"), .number("Apple"),
                .number("Ours"), .number("Difference"), .init("Why"),
            ], rows: rows)
        return Panel(
            title: "What differs", side: "\(Figures.count(differences.count, "line"))",
            content: table.markup, classes: "flush"
        ).markup
    }

    private func residuals(_ residuals: [Residual]) -> Markup {
        guard !residuals.isEmpty else { return "" }
        let rows = residuals.map { line -> Markup in
            let look: Markup = line.isZero ? "muted" : "down"
            return Table.row(
                .init(.bdi(line.name)),
                [
                    .init("\(Figures.count(line.lines))", "num"),
                    .init("\(Figures.money(line.apple))", "num"),
                    .init("\(Figures.money(line.ours))", "num"),
                    .init("\(Figures.money(line.explained))", "num"),
                    .init(
                        "<span class=\"\(look)\">\(Figures.money(line.unexplained))</span>", "num"),
                ])
        }
        let table = Table(
            name: "What is left over, by currency",
            columns: [
                .init("Currency"), .number("Lines"), .number("Apple"), .number("Ours"),
                .number("Explained"), .number("Unexplained"),
            ], rows: rows, classes: "roomy")
        return Panel(title: "By currency", content: table.markup, classes: "flush").markup
    }

    private var filePanel: Markup {
        guard !files.isEmpty else { return "" }
        let rows = files.map { file -> Markup in
            let chip = file.missing.isEmpty ? Chip("complete", .open) : Chip(file.missing, .warn)
            return Table.row(
                .init(.bdi(file.report)),
                [
                    .init("<span class=\"nowrap\">\(file.imported) of \(file.expected)</span>"),
                    .init(chip.markup),
                ])
        }
        let table = Table(
            name: "Files that were imported",
            columns: [.init("Report"), .init("Files"), .init("State")], rows: rows, classes: "")
        return Panel(
            title: "Files",
            content: """
                \(table.markup)<footer>Apple keeps daily files for a year. They are archived here \
                for \
                good.</footer>
                """, classes: "flush"
        ).markup
    }
}
