import Ledger

/// Reports from rows that contain only the present state, so they cannot show earlier knowledge.
extension ReportCatalogue {
    static let present = [churnReasons, wallets]

    private typealias Column = ReportDefinition.Column

    /// The reasons why subscriptions ended, in the order of ``CohortSum/numbers``. The last reason
    /// stands for subscriptions that came back. The reason of their end is not stored.
    package static let endings = [
        "cancelled", "billing", "price_not_agreed", "product_unavailable", "refunded", "other",
        "returned",
    ]

    static let churnReasons = ReportDefinition(
        name: "churn_reasons", version: 2, title: "Reasons of churn",
        sentence: "Why paid subscriptions ended.",
        cohort: .endings,
        columns: [
            Column("churned", .count, .computed, "Paid subscriptions that ended.") {
                .count($0.cohort.reduce(0, +))
            },
            reason(0, "Renewal was switched off."),
            reason(1, "The payment failed, and was not recovered."),
            reason(2, "The customer did not agree to a higher price."),
            reason(3, "The product was not for sale any more."),
            reason(4, "The customer got a refund."),
            reason(5, "Another reason, or the App Store did not say which."),
            reason(6, "The subscription began again after that end."),
        ])

    private static func reason(_ place: Int, _ sentence: String) -> ReportDefinition.Column {
        Column(endings[place], .count, .computed, sentence) { .count($0.cohort[place]) }
    }

    static let wallets = ReportDefinition(
        name: "wallets", version: 1, title: "Wallets",
        sentence: "What came into wallets and what was spent, for each wallet currency.",
        cohort: .wallets,
        columns: [
            Column("bought", .count, .computed, "Units that purchases brought.") {
                .count($0.cohort[0])
            },
            Column("refunded", .count, .computed, "Units that refunds took back: negative.") {
                .count($0.cohort[1])
            },
            Column("spent", .count, .computed, "Units that were debited: negative.") {
                .count($0.cohort[2])
            },
            Column("added", .count, .computed, "Units that came in another way.") {
                .count($0.cohort[3])
            },
            Column("closing", .count, .computed, "What was in all wallets at the end.") {
                .count($0.before.reduce(0, +) + $0.cohort.reduce(0, +))
            },
        ])
}
