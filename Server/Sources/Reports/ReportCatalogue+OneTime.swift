import Ledger

extension ReportCatalogue {
    private typealias Column = ReportDefinition.Column

    static let oneTime = ReportDefinition(
        name: "one_time", version: 1, title: "Purchases that do not renew",
        sentence: "How many products without renewal were bought, and for how much.",
        columns: [
            count("consumables", .consumable, "Purchases of consumables."),
            gross("consumables_gross", .consumable, "What was charged for them."),
            count(
                "non_consumables", .nonConsumable,
                "Purchases of products that customers keep for good."),
            gross("non_consumables_gross", .nonConsumable, "What was charged for them."),
            count(
                "non_renewing", .nonRenewing, "Purchases of stretches of time that do not renew."),
            gross("non_renewing_gross", .nonRenewing, "What was charged for them."),
        ])

    private static func count(
        _ name: String, _ kind: Movement.Kind, _ sentence: String
    ) -> ReportDefinition.Column {
        Column(name, .count, .flow([kind]), sentence) {
            .count($0.flow(of: kind).counts.payments)
        }
    }

    private static func gross(
        _ name: String, _ kind: Movement.Kind, _ sentence: String
    ) -> ReportDefinition.Column {
        Column(name, .money, .flow([kind]), sentence) {
            .money($0.flow(of: kind).amounts.gross)
        }
    }
}
