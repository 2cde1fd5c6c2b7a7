extension CopiedTable {
    /// Tables about money, which people and reports read.
    static let money = [
        CopiedTable(
            name: "money_transactions", key: ["app", "environment", "purchase", "number"],
            others: [
                "transaction_id", "line", "product", "subscription_group", "storefront",
                "offer_kind", "offer", "price",
                "currency", "kind", "terms", "ownership", "quantity",
                "is_renewal", "from_ms", "until_ms", "ended_at_ms", "gross", "tax",
                "commission_rate", "commission", "refunded_at_ms", "refunded", "refunded_tax",
                "refunded_commission", "seats", "price_tiers", "revoked_seats",
            ]),
        CopiedTable(
            name: "money_movements",
            key: [
                "app", "environment", "purchase", "at_ms", "kind", "transaction_id", "known_at_ms",
            ],
            others: [
                "replaced_at_ms", "day", "product", "subscription_group", "storefront",
                "offer_kind", "offer", "price",
                "currency", "gross", "refunded", "tax", "commission", "mrr",
                "payments", "active", "trials", "grace", "retry", "not_renewing",
                "mrr_tax", "mrr_commission", "mrr_of_four_weeks", "contracted", "promised", "seats",
            ]),
        CopiedTable(
            name: "money_subscriptions", key: ["app", "environment", "purchase"],
            others: [
                "transaction_id", "product", "subscription_group", "storefront", "offer_kind",
                "offer", "price",
                "currency", "ownership", "state", "until_ms", "changes_at_ms",
                "will_renew", "renews_to", "grace_until_ms", "period_from_ms", "period_until_ms",
                "first_paid_at_ms", "ended_because", "seats", "seats_at_renewal",
            ]),
        CopiedTable(
            name: "apple_reports", key: ["app", "kind", "first_day", "last_day", "digest"],
            others: ["name", "rows_count", "imported_at_ms", "content"]),
        CopiedTable(
            name: "money_fills", key: ["app"],
            others: ["rules", "environment", "purchase", "filled"]),
        CopiedTable(
            name: "money_sums",
            key: [
                "app", "environment", "division", "span", "first_day", "kind", "currency", "part",
            ],
            others: [
                "movements", "gross", "refunded", "tax", "commission", "mrr", "payments", "active",
                "trials", "grace", "retry", "not_renewing", "mrr_tax", "mrr_commission",
                "mrr_of_four_weeks", "contracted", "promised", "seats",
            ]),
        CopiedTable(
            name: "money_cohorts",
            key: [
                "app", "environment", "cohort", "span", "first_day", "began_day", "currency",
                "place",
            ],
            others: ["number"]),
        CopiedTable(
            name: "money_changes", key: ["app", "environment", "purchase", "known_at_ms"],
            others: ["changes"]),
        CopiedTable(
            name: "money_sum_fills", key: ["app"],
            others: ["layout", "environment", "purchase", "filled"]),
    ]

    /// Tables about customers, which operators read.
    static let shown = [
        CopiedTable(
            name: "shown_entitlements", key: ["app", "environment", "customer", "entitlement"],
            others: [
                "state", "is_active", "until_ms", "changes_at_ms", "will_renew", "product",
                "purchase", "grant_id",
            ]),
        CopiedTable(
            name: "shown_wallet_entries",
            key: ["app", "environment", "customer", "currency", "number"],
            others: [
                "at_ms", "kind", "transaction_id", "product", "debit", "credit", "reason",
                "amount", "balance",
            ]),
        CopiedTable(
            name: "showings", key: ["app"], others: ["rules", "customer", "shown", "sequence"]),
    ]
}
