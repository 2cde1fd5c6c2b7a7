extension Schema {
    /// What MRR is made of, and what customers have promised. Rows of earlier versions have zero
    /// until they are derived again, because the rules of money have changed with this step.
    static func monthlyPartColumns(_ type: Dialect) -> [String] {
        ["mrr_tax", "mrr_commission", "mrr_of_four_weeks", "contracted", "promised"].map {
            "ALTER TABLE money_movements ADD COLUMN \($0) \(type.integer) NOT NULL DEFAULT 0"
        } + [
            "DROP VIEW movements",
            """
            CREATE VIEW movements AS SELECT
                app, environment, purchase AS original_transaction_id, transaction_id, kind,
                \(type.timestamp("at_ms")) AS occurred_at,
                \(type.timestamp("known_at_ms")) AS known_at,
                \(type.timestamp("replaced_at_ms")) AS replaced_at,
                product AS product_id, subscription_group, storefront, offer_kind,
                offer AS offer_id, currency, gross AS gross_milliunits,
                refunded AS refunded_milliunits, tax AS tax_milliunits,
                commission AS commission_milliunits, mrr AS mrr_milliunits, payments, active,
                trials, grace, retry, not_renewing, mrr_tax AS mrr_tax_milliunits,
                mrr_commission AS mrr_commission_milliunits,
                mrr_of_four_weeks AS mrr_of_four_weeks_milliunits,
                contracted AS contracted_milliunits, promised AS promised_milliunits
            FROM money_movements
            """,
        ]
    }
}
