import Foundation
import Ledger
import Testing

@testable import Reports

/// The examples of docs/money.md: our numbers, and RevenueCat's and Apphud's, for the same
/// payments.
@Suite struct ProfileTests {
    @Test func `each number in docs/money.md equals the number computed from the page's payments`()
        throws
    {
        let page = try MoneyPage()
        let example = Example(page.payments)
        var problems: [String] = []
        for row in page.numbers {
            for (profile, said) in row.said {
                let definition = try #require(
                    profile.map { $0.named(row.report) } ?? ReportCatalogue.named(row.report),
                    "\(row.report)")
                let values = example.values(definition, row.period)
                for (column, number) in said where values[column] != number {
                    problems.append(
                        "\(definition.id) \(row.month) \(column): \(number), found "
                            + (values[column].map { "\($0)" } ?? "no such column"))
                }
            }
        }
        #expect(problems == [], "\(problems.joined(separator: "\n"))")
    }

    @Test func `docs/money.md has a number for every definition of a profile`() throws {
        let page = try MoneyPage()
        for profile in ReportProfile.allCases {
            let shown = Set(page.numbers.filter { $0.said[profile] != nil }.map(\.report))
            #expect(shown == Set(profile.definitions.map(\.name)), "\(profile)")
        }
    }

    @Test
    func `each definition of a profile has a unique id, and has the name of one of our reports`() {
        let all = ReportCatalogue.all + ReportProfile.allCases.flatMap(\.definitions)
        #expect(Set(all.map(\.id)).count == all.count)
        for definition in all {
            #expect(ReportCatalogue.named(definition.name) != nil, "\(definition.id)")
            #expect(definition.sentence.hasSuffix("."))
            #expect(definition.columns.allSatisfy { $0.sentence.hasSuffix(".") })
        }
    }

    @Test func `our columns come after RevenueCat's columns, and missing values are zero`() {
        let period = ReportPeriod(days: 0..<31)
        let cohort = CohortSum(day: 3, currency: "EUR", numbers: [1, 500, 0, 0, 150, 0, 0])
        let sum = MovementSum(
            day: 4, kind: .new, currency: "USD", totals: Totals(Movement.Amounts(gross: 900)))
        let theirs = Report(
            ReportProfile.revenuecat.named("revenue") ?? ReportCatalogue.revenue, [period],
            cohorts: [cohort])
        let report = theirs.beside(Report(ReportCatalogue.revenue, [period], from: [sum]))
        #expect(report.definition.id == "revenuecat.revenue")
        #expect(
            report.definition.columns.map(\.name) == [
                "revenue", "net_of_tax", "proceeds", "perennial_gross", "perennial_refunded",
                "perennial_credited", "perennial_tax", "perennial_commission",
                "perennial_proceeds",
            ])
        #expect(report.rows.map(\.currency) == ["EUR", "USD"])
        #expect(
            report.rows[0].values.prefix(4) == [.money(500), .money(500), .money(350), .money(0)])
        #expect(report.rows[1].values.prefix(4) == [.money(0), .money(0), .money(0), .money(900)])
    }
}

/// Payments of several customers, and the sums that follow from them.
private struct Example {
    private let movements: [[Movement]]
    private static let day: Int64 = 86_400_000

    init(_ payments: [MoneyPage.Row]) {
        movements = Dictionary(grouping: payments, by: \.customer).sorted { $0.key < $1.key }.map {
            let purchase = PurchaseID(TransactionID(rawValue: $0.key), in: .production)
            let facts = $0.value.map {
                Fact(about: purchase, attestedAt: $0.payment.from, .payment($0.payment))
            }
            return PurchaseBooks(of: purchase, facts, rules: MoneyRules()).movements
        }
    }

    /// Values by column name, written as in the docs: without the last zero of an amount.
    func values(_ definition: ReportDefinition, _ period: ReportPeriod) -> [String: Double] {
        let report: Report
        if let cohort = definition.cohort {
            report = Report(definition, [period], cohorts: sums(of: cohort, in: period.days))
        } else {
            report = Report(definition, [period], from: sums(before: period.days.upperBound))
        }
        // Values without a currency, such as free trials, are added to those of the paid currency.
        var values: [String: Double] = [:]
        for row in report.rows {
            for (column, value) in zip(definition.columns, row.values) where !value.isNothing {
                values[column.name] = value.number
            }
        }
        for column in definition.columns where values[column.name] == nil {
            values[column.name] = 0
        }
        return values
    }

    private func sums(before day: Int64) -> [MovementSum] {
        movements.joined().compactMap { movement in
            let at = movement.at.milliseconds / Self.day
            guard at < day else { return nil }
            return MovementSum(
                day: at, kind: movement.kind, currency: movement.segment.price?.currency,
                totals: Totals(movement.amounts, movement.counts))
        }
    }

    /// The sums that Storage computes with SQL, for a few purchases.
    private func sums(of cohort: Cohort, in days: Range<Int64>) -> [CohortSum] {
        movements.flatMap { (chain: [Movement]) -> [CohortSum] in
            switch cohort {
            case .transactions: transactions(of: chain)
            case .trials: trials(of: chain, alsoAfterGap: false)
            case .trialsPaidEver: trials(of: chain, alsoAfterGap: true)
            case .payments, .standardPayments, .revenue, .days: payments(of: chain)
            // No other service has these numbers.
            case .endings, .wallets: []
            }
        }.filter { days.contains($0.day) }
    }

    private func transactions(of chain: [Movement]) -> [CohortSum] {
        Dictionary(grouping: chain, by: \.transaction).values.compactMap { movements in
            let paid = movements.first { $0.counts.payments > 0 }
            guard let paid else { return nil }
            let sum = movements.reduce(Movement.Amounts()) { $0 + $1.amounts }
            return CohortSum(
                day: paid.at.milliseconds / Self.day, currency: paid.segment.price?.currency,
                numbers: [
                    1, sum.gross, sum.refunded, sum.tax, sum.commission,
                    sum.refunded > 0 ? 1 : 0, sum.refunded == sum.gross ? 1 : 0,
                ])
        }
    }

    private func trials(of chain: [Movement], alsoAfterGap: Bool) -> [CohortSum] {
        guard let start = chain.first(where: { $0.kind == .trialStarted }) else { return [] }
        let isPaid = chain.contains { movement in
            if alsoAfterGap { return movement.counts.active > 0 && movement.at >= start.at }
            return movement.kind == .converted && movement.counts.active > 0
                || movement.kind == .reactivation && movement.counts.trials < 0
        }
        return [
            CohortSum(day: start.at.milliseconds / Self.day, numbers: [1, isPaid ? 1 : 0, 0])
        ]
    }

    private func payments(of chain: [Movement]) -> [CohortSum] {
        let paid = chain.filter { $0.counts.payments > 0 }
        guard let first = paid.first else { return [] }
        return [
            CohortSum(
                day: first.at.milliseconds / Self.day,
                numbers: (1...Cohort.paymentsMax).map { $0 <= paid.count ? 1 : 0 })
        ]
    }
}

extension ReportValue {
    /// A value as the docs write it: units of the currency, or percent with two decimals.
    fileprivate var number: Double {
        switch self {
        case .money(let amount): Double(amount) / 1000
        case .count(let count): Double(count)
        case .share(let part, let whole):
            whole == 0 ? 0 : (Double(part) / Double(whole) * 10_000).rounded() / 100
        }
    }
}

/// The tables of the page that this test computes.
private struct MoneyPage {
    struct Row {
        var customer: String
        var payment: Payment
    }

    /// The values on the page for one report in one month, by one service's definition.
    struct Numbers {
        var report: String
        var month: String
        var said: [ReportProfile?: [String: Double]]

        var period: ReportPeriod {
            let start = CivilDate(month + "-01")?.dayNumber ?? 0
            return ReportPeriod(days: start..<ReportPeriod.Length.month.next(after: start))
        }
    }

    private(set) var payments: [Row] = []
    private(set) var numbers: [Numbers] = []

    init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../docs/money.md").standardized
        let text = try String(contentsOf: file, encoding: .utf8)
        for line in text.split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }.dropFirst().dropLast()
            let row = Array(cells)
            if row.count == 6, let from = CivilDate(row[3]), let until = CivilDate(row[4]) {
                payments.append(payment(row, from, until))
            } else if row.count == 5, CivilDate(row[1] + "-01") != nil {
                numbers.append(
                    Numbers(
                        report: row[0].replacing("`", with: ""), month: row[1],
                        said: Self.said(row)))
            }
        }
        try #require(payments.count > 4 && numbers.count > 10)
    }

    private func payment(_ row: [String], _ from: CivilDate, _ until: CivilDate) -> Row {
        let price = Int64((Double(row[2]) ?? 0) * 1000)
        let isFollowing = payments.contains {
            $0.customer == row[0] && $0.payment.until == Self.moment(from)
        }
        var payment = Payment(
            transaction: TransactionID(rawValue: "\(row[0])-\(row[3])"),
            line: "\(row[0])-\(row[3])", product: ProductID(rawValue: row[1]),
            from: Self.moment(from), until: Self.moment(until),
            price: Money(milliunits: price, currency: "USD"), isRenewal: isFollowing)
        if price == 0 { payment.terms = .trial }
        if let back = CivilDate(row[5]) {
            payment.revocation = Revocation(at: Self.moment(back), kind: .refund)
        }
        return Row(customer: row[0], payment: payment)
    }

    private static func moment(_ date: CivilDate) -> Instant {
        WallClock.utc.midnight(ofDay: date.dayNumber)
    }

    /// Reads cells such as `` `mrr` 41.678, `active` 3 ``.
    private static func said(_ row: [String]) -> [ReportProfile?: [String: Double]] {
        var said: [ReportProfile?: [String: Double]] = [:]
        let columns: [(ReportProfile?, String)] = [
            (nil, row[2]), (.revenuecat, row[3]), (.apphud, row[4]),
        ]
        for (profile, cell) in columns {
            for match in cell.matches(of: #/`(\w+)` (-?[\d.]+)/#) {
                said[profile, default: [:]][String(match.output.1)] = Double(match.output.2)
            }
        }
        return said
    }
}
