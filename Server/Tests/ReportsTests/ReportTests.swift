import Dice
import Ledger
import Testing

@testable import Reports

@Suite struct ReportTests {
    @Test func `weeks begin on Monday and months on the first`() throws {
        let day = try #require(CivilDate("2026-11-26")).dayNumber
        #expect(CivilDate(dayNumber: ReportPeriod.Length.week.start(of: day)).text == "2026-11-23")
        #expect(CivilDate(dayNumber: ReportPeriod.Length.month.start(of: day)).text == "2026-11-01")
        #expect(
            CivilDate(dayNumber: ReportPeriod.Length.quarter.start(of: day)).text == "2026-10-01")
        #expect(CivilDate(dayNumber: ReportPeriod.Length.year.start(of: day)).text == "2026-01-01")
    }

    @Test func `periods cover the days once, the first and the last cut`() {
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

    @Test func `the parts of the movement add up, in each currency and converted`() throws {
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

    @Test func `what cannot be converted is shown by itself, and named`() {
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

    @Test func `a table of the European Central Bank's form is read`() throws {
        let rates = try ExchangeRates(
            table: "Date,USD,JPY,\n2026-11-20,1.1532,181.21,\n2026-11-19,1.1,N/A,\n")
        let day = try #require(CivilDate("2026-11-22")).dayNumber
        #expect(rates.convert(115_320, from: "USD", to: "EUR", on: day)?.amount == 100_000)
        #expect(rates.convert(1000, from: "EUR", to: "JPY", on: day)?.amount == 181_210)
        #expect(rates.convert(1000, from: "JPY", to: "EUR", on: day - 3) == nil)
        #expect(rates.convert(1000, from: "USD", to: "EUR", on: day + 30) == nil)
    }

    @Test(arguments: [
        ("", 1), ("Datum,USD\n", 1), ("Date,usd\n", 1), ("Date,USD\n2026-11-20\n", 2),
        ("Date,USD\n2026-11-31,1.0\n", 2), ("Date,USD\n2026-11-20,1.0\n2026-11-20,1.0\n", 3),
        ("Date,USD\n2026-11-20,-1.0\n", 2), ("Date,USD\n2026-11-20,0\n", 2),
        ("Date,USD\n\n2026-11-20,1,2\n", 3),
    ])
    func `a damaged table names the line`(text: String, line: Int) {
        #expect {
            try ExchangeRates(table: text)
        } throws: { error in (error as? ExchangeRates.Defect)?.line == line }
    }

    @Test func `every definition has its own name, and columns with their own`() {
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
