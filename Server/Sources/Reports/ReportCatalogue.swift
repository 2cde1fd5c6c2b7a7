import Ledger

/// All available reports.
package enum ReportCatalogue {
    package static let all: [ReportDefinition] =
        [
            revenue, mrr, arr, mrrMovement, active, activeMovement, seats, trials, churn, refunds,
            billing, payments, oneTime,
        ] + cohorts + present

    package static func named(_ name: String) -> ReportDefinition? {
        all.first { $0.name == name }
    }

    private typealias Column = ReportDefinition.Column
    /// The kinds of purchases that do not renew.
    private static let notRenewing: Set<Movement.Kind> = [
        .consumable, .nonConsumable, .nonRenewing, .oneTime,
    ]
    static let charging = Set(Movement.Kind.allCases).subtracting([.refund, .credit])

    // MARK: - Money

    static let revenue = ReportDefinition(
        name: "revenue", version: 2, title: "Revenue",
        sentence: "What customers were charged, and what you get of it.",
        columns: [
            Column("gross", .money, .flow(charging), "Prices charged, on the day of the charge.") {
                .money($0.flow.amounts.gross)
            },
            Column("refunded", .money, .flow([.refund]), "Money given back, on that day.") {
                .money($0.flow(of: .refund).amounts.refunded)
            },
            Column(
                "credited", .money, .flow([.credit]),
                "What upgrades gave back of the periods that they replaced."
            ) {
                .money($0.flow(of: .credit).amounts.refunded)
            },
            Column("tax", .money, .computed, "Sales tax in gross, less that in refunds.") {
                .money($0.flow.amounts.tax)
            },
            Column("commission", .money, .computed, "The App Store's share, less that of refunds.")
            {
                .money($0.flow.amounts.commission)
            },
            Column("proceeds", .money, .computed, "What is left for you.") {
                .money($0.flow.amounts.proceeds)
            },
        ])

    static let mrr = ReportDefinition(
        name: "mrr", version: 2, title: "Monthly recurring revenue",
        sentence: "What active subscriptions pay per month, at the end of each period.",
        columns: [
            Column(
                "mrr", .money, .stock(.mrr), "Prices of active subscriptions, as prices of a month."
            ) {
                .money($0.closing.amounts.mrr)
            },
            Column("net_of_tax", .money, .computed, "MRR without sales tax.") {
                .money($0.closing.amounts.mrr - $0.closing.amounts.mrrTax)
            },
            Column(
                "proceeds", .money, .computed, "MRR without sales tax and the App Store's share."
            ) {
                .money(
                    $0.closing.amounts.mrr - $0.closing.amounts.mrrTax
                        - $0.closing.amounts.mrrCommission)
            },
            Column("arr", .money, .computed, "MRR for twelve months.") {
                .money($0.closing.amounts.mrr * 12)
            },
            Column("active", .count, .stock(.active), "Active subscriptions.") {
                .count($0.closing.counts.active)
            },
        ])

    static let arr = ReportDefinition(
        name: "arr", version: 1, title: "Annual recurring revenue",
        sentence: "What subscriptions pay per year: collected, and promised by commitments.",
        columns: [
            Column(
                "collected", .money, .stock(.mrr), "MRR of paid subscriptions, for twelve months."
            ) {
                .money($0.closing.amounts.mrr * 12)
            },
            Column(
                "contracted", .money, .stock(.contracted),
                "MRR for twelve months, with the months of commitments that are not collected yet."
            ) {
                .money($0.closing.amounts.contracted * 12)
            },
            Column("uncollected", .money, .computed, "Contracted, less collected.") {
                .money(($0.closing.amounts.contracted - $0.closing.amounts.mrr) * 12)
            },
            Column(
                "promised", .money, .stock(.promised),
                "What customers still owe of their commitments."
            ) {
                .money($0.closing.amounts.promised)
            },
        ])

    static let mrrMovement = ReportDefinition(
        name: "mrr_movement", version: 2, title: "MRR movement",
        sentence: "Why monthly recurring revenue changed. The parts add up to the difference.",
        columns: [
            Column("opening", .money, .computed, "MRR when the period began.") {
                .money($0.opening.amounts.mrr)
            },
            Column(
                "new", .money, .flow([.new, .converted]),
                "From subscriptions that are paid for the first time."
            ) {
                .money($0.flow(of: .new, .converted).amounts.mrr)
            },
            Column(
                "expansion", .money, .flow([.expansion]),
                "From subscriptions that pay more a month than before."
            ) {
                .money($0.flow(of: .expansion).amounts.mrr)
            },
            Column(
                "reactivation", .money, .flow([.reactivation]),
                "From subscriptions that are paid again after a gap."
            ) {
                .money($0.flow(of: .reactivation).amounts.mrr)
            },
            Column(
                "contraction", .money, .flow([.contraction]),
                "From subscriptions that pay less a month than before."
            ) {
                .money($0.flow(of: .contraction).amounts.mrr)
            },
            Column(
                "switched", .money, .computed,
                "From subscriptions that came from another part of the division, at the same price."
            ) {
                .money($0.flow(of: .renewal).amounts.mrr)
            },
            Column(
                "churn", .money, .flow([.churn]),
                "From subscriptions that ended, after grace if there was any."
            ) {
                .money($0.flow(of: .churn).amounts.mrr)
            },
            Column(
                "exchange", .money, .computed,
                "What changed exchange rates added. Only if amounts are converted."
            ) {
                .money($0.exchange.mrr)
            },
            Column("closing", .money, .stock(.mrr), "MRR when the period ended.") {
                .money($0.closing.amounts.mrr)
            },
        ])

    // MARK: - Subscriptions

    static let active = ReportDefinition(
        name: "active", version: 1, title: "Active subscriptions",
        sentence: "Subscriptions that are paid and not over, at the end of each period.",
        columns: [
            Column(
                "active", .count, .stock(.active),
                "Subscriptions that are paid and not over, grace included."
            ) {
                .count($0.closing.counts.active)
            },
            Column("renewing", .count, .computed, "Active subscriptions that will renew.") {
                .count($0.closing.counts.active - $0.closing.counts.notRenewing)
            },
            Column(
                "not_renewing", .count, .stock(.notRenewing),
                "Active subscriptions whose renewal is switched off."
            ) {
                .count($0.closing.counts.notRenewing)
            },
            Column(
                "grace", .count, .stock(.grace),
                "Active subscriptions in a grace period, which may end."
            ) {
                .count($0.closing.counts.grace)
            },
        ])

    static let activeMovement = ReportDefinition(
        name: "active_movement", version: 1, title: "Movement of subscriptions",
        sentence: "Why the number of active subscriptions changed.",
        columns: [
            Column(
                "opening", .count, .computed,
                "Subscriptions that were active when the period began."
            ) {
                .count($0.opening.counts.active)
            },
            Column("new", .count, .flow([.new]), "Paid for the first time, without a trial.") {
                .count($0.flow(of: .new).counts.active)
            },
            Column("converted", .count, .flow([.converted]), "Paid for the first time, by trial.") {
                .count($0.flow(of: .converted).counts.active)
            },
            Column("reactivation", .count, .flow([.reactivation]), "Paid again after a gap.") {
                .count($0.flow(of: .reactivation).counts.active)
            },
            Column(
                "switched", .count, .computed,
                "Subscriptions that came from another part of the division."
            ) {
                .count($0.flow(of: .renewal, .expansion, .contraction).counts.active)
            },
            Column("churn", .count, .flow([.churn]), "Ended.") {
                .count($0.flow(of: .churn).counts.active)
            },
            Column(
                "closing", .count, .stock(.active),
                "Subscriptions that were active when the period ended."
            ) {
                .count($0.closing.counts.active)
            },
        ])

    static let seats = ReportDefinition(
        name: "seats", version: 1, title: "Seats",
        sentence:
            "How many people active subscriptions are paid for: one, or the seats of a group.",
        columns: [
            Column("opening", .count, .computed, "Seats when the period began.") {
                .count($0.opening.counts.seats)
            },
            Column(
                "new", .count, .flow([.new, .converted, .reactivation]),
                "Seats of subscriptions that were paid for the first time, or again."
            ) {
                .count($0.flow(of: .new, .converted, .reactivation).counts.seats)
            },
            Column(
                "changed", .count, .computed,
                "Seats that were added, less those given up; or seats from another part."
            ) {
                .count($0.flow(of: .renewal, .expansion, .contraction).counts.seats)
            },
            Column("ended", .count, .flow([.churn]), "Seats of subscriptions that ended.") {
                .count($0.flow(of: .churn).counts.seats)
            },
            Column("closing", .count, .stock(.seats), "Seats when the period ended.") {
                .count($0.closing.counts.seats)
            },
        ])

    static let trials = ReportDefinition(
        name: "trials", version: 1, title: "Trials",
        sentence: "Free periods: how many began, were converted, or ended.",
        columns: [
            Column(
                "opening", .count, .computed,
                "Subscriptions in a free period when the report's period began."
            ) {
                .count($0.opening.counts.trials)
            },
            Column("started", .count, .flow([.trialStarted]), "Began.") {
                .count($0.flow(of: .trialStarted).counts.trials)
            },
            Column("converted", .count, .flow([.converted, .reactivation]), "Became paid.") {
                .count($0.flow(of: .converted, .reactivation).counts.trials)
            },
            Column("ended", .count, .flow([.trialEnded]), "Ended without a payment.") {
                .count($0.flow(of: .trialEnded).counts.trials)
            },
            Column(
                "closing", .count, .stock(.trials),
                "Subscriptions in a free period when the report's period ended."
            ) {
                .count($0.closing.counts.trials)
            },
        ])

    static let churn = ReportDefinition(
        name: "churn", version: 1, title: "Churn",
        sentence: "The share of active subscriptions that ended.",
        columns: [
            Column(
                "opening", .count, .computed,
                "Subscriptions that were active when the period began."
            ) {
                .count($0.opening.counts.active)
            },
            Column("churned", .count, .flow([.churn]), "Ended within the period.") {
                .count(-$0.flow(of: .churn).counts.active)
            },
            Column("churn_rate", .percent, .computed, "Churned, of opening.") {
                .share(-$0.flow(of: .churn).counts.active, of: $0.opening.counts.active)
            },
            Column("mrr_churn_rate", .percent, .computed, "MRR that ended, of the opening MRR.") {
                .share(-$0.flow(of: .churn).amounts.mrr, of: $0.opening.amounts.mrr)
            },
        ])

    // MARK: - Payments

    static let refunds = ReportDefinition(
        name: "refunds", version: 2, title: "Refunds",
        sentence: "The share of the charged money that was refunded, on the day of the refund.",
        columns: [
            Column("gross", .money, .flow(charging), "Prices charged.") {
                .money($0.flow.amounts.gross)
            },
            Column("refunded", .money, .flow([.refund]), "Money given back.") {
                .money($0.flow(of: .refund).amounts.refunded)
            },
            Column("refund_rate", .percent, .computed, "Refunded, of gross.") {
                .share($0.flow(of: .refund).amounts.refunded, of: $0.flow.amounts.gross)
            },
        ])

    static let billing = ReportDefinition(
        name: "billing", version: 2, title: "Billing problems",
        sentence: "Payments that the App Store could not collect: recovered, lost, or open.",
        columns: [
            Column("grace_started", .count, .flow([.graceStarted]), "Grace periods that began.") {
                .count($0.flow(of: .graceStarted).counts.grace)
            },
            Column("grace", .count, .stock(.grace), "Subscriptions in grace when the period ended.")
            {
                .count($0.closing.counts.grace)
            },
            Column("retry_started", .count, .flow([.retryStarted]), "Retries that began.") {
                .count($0.flow(of: .retryStarted).counts.retry)
            },
            Column("recovered", .count, .flow([.retryRecovered]), "Retries that were paid.") {
                .count(-$0.flow(of: .retryRecovered).counts.retry)
            },
            Column("lost", .count, .flow([.retryEnded]), "Retries that were given up.") {
                .count(-$0.flow(of: .retryEnded).counts.retry)
            },
            Column("retry", .count, .stock(.retry), "Subscriptions in retry when the period ended.")
            {
                .count($0.closing.counts.retry)
            },
        ])

    static let payments = ReportDefinition(
        name: "payments", version: 1, title: "Payments",
        sentence: "The number of payments, by kind.",
        columns: [
            Column("new", .count, .flow([.new, .converted]), "First payments.") {
                .count($0.flow(of: .new, .converted).counts.payments)
            },
            Column("renewals", .count, .flow([.renewal, .expansion, .contraction]), "Later ones.") {
                .count($0.flow(of: .renewal, .expansion, .contraction).counts.payments)
            },
            Column("reactivations", .count, .flow([.reactivation]), "Payments after a gap.") {
                .count($0.flow(of: .reactivation).counts.payments)
            },
            Column(
                "one_time", .count, .flow(notRenewing), "Payments for products that do not renew."
            ) {
                .count($0.flow(of: notRenewing).counts.payments)
            },
            Column(
                "one_time_gross", .money, .flow(notRenewing),
                "The amount charged for products that do not renew."
            ) {
                .money($0.flow(of: notRenewing).amounts.gross)
            },
        ])
}
