import Ledger

/// Reports as RevenueCat counts them: its charts of version 2 (RevenueCat's documentation,
/// "Charts", February 2026).
extension ReportCatalogue {
    static let revenueCat = [
        revenueCatRevenue, revenueCatMRR, revenueCatMRRMovement, revenueCatActive,
        revenueCatActiveMovement, revenueCatTrials, revenueCatChurn, revenueCatRefunds,
        revenueCatTrialConversion, revenueCatRetention,
    ]

    private typealias Column = ReportDefinition.Column
    /// All kinds of movements that are neither a first payment nor its refund. Some of these kinds
    /// reduce churn, and the others count as churn.
    private static let churning: Set<Movement.Kind> = [
        .churn, .renewal, .expansion, .contraction, .reactivation, .trialStarted,
    ]

    private static func definition(
        _ name: String, _ title: String, _ sentence: String, cohort: Cohort? = nil,
        _ columns: [ReportDefinition.Column]
    ) -> ReportDefinition {
        var definition = ReportDefinition(
            name: name, version: 1, title: title + " as RevenueCat counts", sentence: sentence,
            cohort: cohort, columns: columns)
        definition.profile = .revenuecat
        return definition
    }

    // MARK: - Money

    private static let revenueCatRevenue = definition(
        "revenue", "Revenue",
        "Charges on their day. A refund takes the charge back on the day of the charge.",
        cohort: .transactions,
        [
            Column("revenue", .money, .computed, "Charged, less what was refunded since.") {
                .money($0.cohort[1] - $0.cohort[2])
            },
            Column("net_of_tax", .money, .computed, "Revenue without sales tax.") {
                .money($0.cohort[1] - $0.cohort[2] - $0.cohort[3])
            },
            Column(
                "proceeds", .money, .computed, "Revenue without sales tax and the store's share."
            ) {
                .money($0.cohort[1] - $0.cohort[2] - $0.cohort[3] - $0.cohort[4])
            },
        ])

    private static let revenueCatMRR = definition(
        "mrr", "Monthly recurring revenue",
        "Prices of active paid subscriptions: a week counts four times, a year a twelfth.",
        [
            Column("mrr", .money, .stock(.mrrOfFourWeeks), "MRR at the end of each period.") {
                .money($0.closing.amounts.mrrOfFourWeeks)
            },
            Column("arr", .money, .computed, "MRR for twelve months.") {
                .money($0.closing.amounts.mrrOfFourWeeks * 12)
            },
        ])

    private static let revenueCatMRRMovement = definition(
        "mrr_movement", "MRR movement",
        "New MRR, and churned MRR: what ended, less renewals and changes of product.",
        [
            Column("opening", .money, .computed, "MRR when the period began.") {
                .money($0.opening.amounts.mrrOfFourWeeks)
            },
            Column("new", .money, .flow([.new, .converted]), "MRR of first payments.") {
                .money($0.flow(of: .new, .converted).amounts.mrrOfFourWeeks)
            },
            Column("churned", .money, .flow(churning), "It can be negative.") {
                .money(-$0.flow(of: churning).amounts.mrrOfFourWeeks)
            },
            Column("closing", .money, .stock(.mrrOfFourWeeks), "Opening, plus new, less churned.") {
                .money($0.closing.amounts.mrrOfFourWeeks)
            },
        ])

    // MARK: - Subscriptions

    private static let revenueCatActive = definition(
        "active", "Active subscriptions",
        "Paid and not over at the end of each period, grace included, trials excluded.",
        [
            Column("active", .count, .stock(.active), "Paid and not over, grace included.") {
                .count($0.closing.counts.active)
            }
        ])

    private static let revenueCatActiveMovement = definition(
        "active_movement", "Movement of subscriptions",
        "New subscriptions, and churned ones: those that ended, less those that came back.",
        [
            Column("opening", .count, .computed, "Active when the period began.") {
                .count($0.opening.counts.active)
            },
            Column("new", .count, .flow([.new, .converted]), "First payments, trials included.") {
                .count($0.flow(of: .new, .converted).counts.active)
            },
            Column("churned", .count, .flow(churning), "It can be negative.") {
                .count(-$0.flow(of: churning).counts.active)
            },
            Column("closing", .count, .stock(.active), "Opening, plus new, less churned.") {
                .count($0.closing.counts.active)
            },
        ])

    private static let revenueCatTrials = definition(
        "trials", "Trials", "New trials, and trials that became paid or ended.",
        [
            Column("opening", .count, .computed, "Subscriptions in a trial when the period began.")
            {
                .count($0.opening.counts.trials)
            },
            Column("new", .count, .flow([.trialStarted]), "Began.") {
                .count($0.flow(of: .trialStarted).counts.trials)
            },
            Column("ended", .count, .computed, "Trials that became paid, or ended.") {
                .count($0.flow(of: .trialStarted).counts.trials - $0.flow.counts.trials)
            },
            Column("closing", .count, .stock(.trials), "Opening, plus new, less ended.") {
                .count($0.closing.counts.trials)
            },
        ])

    private static let revenueCatChurn = definition(
        "churn", "Churn",
        "Subscriptions that ended, less those that came back, of those active at the start.",
        [
            Column("opening", .count, .computed, "Active when the period began.") {
                .count($0.opening.counts.active)
            },
            Column("churned", .count, .flow(churning), "It can be negative.") {
                .count(-$0.flow(of: churning).counts.active)
            },
            Column("churn_rate", .percent, .computed, "Churned, of opening.") {
                .share(-$0.flow(of: churning).counts.active, of: $0.opening.counts.active)
            },
        ])

    // MARK: - Cohorts

    private static let revenueCatRefunds = definition(
        "refunds", "Refund rate",
        "Which share of the transactions paid for in each period was refunded since.",
        cohort: .transactions,
        [
            Column("paid", .count, .computed, "Transactions.") { .count($0.cohort[0]) },
            Column(
                "refunded", .count, .computed,
                "Transactions that were refunded since, in full or in part."
            ) {
                .count($0.cohort[5])
            },
            Column("refund_rate", .percent, .computed, "Refunded, of paid.") {
                .share($0.cohort[5], of: $0.cohort[0])
            },
        ])

    private static let revenueCatTrialConversion = definition(
        "trial_conversion", "Conversion of trials",
        "What became of the trials that began in each period. Any later payment converts a trial.",
        cohort: .trialsPaidEver,
        [
            Column("started", .count, .computed, "Trials that began.") { .count($0.cohort[0]) },
            Column(
                "converted", .count, .computed,
                "Trials that were paid for so far, also after a gap."
            ) {
                .count($0.cohort[1])
            },
            Column("conversion_rate", .percent, .computed, "Converted, of started.") {
                .share($0.cohort[1], of: $0.cohort[0])
            },
        ])

    private static let revenueCatRetention = definition(
        "retention", "Retention by payment",
        "Of the subscriptions whose first full payment was in a period, how many renewed.",
        cohort: .standardPayments,
        (1...Cohort.paymentsMax).map { number in
            Column(
                "payment_\(number)", .count, .computed,
                "Made \(number) payments or more at the standard price."
            ) { .count($0.cohort[number - 1]) }
        })
}
