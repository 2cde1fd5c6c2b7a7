import Dice
import Ledger
import Testing

@testable import Reports

@Suite struct ReportTests {
    @Test func `weeks begin on Monday and months on the first day`() throws {
        let day = try #require(CivilDate("2026-11-26")).dayNumber
        #expect(CivilDate(dayNumber: ReportPeriod.Length.week.start(of: day)).text == "2026-11-23")
        #expect(CivilDate(dayNumber: ReportPeriod.Length.month.start(of: day)).text == "2026-11-01")
        #expect(
            CivilDate(dayNumber: ReportPeriod.Length.quarter.start(of: day)).text == "2026-10-01")
        #expect(CivilDate(dayNumber: ReportPeriod.Length.year.start(of: day)).text == "2026-01-01")
    }

    @Test
    func `the periods of a report cover each day once, and the first and last may be shorter`() {
        let days: Range<Int64> = 100..<1000
        for length in ReportPeriod.Length.allCases {
            let periods = ReportPeriod.periods(length, in: days)
            #expect(periods.first?.days.lowerBound == 100)
            #expect(periods.last?.days.upperBound == 1000)
            for (one, next) in zip(periods, periods.dropFirst()) {
                #expect(one.days.upperBound == next.days.lowerBound)
            }
        }
    }

    @Test func `movements add up in each currency, and after conversion`() throws {
        let seed = Dice.seed(announcedBy: "ReportTests", usual: 1)
        var random = Dice(seed: seed)
        let kinds = Movement.Kind.allCases.filter { $0.changesMRR }
        let sums = (0..<500).map { _ in
            MovementSum(
                day: Int64.random(in: 0..<100, using: &random),
                kind: kinds.randomElement(using: &random) ?? .new,
                currency: ["USD", "EUR"].randomElement(using: &random),
                totals: Totals(
                    Movement.Amounts(mrr: Int64.random(in: -9999...9999, using: &random))))
        }
        let rates = ExchangeRates(
            base: "EUR",
            rates: Dictionary(
                uniqueKeysWithValues: (0..<100).map {
                    (Int64($0), ["USD": Int64(1_000_000 + $0 * 1_000)])
                }))
        let periods = ReportPeriod.periods(.week, in: 10..<100)
        for currency in [nil, "EUR", "USD"] {
            let report = Report(
                ReportCatalogue.mrrMovement, periods, from: sums, in: currency, rates: rates)
            #expect(!report.rows.isEmpty)
            for row in report.rows {
                let numbers = row.values.map(\.number)
                #expect(numbers.dropLast().reduce(0, +) == numbers.last, "seed \(seed)")
            }
        }
    }

    @Test func `an amount without an exchange rate has a separate row, and its currency is named`()
    {
        let sums = [
            MovementSum(
                day: 5, kind: .new, currency: "USD",
                totals: Totals(Movement.Amounts(gross: 1000))),
            MovementSum(
                day: 5, kind: .new, currency: "ZZZ",
                totals: Totals(Movement.Amounts(gross: 5))),
        ]
        let rates = ExchangeRates(base: "EUR", rates: [5: ["USD": 2_000_000]])
        let report = Report(
            ReportCatalogue.revenue, ReportPeriod.periods(.month, in: 0..<31), from: sums,
            in: "EUR", rates: rates)
        #expect(report.unconverted == ["ZZZ"])
        #expect(report.rows.map(\.currency) == ["EUR", "ZZZ"])
        #expect(report.rows.map { $0.values[0] } == [ReportValue.money(500), .money(5)])
        #expect(report.rateDays == 5...5)
    }

    /// One dollar is paid on day 5, which has the first rate. Two subscriptions begin. One ends on
    /// day 8. The other ends on day 12 if `ends` is true.
    private static func report(
        _ definition: ReportDefinition, on days: Range<Int64>, today: Int64, ends: Bool = false,
        rateDays: ClosedRange<Int64> = 5...5, opening: Int64? = nil,
        by length: ReportPeriod.Length = .day
    ) -> Report {
        func sum(_ day: Int64, _ kind: Movement.Kind, _ mrr: Int64) -> MovementSum {
            var totals = Totals(Movement.Amounts(gross: kind == .new ? 1000 : 0, mrr: mrr))
            totals.amounts.contracted = mrr
            return MovementSum(
                day: max(day, opening ?? day), kind: kind, currency: "USD", totals: totals)
        }
        let sums =
            [sum(5, .new, 1000), sum(5, .new, 500), sum(8, .churn, -500)]
            + (ends ? [sum(12, .churn, -1000)] : [])
        return Report(
            definition, ReportPeriod.periods(length, in: days), from: sums, in: "EUR",
            rates: ExchangeRates(
                base: "EUR",
                rates: Dictionary(
                    uniqueKeysWithValues: rateDays.map { ($0, ["USD": Int64(2_000_000)]) })),
            today: today)
    }

    @Test func `a period that is not over yet uses today's exchange rates`() {
        let report = Self.report(ReportCatalogue.mrr, on: 5..<40, today: 15)
        #expect(report.unconverted == [])
        #expect(report.rows.allSatisfy { $0.currency == "EUR" })
        #expect(report.rows.first?.values.first == .money(750))
        #expect(report.rows.last?.values.first == .money(500))
        #expect(report.rateDays == 5...5)
        // There is no rate of today, because the last one is too old.
        #expect(Self.report(ReportCatalogue.mrr, on: 5..<40, today: 16).unconverted == ["USD"])
    }

    @Test func `a report needs no exchange rate if there is nothing to convert`() {
        let before = Self.report(ReportCatalogue.mrrMovement, on: 0..<10, today: 15)
        #expect(before.unconverted == [])
        #expect(
            before.rows.map { $0.values.last?.number }
                == [0, 0, 0, 0, 0, 750, 750, 750, 500, 500])
        // The rates end on day 22. The last subscription ends before that day.
        for definition in [ReportCatalogue.mrr, ReportCatalogue.mrrMovement, ReportCatalogue.arr] {
            let over = Self.report(definition, on: 5..<40, today: 60, ends: true)
            #expect(over.unconverted == [], "\(definition.name)")
            #expect(over.rows.last?.values.allSatisfy { $0.isNothing } == true)
            #expect(over.rateDays == 5...5)
        }
        // If the second subscription does not end, a rate is missing.
        #expect(Self.report(ReportCatalogue.mrr, on: 5..<40, today: 60).unconverted == ["USD"])
    }

    @Test func `only a report with an opening balance needs a rate of the day before its start`() {
        let revenue = Self.report(ReportCatalogue.revenue, on: 5..<30, today: 60)
        #expect(revenue.unconverted == [])
        #expect(revenue.rows.first?.values.first == .money(1000))
        #expect(revenue.rateDays == 5...5)
        let later = Self.report(
            ReportCatalogue.revenue, on: 41..<50, today: 60, rateDays: 41...50, opening: 40)
        #expect(later.unconverted == [])
        #expect(later.rateDays == nil)
        // Reports of the state at the end of periods need no such rate, either.
        for definition in [ReportCatalogue.mrr, ReportCatalogue.arr] {
            let closing = Self.report(
                definition, on: 41..<50, today: 60, rateDays: 41...50, opening: 40)
            #expect(closing.unconverted == [], "\(definition.name)")
            #expect(closing.rateDays == 41...49)
            #expect(closing.rows.map(\.currency) == Array(repeating: "EUR", count: 9))
        }
        // The opening balance is converted at the rate of the day before the first period. Day 40
        // has no rate.
        let opening = Self.report(
            ReportCatalogue.mrrMovement, on: 41..<50, today: 60, rateDays: 41...50, opening: 40)
        #expect(opening.unconverted == ["USD"])
    }

    @Test func `the state at the end of a month needs no rate of the month's first day`() {
        let january: Range<Int64> = 0..<31
        let mrr = Self.report(
            ReportCatalogue.mrr, on: january, today: 60, rateDays: 30...30, by: .month)
        #expect(mrr.unconverted == [])
        #expect(mrr.rows.map { $0.values.first } == [.money(500)])
        let revenue = Self.report(
            ReportCatalogue.revenue, on: january, today: 60, rateDays: 30...30, by: .month)
        #expect(revenue.unconverted == ["USD"])
    }

    @Test func `a table of exchange rates in the form of the European Central Bank is read`() throws
    {
        let rates = try ExchangeRates(
            table: "Date,USD,JPY,\n2026-11-20,1.1532,181.21,\n2026-11-19,1.1,N/A,\n")
        let day = try #require(CivilDate("2026-11-22")).dayNumber
        #expect(rates.convert(115_320, from: "USD", to: "EUR", on: day)?.amount == 100_000)
        #expect(rates.convert(1000, from: "EUR", to: "JPY", on: day)?.amount == 181_210)
        #expect(rates.convert(1000, from: "JPY", to: "EUR", on: day - 3) == nil)
        #expect(rates.convert(1000, from: "USD", to: "EUR", on: day + 30) == nil)
    }

    /// The European Central Bank's table contains `N/A` for the lev since the changeover to the
    /// euro.
    private static let joined = """
        Date,USD,BGN
        2026-02-27,1.15,N/A
        2026-01-02,1.15,N/A
        2025-12-31,1.15,1.9558
        2025-12-15,1.20,1.9557
        """

    /// The amount of a day, its converted amount, and the day of the rate, which is 0 for the
    /// legal rate.
    private static let conversions: [(Int64, String, String, String, Int64?, String?)] = [
        // Before the changeover the table's rate is used, and from that day on the legal rate.
        (97_790, "BGN", "EUR", "2025-12-15", 50_003, "2025-12-15"),
        (97_790, "BGN", "EUR", "2025-12-31", 50_000, "2025-12-31"),
        (97_790, "BGN", "EUR", "2026-01-01", 49_999, nil),
        (97_790, "BGN", "EUR", "2030-06-30", 49_999, nil),
        (50_000, "EUR", "BGN", "2026-02-28", 97_792, nil),
        // The dollars are converted through the euro, at the dollar's own rate.
        (97_790, "BGN", "USD", "2026-01-04", 57_499, "2026-01-02"),
        (97_790, "BGN", "USD", "2026-05-01", nil, nil),
        // Other former currencies are converted into each other without a table.
        (7_534_500, "HRK", "EUR", "2023-01-01", 1_000_000, nil),
        (7_534_500, "HRK", "BGN", "2026-01-01", 1_955_830, nil),
        (7_534_500, "HRK", "EUR", "2022-12-31", nil, nil),
        (1_000_000, "DEM", "FRF", "2026-01-01", 3_353_855, nil),
    ]

    @Test(arguments: conversions)
    func `if a currency joined the euro, it has the legal rate from that day on`(
        amount: Int64, from: String, to: String, day: String, expected: Int64?, rateDay: String?
    ) throws {
        let rates = try ExchangeRates(table: Self.joined)
        let number = try #require(CivilDate(day)).dayNumber
        let found = rates.convert(amount, from: from, to: to, on: number)
        #expect(found?.amount == expected)
        #expect(found?.rateDay == rateDay.flatMap { CivilDate($0)?.dayNumber })
    }

    @Test func `a year paid in a former currency is still converted after the changeover`() throws {
        let rates = try ExchangeRates(table: Self.joined)
        func day(_ text: String) throws -> Int64 { try #require(CivilDate(text)).dayNumber }
        let report = Report(
            ReportCatalogue.mrr,
            ReportPeriod.periods(.month, in: try day("2025-12-01")..<(try day("2026-03-01"))),
            from: [
                MovementSum(
                    day: try day("2025-12-15"), kind: .new, currency: "BGN",
                    totals: Totals(Movement.Amounts(mrr: 8_149)))
            ], in: "EUR", rates: rates, today: try day("2026-02-28"))
        #expect(report.unconverted == [])
        #expect(report.rows.map(\.currency) == ["EUR", "EUR", "EUR"])
        #expect(report.rows.map { $0.values[0] } == [.money(4_167), .money(4_167), .money(4_167)])
    }

    @Test(arguments: [
        ("", 1), ("Datum,USD\n", 1), ("Date,usd\n", 1), ("Date,USD\n2026-11-20\n", 2),
        ("Date,USD\n2026-11-31,1.0\n", 2), ("Date,USD\n2026-11-20,1.0\n2026-11-20,1.0\n", 3),
        ("Date,USD\n2026-11-20,-1.0\n", 2), ("Date,USD\n2026-11-20,0\n", 2),
        ("Date,USD\n\n2026-11-20,1,2\n", 3),
    ])
    func `the error about a damaged table of exchange rates names its line`(text: String, line: Int)
    {
        #expect {
            try ExchangeRates(table: text)
        } throws: { error in (error as? ExchangeRates.Defect)?.line == line }
    }

    /// The franc has no rate on the last two of five days.
    @Test func `a missing rate is replaced by the currency's latest earlier rate`() throws {
        let rates = try ExchangeRates(
            table: """
                Date,USD,CHF
                1970-01-06,2,N/A
                1970-01-05,2,
                1970-01-04,2,0.5
                1970-01-03,N/A,0.25
                1970-01-02,4,0.25
                """)
        func conversion(_ day: Int64, _ one: String, _ other: String) -> [Int64]? {
            rates.convert(1_000, from: one, to: other, on: day).map {
                [$0.amount, $0.rateDay ?? -1]
            }
        }
        #expect(conversion(5, "CHF", "EUR") == [2_000, 3])
        #expect(conversion(5, "USD", "EUR") == [500, 5])
        #expect(conversion(5, "CHF", "USD") == [4_000, 3])
        #expect(conversion(2, "CHF", "USD") == [16_000, 1])
        #expect(conversion(2, "CHF", "EUR") == [4_000, 2])
        // A rate is used for ten days after its day, and no longer.
        #expect(conversion(13, "CHF", "USD") == [4_000, 3])
        #expect(conversion(14, "CHF", "USD") == nil)
        #expect(conversion(15, "USD", "EUR") == [500, 5])
        #expect(conversion(0, "USD", "EUR") == nil)
        let report = Report(
            ReportCatalogue.mrr, ReportPeriod.periods(.day, in: 2..<6),
            from: [
                MovementSum(
                    day: 1, kind: .new, currency: "CHF", totals: Totals(Movement.Amounts(mrr: 500)))
            ], in: "EUR", rates: rates, today: 60)
        #expect(report.unconverted == [])
        #expect(
            report.rows.map { $0.values[0] } == [.money(2_000)]
                + Array(repeating: .money(1_000), count: 3))
        #expect(report.rateDays == 2...3)
    }

    /// Amounts of two dollars and a euro, in two parts, on ten days.
    @Test func `a report with too many rows is refused before it is made`() throws {
        let sums = [("a", "USD"), ("b", "USD"), ("b", "EUR")].map { part, currency in
            MovementSum(
                day: 5, kind: .new, currency: currency, part: part,
                totals: Totals(Movement.Amounts(gross: 1_000)))
        }
        let periods = ReportPeriod.periods(.day, in: 0..<10)
        func rows(_ currency: String?, _ rates: ExchangeRates, max: Int) throws -> Int {
            try Report(
                ReportCatalogue.revenue, periods, from: sums, in: currency, rates: rates,
                rowsMax: max
            ).rows.count
        }
        let rates = ExchangeRates(base: "EUR", rates: [5: ["USD": 1_000_000]])
        #expect(try rows(nil, .none, max: 30) == 30)
        #expect(try rows("EUR", rates, max: 20) == 20)
        #expect(throws: Report.TooManyRows(count: 30)) { try rows(nil, .none, max: 29) }
        #expect(throws: Report.TooManyRows(count: 20)) { try rows("EUR", rates, max: 19) }
        // Without a rate, both currencies are shown.
        #expect(throws: Report.TooManyRows(count: 30)) { try rows("EUR", .none, max: 29) }
    }

    @Test func `a table of exchange rates may begin with a byte order mark`() throws {
        let rates = try ExchangeRates(table: "\u{FEFF}Date,USD\r\n1970-01-06,2\r\n")
        #expect(rates.convert(1_000, from: "USD", to: "EUR", on: 5)?.amount == 500)
    }

    @Test func `a table with a currency twice is refused, and the error names the column`() {
        #expect {
            try ExchangeRates(table: "Date,USD,,JPY,USD,\n2026-11-20,1,,2,3,\n")
        } throws: { error in
            let defect = error as? ExchangeRates.Defect
            return defect?.line == 1 && defect?.column == "USD"
        }
    }

    @Test func `every definition, and every column within it, has a unique name`() {
        let names = ReportCatalogue.all.map(\.name)
        #expect(Set(names).count == names.count)
        for definition in ReportCatalogue.all {
            let columns = definition.columns.map(\.name)
            #expect(Set(columns).count == columns.count)
            #expect(definition.sentence.hasSuffix("."))
            #expect(definition.columns.allSatisfy { $0.sentence.hasSuffix(".") })
        }
    }
}

extension Movement.Kind {
    fileprivate var changesMRR: Bool {
        [.new, .converted, .expansion, .reactivation, .contraction, .churn].contains(self)
    }
}
