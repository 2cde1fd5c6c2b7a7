import Ledger

/// Reports as Apphud counts them (Apphud's documentation, "Charts" and "About analytics", 2026).
extension ReportCatalogue {
    static let apphud = [
        apphudRevenue, apphudMRR, apphudMRRMovement, apphudActive, apphudChurn, apphudRefunds,
        apphudTrialConversion,
    ]

    private typealias Column = ReportDefinition.Column
    private static let entering: Set<Movement.Kind> = [
        .new, .converted, .reactivation, .expansion, .trialStarted,
    ]

    private static func definition(
        _ name: String, _ title: String, _ sentence: String, cohort: Cohort? = nil,
        _ columns: [ReportDefinition.Column]
    ) -> ReportDefinition {
        var definition = ReportDefinition(
            name: name, version: 1, title: title + " as Apphud counts", sentence: sentence,
            cohort: cohort, columns: columns)
        definition.profile = .apphud
        return definition
    }

    // MARK: - Money

    private static let apphudRevenue = definition(
        "revenue", "Revenue", "What was billed, what is left after refunds, and what you get.",
        [
            Column("gross", .money, .flow(charging), "Billed.") {
                .money($0.flow.amounts.gross)
            },
            Column("sales", .money, .computed, "Gross, less refunds on their own day.") {
                .money($0.flow.amounts.gross - $0.flow.amounts.refunded)
            },
            Column("proceeds", .money, .computed, "Sales, less the store's share and taxes.") {
                .money($0.flow.amounts.proceeds)
            },
        ])

    private static let apphudMRR = definition(
        "mrr", "Monthly recurring revenue",
        "Prices of paid subscriptions as prices of a month, less the store's share.",
        [
            Column("mrr", .money, .stock(.mrr), "MRR at the end of each period.") {
                .money($0.closing.amounts.mrrOfSeller)
            },
            Column("arr", .money, .computed, "MRR for twelve months.") {
                .money($0.closing.amounts.mrrOfSeller * 12)
            },
        ])

    private static let apphudMRRMovement = definition(
        "mrr_movement", "MRR movement",
        "New: first payments, returns and upgrades. Churned: what ended, and downgrades.",
        [
            Column("opening", .money, .computed, "MRR when the period began.") {
                .money($0.opening.amounts.mrrOfSeller)
            },
            Column("new", .money, .flow(entering), "New, back again, or upgraded.") {
                .money($0.flow(of: entering).amounts.mrrOfSeller)
            },
            Column(
                "churned", .money, .flow([.churn, .contraction]), "Ended or downgraded."
            ) {
                .money(-$0.flow(of: .churn, .contraction).amounts.mrrOfSeller)
            },
            Column(
                "share", .money, .flow([.renewal]),
                "What renewals added because the store's share changed after a year."
            ) {
                .money($0.flow(of: .renewal).amounts.mrrOfSeller)
            },
            Column(
                "closing", .money, .stock(.mrr), "Opening, plus new, less churned, plus share."
            ) {
                .money($0.closing.amounts.mrrOfSeller)
            },
        ])

    // MARK: - Subscriptions

    private static let apphudActive = definition(
        "active", "Active subscriptions",
        "Paid and not over at the end of each period, and how many of them will renew.",
        [
            Column("active", .count, .stock(.active), "Paid and not over, grace included.") {
                .count($0.closing.counts.active)
            },
            Column("renewing", .count, .computed, "Active subscriptions whose renewal is on.") {
                .count($0.closing.counts.active - $0.closing.counts.notRenewing)
            },
            Column(
                "not_renewing", .count, .stock(.notRenewing),
                "Active subscriptions whose renewal is off."
            ) {
                .count($0.closing.counts.notRenewing)
            },
        ])

    private static let apphudChurn = definition(
        "churn", "Churn",
        "The shares of subscriptions and MRR that ended or were lost in the period.",
        [
            Column("opening", .count, .computed, "Paid subscriptions when the period began.") {
                .count($0.opening.counts.active)
            },
            Column("expired", .count, .flow([.churn]), "Ended within the period.") {
                .count(-$0.flow(of: .churn).counts.active)
            },
            Column("churn_rate", .percent, .computed, "Expired, of opening.") {
                .share(-$0.flow(of: .churn).counts.active, of: $0.opening.counts.active)
            },
            Column(
                "churned_revenue", .percent, .computed,
                "MRR that ended or was downgraded, of the opening MRR."
            ) {
                .share(
                    -$0.flow(of: .churn, .contraction).amounts.mrrOfSeller,
                    of: $0.opening.amounts.mrrOfSeller)
            },
        ])

    // MARK: - Cohorts

    private static let apphudRefunds = definition(
        "refunds", "Refund rate",
        "Which share of the transactions of each period was refunded in full.",
        cohort: .transactions,
        [
            Column("transactions", .count, .computed, "All transactions that were paid.") {
                .count($0.cohort[0])
            },
            Column("refunded", .count, .computed, "Transactions that were refunded in full since.")
            {
                .count($0.cohort[6])
            },
            Column("refund_rate", .percent, .computed, "Refunded, of transactions.") {
                .share($0.cohort[6], of: $0.cohort[0])
            },
        ])

    private static let apphudTrialConversion = definition(
        "trial_conversion", "Conversion of trials",
        "Which share of the trials that began in each period became paid when they ended.",
        cohort: .trials,
        [
            Column("started", .count, .computed, "Trials that began.") { .count($0.cohort[0]) },
            Column("converted", .count, .computed, "Trials that became paid when they ended.") {
                .count($0.cohort[1])
            },
            Column("conversion_rate", .percent, .computed, "Converted, of started.") {
                .share($0.cohort[1], of: $0.cohort[0])
            },
        ])
}

extension Movement.Amounts {
    /// The monthly price without the store's share, but with sales tax.
    fileprivate var mrrOfSeller: Int64 { mrr - mrrCommission }
}
