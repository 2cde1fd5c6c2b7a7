import PerennialContract

/// The page `/charts/{name}/purchases`: the purchases behind a number. The sum of these purchases,
/// at the foot of the page, is that number.
package struct ChartPurchasesPage: Sendable {
    package var chart: ChartMenu.Entry
    /// What the number is about: `November 2026 so far`, `Contraction`.
    package var period: String
    package var part: String
    /// What the part means: `The same subscription pays less a month.`
    package var sentence: String
    package var unit: ChartUnit
    /// The number on the previous page.
    package var number: Int64
    /// Whether the number is a flow. If not, the number is a total at one time, and has no plus
    /// sign.
    package var isFlow: Bool
    package var rows: [Row]
    /// The number of purchases. Nil if there are more than ``countedMax``.
    package var total: Int?
    package var olderCursor: String?
    /// The path of this view, for links.
    package var path: DashboardPath
    /// The source of the rates. Empty if nothing was converted.
    package var ratesSentence: String

    package struct Row: Sendable {
        package var customerID: String?
        package var productID: String
        /// The product after the change. Nil if the product did not change.
        package var newProductID: String?
        package var at: Timestamp
        package var priceBefore: Money?
        package var price: Money?
        /// The counted amount, in its own currency.
        package var amount: Money?
        /// The rate of the day, as decimal text.
        package var rate: String?
        /// The purchase's part of the number, in the unit of the number.
        package var value: Int64
        /// The first transaction of the purchase.
        package var transaction: String

        package init(
            customerID: String?, productID: String, newProductID: String? = nil, at: Timestamp,
            priceBefore: Money? = nil, price: Money? = nil, amount: Money? = nil,
            rate: String? = nil, value: Int64, transaction: String
        ) {
            self.customerID = customerID
            self.productID = productID
            self.newProductID = newProductID
            self.at = at
            self.priceBefore = priceBefore
            self.price = price
            self.amount = amount
            self.rate = rate
            self.value = value
            self.transaction = transaction
        }
    }

    package init(
        chart: ChartMenu.Entry, period: String, part: String, sentence: String = "",
        unit: ChartUnit, number: Int64, isFlow: Bool = true, rows: [Row], total: Int?,
        olderCursor: String? = nil, path: DashboardPath, ratesSentence: String = ""
    ) {
        self.chart = chart
        self.period = period
        self.part = part
        self.sentence = sentence
        self.unit = unit
        self.number = number
        self.isFlow = isFlow
        self.rows = rows
        self.total = total
        self.olderCursor = olderCursor
        self.path = path
        self.ratesSentence = ratesSentence
    }

    /// The maximum number of purchases that are counted.
    package static let countedMax = 1_000

    /// The sum of the rows on this page.
    package var sum: Int64 { rows.map(\.value).reduce(0, +) }

    private var isWhole: Bool { olderCursor == nil && rows.count == total }

    package func html(in frame: Frame) -> String {
        let verb: Markup = total == 1 ? "makes" : "make"
        // The number as the chart shows it. The rows and their sum are exact to thousandths.
        let sum = isFlow ? unit.signedText(number) : unit.text(number)
        let count =
            total.map { Figures.count($0, "purchase") }
            ?? "More than \(Figures.count(Self.countedMax, "purchase"))"
        let heading: Markup = "\(count) \(verb) \(sum)"
        return Layout(
            title: "\(chart.title), \(part)", section: .charts, heading: heading,
            lede:
                "\(.bdi(part)) in \(.bdi(period))\(sentence.isEmpty ? "." : ": \(.bdi(sentence))")",
            actions: """
                <a class="btn" href="\(frame.link(path.with("format", "csv")))">\
                \(Icon.download.markup)CSV</a>
                """,
            trail: """
                <a href="\(frame.link(.chart(chart.name)))">\(.bdi(chart.title))</a> / \
                \(.bdi(period)) / \(.bdi(part))
                """, content: content(in: frame)
        ).html(in: frame)
    }

    private func content(in frame: Frame) -> Markup {
        guard !rows.isEmpty else {
            let empty = Empty(
                title: "No purchase makes this number",
                text: "It is zero, or the view has changed.",
                actions: """
                    <a class="btn" href="\(frame.link(.chart(chart.name)))">Back to the chart</a>
                    """)
            return "<section class=\"panel\">\(empty.markup)</section>"
        }
        return """
            <section class="panel flush">\(table(in: frame))</section>\(older(in: frame))\
            <p class="muted small">The last column leads to the signed documents, byte for byte \
            as they came. \
            \(.bdi(ratesSentence))</p>
            """
    }

    private func table(in frame: Frame) -> Markup {
        Table(
            name: "Purchases behind the number",
            columns: [.init("Customer"), .init("What"), .init("On")]
                + (hasPrices ? [.init("Price")] : [])
                + (hasRates ? [.number("Counts, own currency"), .number("Rate of the day")] : [])
                + [.number("Counts"), .init("Signed by Apple")],
            rows: rows.map { row($0, in: frame) }, foot: foot, classes: "roomy"
        ).markup
    }

    private var hasPrices: Bool { rows.contains { $0.price != nil || $0.priceBefore != nil } }
    private var hasRates: Bool { rows.contains { $0.rate != nil } }

    /// The number of columns before the column that is added up.
    private var columnsBefore: Int { 3 + (hasPrices ? 1 : 0) + (hasRates ? 2 : 0) }

    private func text(_ value: Int64) -> String {
        isFlow ? unit.signedText(value) : unit.text(value)
    }

    private func row(_ row: Row, in frame: Frame) -> Markup {
        let product: Markup = """
            \(.bdi(row.productID))\(row.newProductID.map { " → \(.bdi($0))" })
            """
        let prices = [row.priceBefore, row.price].compactMap { $0 }.map {
            Markup(text: Figures.money($0))
        }
        let price = Table.Cell(prices.joined(by: " → "))
        let own = Table.Cell(row.amount.map { "\(Figures.signedMoney($0))" } ?? "–", "num")
        let rate = Table.Cell(row.rate.map(Markup.bdi) ?? "–", "num")
        return Table.row(
            .init(frame.customer(row.customerID)),
            [.init(product), .init("\(frame.day(row.at))", "nowrap")] + (hasPrices ? [price] : [])
                + (hasRates ? [own, rate] : []) + [
                    .init("\(text(row.value))", "num"),
                    .init(DocumentLink.all(of: row.transaction, in: frame)),
                ])
    }

    private var foot: Markup {
        guard isWhole else {
            let all = total.map { "all \(Figures.count($0))" } ?? "all together"
            return """
                <tr><th scope="row" colspan="\(columnsBefore)">Sum of these \
                \(Figures.count(rows.count)); \(all) make \(text(number))</th>\
                <td class="num">\(text(sum))</td><td></td></tr>
                """
        }
        let difference = number - sum
        let line: Markup = """
            <tr><th scope="row" colspan="\(columnsBefore)">Sum, the number you came from</th>\
            <td class="num">\(text(sum))</td><td></td></tr>
            """
        guard difference != 0 else { return line }
        return """
            \(line)<tr><th scope="row" colspan="\(columnsBefore)"><span class="down">They do not \
            add up. \
            Difference</span></th><td class="num down">\(text(difference))</td><td></td>\
            </tr>
            """
    }

    private func older(in frame: Frame) -> Markup {
        guard let olderCursor else { return "" }
        return """
            <div class="row end"><span></span><a class="btn s" \
            href="\(frame.link(path.with("cursor", olderCursor)))">More</a></div>
            """
    }
}
