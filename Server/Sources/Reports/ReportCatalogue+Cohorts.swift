import Ledger

/// What subscriptions are followed by that began in the same period.
package enum Cohort: String, Hashable, Sendable, CaseIterable {
    /// Those whose trial began: how many, how many were paid for, how many are still free.
    case trials
    /// Those that were paid for the first time: how many made the first payment, the second, …
    case payments
    /// The same: how many, and what they have brought so far.
    case revenue

    /// How many payments are told apart.
    package static let paymentsMax = 12
}

/// What became of the subscriptions that began on one day.
package struct CohortSum: Hashable, Sendable {
    /// Counted from 1970-01-01, in the owner's time zone.
    package var day: Int64
    /// Nil unless money is counted.
    package var currency: String?
    /// See ``Cohort``.
    package var numbers: [Int64]

    package init(day: Int64, currency: String? = nil, numbers: [Int64]) {
        self.day = day
        self.currency = currency
        self.numbers = numbers
    }
}

extension ReportCatalogue {
    static let cohorts = [trialConversion, retention, lifetimeValue]

    private typealias Column = ReportDefinition.Column

    static let trialConversion = ReportDefinition(
        name: "trial_conversion", version: 1, title: "Conversion of trials",
        sentence: "What became of the trials that began in each period.", cohort: .trials,
        columns: [
            Column("started", .count, .computed, "Trials that began.") { .count($0.cohort[0]) },
            Column("converted", .count, .computed, "Of those: paid for so far.") {
                .count($0.cohort[1])
            },
            Column("pending", .count, .computed, "Of those: still free.") {
                .count($0.cohort[2])
            },
            Column("conversion_rate", .percent, .computed, "Converted, of those not pending.") {
                .share($0.cohort[1], of: $0.cohort[0] - $0.cohort[2])
            },
        ])

    static let retention = ReportDefinition(
        name: "retention", version: 1, title: "Retention by payment",
        sentence: "How many of the subscriptions first paid for in each period paid again.",
        cohort: .payments,
        columns: (1...Cohort.paymentsMax).map { number in
            Column(
                "payment_\(number)", .count, .computed, "Made \(number) payments or more."
            ) { .count($0.cohort[number - 1]) }
        })

    static let lifetimeValue = ReportDefinition(
        name: "ltv", version: 1, title: "Realised lifetime value",
        sentence: "What the subscriptions first paid for in each period have brought so far.",
        cohort: .revenue,
        columns: [
            Column("subscriptions", .count, .computed, "First paid for in the period.") {
                .count($0.cohort[0])
            },
            Column("revenue", .money, .computed, "Charged so far, less what was refunded.") {
                .money($0.cohort[1])
            },
            Column("ltv", .money, .computed, "Revenue for each subscription.") {
                .money($0.cohort[0] == 0 ? 0 : $0.cohort[1] / $0.cohort[0])
            },
        ])
}

extension Report {
    /// A report about cohorts: one row for each period in which some began, and currency.
    package init(
        _ definition: ReportDefinition, _ periods: [ReportPeriod], cohorts: [CohortSum]
    ) {
        var rows: [Row] = []
        for period in periods {
            let within = cohorts.filter { period.days.contains($0.day) }
            let groups = Dictionary(grouping: within, by: \.currency)
            for (currency, sums) in groups.sorted(by: { ($0.key ?? "") < ($1.key ?? "") }) {
                let tally = PeriodTally(cohort: Self.sum(sums))
                rows.append(
                    Row(
                        period: period, currency: currency, part: nil,
                        values: definition.columns.map { $0.value(tally) }))
            }
        }
        self.init(definition, rows: rows)
    }

    private static func sum(_ sums: [CohortSum]) -> [Int64] {
        sums.reduce(into: [Int64]()) { total, sum in
            if total.isEmpty {
                total = sum.numbers
            } else {
                for index in total.indices { total[index] += sum.numbers[index] }
            }
        }
    }
}
