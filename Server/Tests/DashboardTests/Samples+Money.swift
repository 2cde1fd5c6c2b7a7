import PerennialContract

@testable import Dashboard

extension Samples {
    private var dollars: ChartUnit { .money(currency: text("USD")) }

    private var filters: [ChartFilter] {
        [
            .init(
                name: text("by"), label: text("By"),
                options: [
                    .init(text("month"), text("Month")), .init(text("day") + " ", text("Day")),
                ],
                selected: text("month")),
            .init(
                name: text("product") + " ", label: text("Product"),
                options: [.init("", text("All products"))], selected: ""),
        ]
    }

    private var definition: ChartDefinition {
        ChartDefinition(
            version: 3,
            sentence: text(
                """
                Each subscription that is paid at the end of the period, at the price last \
                charged, \
                divided by its months.
                """),
            facts: [(text("Not counted"), text("Trials, grants, what the family shares."))])
    }

    var mrrPage: ChartPage {
        ChartPage(
            name: "mrr", title: text("MRR"),
            lede: text("What running subscriptions pay in a month."), filters: filters,
            headline: text("$16,288.59"), headlineRemark: text("now, November so far"),
            aside: text("twice the $8,214.16 of a year ago"),
            finding: text("MRR grew in every month."), content: .line(mrrChart),
            definition: definition,
            breakdowns: [
                Breakdown(
                    title: text("By currency"), rowName: text("Currency"),
                    extraColumns: [text("Own currency"), text("Rate")], valueName: text("USD"),
                    unit: dollars,
                    rows: [
                        .init(
                            text("US dollar"), extra: [text("9,418.35"), text("1")],
                            value: 9_418_350, purchases: .chartPurchases("mrr")),
                        .init(
                            text("Euro"), extra: [text("6,176.16"), text("1.1124")],
                            value: 6_870_240),
                    ]),
                Breakdown(
                    title: text("By product") + " ", rowName: text("Product"),
                    valueName: text("MRR"), unit: dollars,
                    rows: [.init(text("pro.monthly"), value: 16_288_590)]),
            ],
            gaps: [
                Notice(
                    .about, text("One number is missing."),
                    text("There is no rate for JPY on 22 November, so ¥101,300 is not in the sum."))
            ])
    }

    var movementChart: BarChart {
        let names = [
            "Nov 25", "Dec", "Jan 26", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep",
            "Oct", "Nov",
        ]
        let columns = names.indices.map { index -> BarChart.Column in
            let size = Int64(index)
            return .init(
                label: text(names[index]), name: text(names[index] + " 2026"), isOver: index < 12,
                values: [
                    1_000_000 + size * 40_000, 90_000 + size * 3_000, 110_000, -60_000,
                    -800_000 - size * 10_000,
                ],
                purchases: Array(
                    repeating: .chartPurchases("mrr_movement").with("part", text("new")), count: 5),
                opening: 7_921_440, closing: 8_261_440 + size * 33_000)
        }
        return BarChart(
            unit: dollars, name: text("MRR movement"),
            series: [
                .init(text("New"), .green), .init(text("Expansion"), .paleGreen),
                .init(text("Reactivation"), .blue), .init(text("Contraction"), .amber),
                .init(text("Churn"), .brick),
            ], columns: columns, showsNet: true)
    }

    var movementPage: ChartPage {
        ChartPage(
            name: "mrr_movement", title: text("MRR movement"),
            lede: text(
                "Why MRR is what it is: five parts that add up, in every period, to the cent."),
            filters: filters, headline: text("+ $634.65"),
            headlineRemark: text("in November so far"),
            finding: text("Above the line what came, below it what went; the ink line is the net."),
            content: .bars(movementChart, sum: movementSum), definition: definition)
    }

    var heat: HeatTable {
        let people = [88, 121, 196, 133, 127, 169, 184, 151, 139, 144, 158, 12]
        let shares = [55, 39, 31, 28, 25, 23, 21, 19, 17, 16, 15]
        let cohorts = people.indices.map { index -> HeatTable.Cohort in
            let count = 12 - index
            return .init(
                name: text("Month \(index + 1)"), people: people[index],
                cells: (0..<min(count, 11)).map { column in
                    .init(
                        people: people[index] * shares[column] / 100,
                        isOpen: column == count - 1,
                        purchases: .chartPurchases("retention").with("cohort", text("2026-01")))
                })
        }
        return HeatTable(
            name: text("Retention by month of first payment, pro.monthly"),
            cohortName: text("First paid"), columnName: text("Renewal"), cohorts: cohorts)
    }

    var retentionPage: ChartPage {
        ChartPage(
            name: "retention", title: text("Retention"),
            lede: text("Of the subscriptions that began in a period, how many renewed."),
            filters: filters, headline: text("pro.monthly, by month of the first payment"),
            finding: text("About 55 of 100 pay a second time."), content: .cohorts(heat),
            definition: definition)
    }

    var emptyChart: ChartPage {
        ChartPage(
            name: "mrr", title: text("MRR"), lede: text("What they pay in a month."),
            content: .empty(
                text("Nothing was paid in May 2024"),
                text("The first payment of birds is of 3 March 2025."),
                first: .chart("mrr").with("range", text("2025-03"))))
    }

    var countingChart: ChartPage {
        var page = emptyChart
        page.content = .counting(text("Counting 10 million transactions."))
        return page
    }

    var behind: ChartPurchasesPage {
        func row(_ customer: String?, _ value: Int64) -> ChartPurchasesPage.Row {
            .init(
                customerID: customer.map(text), productID: text("premium.monthly"),
                newProductID: text("pro.monthly"), at: at("2026-11-02T09:00:00Z"),
                priceBefore: money("19.99"), price: money("9.99"), amount: money("-10.00"),
                rate: text("1.0940"), value: value,
                transaction: text("2000000811204417"))
        }
        return ChartPurchasesPage(
            chart: .init("mrr_movement", text("MRR movement")),
            period: text("November 2026 so far"),
            part: text("Contraction"), sentence: text("The same subscription pays less a month."),
            unit: dollars, number: -64_940,
            rows: [row("usr_30117", -54_940), row(nil, -10_000)], total: 2,
            path: .chartPurchases("mrr_movement").with("part", text("contraction")),
            ratesSentence: text("Rates come from your table of 24 November 2026."))
    }

    var apple: AppleReportsPage {
        AppleReportsPage(
            filters: filters,
            comparison: .init(
                month: text("October 2026"), linesEqual: 1_304, linesTotal: 1_310,
                differencesTotal: 9, unexplained: 1,
                differences: [
                    .init(
                        day: text("31 Oct"), country: text("Japan"), productID: text("pro.monthly"),
                        quantity: text("gross"), apple: .money(money("3000.00", "JPY")),
                        ours: .money(money("0.00", "JPY")),
                        difference: .money(money("3000.00", "JPY")), cause: text("day boundary"),
                        isResidual: false,
                        sentence: text("The other side counts it on the day before or after.")),
                    .init(
                        day: text("9 Oct"), country: text("US"), productID: text("premium"),
                        quantity: text("units"), apple: .units(2), ours: .units(3),
                        difference: .units(-1), cause: text("not in file"), isResidual: true,
                        sentence: text("")),
                ],
                sums: [
                    .init(
                        name: text("USD, gross"), lines: 612, apple: money("10940.12"),
                        ours: money("10946.79"), explained: money("0.00"),
                        unexplained: money("-6.67"))
                ],
                days: [
                    .init(
                        name: text("1 Oct"), hasFile: true, appleUnits: 40, ourUnits: 40,
                        differences: 0),
                    .init(name: text("2 Oct"), hasFile: false, ourUnits: 3),
                    .init(
                        name: text("3 Oct"), hasFile: true, appleUnits: 4, ourUnits: 3,
                        differences: 2),
                ]),
            files: [
                .init(
                    name: text("S_D_80012345_20261021.txt"), kind: text("SALES"),
                    days: text("21 Oct 2026"), rows: 46, importedAt: at("2026-10-22T08:00:00Z"))
            ],
            trouble: Notice(
                .wrong, text("One line was not understood."), text("File S_D_2026, line 17: …")))
    }
}
