import Ledger

/// The numbers that a report counts for subscriptions that began in the same period.
package enum Cohort: String, Hashable, Sendable, CaseIterable {
    /// Subscriptions whose trial began. The numbers are: all these subscriptions, the subscriptions
    /// that were paid later, and the subscriptions that are still free.
    case trials
    /// Subscriptions that were paid for the first time: how many made the first payment, the
    /// second, …
    case payments
    /// Like ``payments``, but by currency: the number of subscriptions that were first paid in the
    /// currency, and all their revenue in this currency.
    case revenue
    /// The number of subscriptions of ``payments``. Then there are two numbers for each of
    /// ``daysLater``. The first counts the subscriptions that began at least that many days ago.
    /// The second counts the subscriptions among them that were active after that many days.
    case days
    /// Like ``trials``, but a payment after a gap also counts.
    case trialsPaidEver
    /// Like ``payments``, but only payments without an offer count.
    case standardPayments
    /// Payments instead of subscriptions. The numbers are: payments, the amount charged, the part
    /// that was refunded later, the tax and the commission of the rest, refunded payments, and
    /// payments refunded in full.
    case transactions
    /// Subscriptions that ended, instead of subscriptions that began: a number for each of
    /// ``ReportCatalogue/endings``.
    case endings
    /// Wallet entries: units that were bought, refunded, spent, and added in other ways.
    case wallets

    /// The number of payments that have their own columns.
    package static let paymentsMax = 12
    /// The numbers of days after the first payment at which subscriptions are counted.
    package static let daysLater: [Int64] = [7, 14, 30, 60, 90, 180, 365]

    /// Whether the cohort uses rows that only contain the present state.
    package var isOfPresent: Bool { self == .endings || self == .wallets }

    /// Whether a period begins with the total before it. Such a period has a row even if nothing
    /// happened in it.
    var isCarried: Bool { self == .wallets }
}

/// The outcome of the subscriptions that began on one day.
package struct CohortSum: Hashable, Sendable {
    /// The day on which the subscriptions began, counted from 1970-01-01, in the configured time
    /// zone.
    package var day: Int64
    /// The currency of the amounts. Nil unless money is counted.
    package var currency: String?
    /// The currency of the wallets, if wallets are counted.
    package var part: String?
    /// The numbers that ``Cohort`` describes, in this order.
    package var numbers: [Int64]

    package init(
        day: Int64, currency: String? = nil, part: String? = nil, numbers: [Int64]
    ) {
        self.day = day
        self.currency = currency
        self.part = part
        self.numbers = numbers
    }
}

extension ReportCatalogue {
    static let cohorts = [
        trialConversion, retention, retentionDays, lifetimeValue, refundCohorts,
    ]

    private typealias Column = ReportDefinition.Column

    static let trialConversion = ReportDefinition(
        name: "trial_conversion", version: 1, title: "Conversion of trials",
        sentence: "Of the trials that began in a period, how many were converted.", cohort: .trials,
        columns: [
            Column("started", .count, .computed, "Trials that began.") { .count($0.cohort[0]) },
            Column(
                "converted", .count, .computed, "Trials of the period that were paid for so far."
            ) {
                .count($0.cohort[1])
            },
            Column("pending", .count, .computed, "Trials of the period that are still free.") {
                .count($0.cohort[2])
            },
            Column(
                "conversion_rate", .percent, .computed,
                "Converted trials, as a share of those not pending."
            ) {
                .share($0.cohort[1], of: $0.cohort[0] - $0.cohort[2])
            },
        ])

    static let retention = ReportDefinition(
        name: "retention", version: 1, title: "Retention by payment",
        sentence: "Of the subscriptions that began in a period, how many renewed.",
        cohort: .payments,
        columns: (1...Cohort.paymentsMax).map { number in
            Column(
                "payment_\(number)", .count, .computed, "Made \(number) payments or more."
            ) { .count($0.cohort[number - 1]) }
        })

    static let retentionDays = ReportDefinition(
        name: "retention_days", version: 1, title: "Retention by day",
        sentence: "Of the subscriptions that began in a period, how many were active later.",
        cohort: .days,
        columns: [
            Column("subscriptions", .count, .computed, "First paid for in the period.") {
                .count($0.cohort[0])
            }
        ] + dayColumns)

    private static let dayColumns: [ReportDefinition.Column] =
        Cohort.daysLater.enumerated().map { index, days in dayColumn(days, at: 2 * index + 1) }

    /// - Parameter place: the index, in the cohort's numbers, of the number of subscriptions that
    ///   began that long ago.
    private static func dayColumn(_ days: Int64, at place: Int) -> ReportDefinition.Column {
        let sentence = "Active \(days) days later, of those that began so long ago."
        return Column("day_\(days)", .percent, .computed, sentence) { tally in
            ReportValue.share(tally.cohort[place + 1], of: tally.cohort[place])
        }
    }

    static let refundCohorts = ReportDefinition(
        name: "refund_cohorts", version: 2, title: "Refunds by day of the charge",
        sentence: "Of the payments of a period, how much was refunded later.",
        cohort: .transactions,
        columns: [
            Column("payments", .count, .computed, "Payments.") { .count($0.cohort[0]) },
            Column(
                "refunded_payments", .count, .computed,
                "Payments that were refunded, in full or in part."
            ) {
                .count($0.cohort[5])
            },
            Column(
                "refund_rate", .percent, .computed, "Refunded payments, as a share of all payments."
            ) {
                .share($0.cohort[5], of: $0.cohort[0])
            },
            Column("gross", .money, .computed, "What was charged.") { .money($0.cohort[1]) },
            Column(
                "refunded", .money, .computed, "The part of the charges that was refunded so far."
            ) {
                .money($0.cohort[7])
            },
        ])

    static let lifetimeValue = ReportDefinition(
        name: "ltv", version: 2, title: "Realised lifetime value",
        sentence: "Of the subscriptions that began in a period, the revenue until now.",
        cohort: .revenue,
        columns: [
            Column(
                "subscriptions", .count, .computed,
                "Subscriptions first paid for in the period, and in this currency."
            ) {
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
    private struct CohortKey: Hashable, Comparable {
        var currency: String?
        var part: String?

        init(_ sum: CohortSum) { (currency, part) = (sum.currency, sum.part) }

        static func < (one: Self, other: Self) -> Bool {
            (one.currency ?? "", one.part ?? "") < (other.currency ?? "", other.part ?? "")
        }
    }

    /// A report about cohorts: one row for each period in which subscriptions began, and each
    /// currency or part.
    package init(
        _ definition: ReportDefinition, _ periods: [ReportPeriod], cohorts: [CohortSum]
    ) {
        var rows: [Row] = []
        let isCarried = definition.cohort?.isCarried == true
        let groups = Dictionary(grouping: cohorts, by: CohortKey.init).sorted { $0.key < $1.key }
        for period in periods {
            for (key, sums) in groups {
                let within = sums.filter { period.days.contains($0.day) }
                let before = isCarried ? sums.filter { $0.day < period.days.lowerBound } : []
                guard !within.isEmpty || !before.isEmpty else { continue }
                let nothing = sums[0].numbers.map { _ in Int64(0) }
                let tally = PeriodTally(
                    cohort: within.isEmpty ? nothing : Self.sum(within), before: Self.sum(before))
                rows.append(
                    Row(
                        period: period, currency: key.currency, part: key.part,
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
