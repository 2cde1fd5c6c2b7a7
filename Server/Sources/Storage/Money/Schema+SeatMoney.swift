extension Schema {
    /// How many seats were bought, what each cost, and how many people subscriptions are paid for.
    /// Rows of earlier versions have none until they are derived again, because the rules of money
    /// have changed with this step. Waiting changes of sums, which had another form, are deleted
    /// unread when the sums are made again.
    static func seatMoneyColumns(_ type: Dialect) -> [String] {
        let columns = [
            ("money_transactions", "seats \(type.integer)"),
            ("money_transactions", "price_tiers \(type.text)"),
            ("money_transactions", "revoked_seats \(type.integer)"),
            ("money_subscriptions", "seats \(type.integer)"),
            ("money_subscriptions", "seats_at_renewal \(type.integer)"),
            ("money_movements", "seats \(type.integer) NOT NULL DEFAULT 0"),
            ("money_sums", "seats \(type.integer) NOT NULL DEFAULT 0"),
        ]
        return columns.map { "ALTER TABLE \($0) ADD COLUMN \($1)" }
            + seatMoneyViews(type)
    }

    /// The views with the new columns at their ends. PostgreSQL keeps who may read a view that is
    /// replaced.
    private static func seatMoneyViews(_ type: Dialect) -> [String] {
        switch type {
        case .sqlite:
            ["subscriptions", "transactions", "movements"].map { "DROP VIEW \($0)" }
                + seatMoneySelects(type).map { "CREATE VIEW \($0)" }
        case .postgres: seatMoneySelects(type).map { "CREATE OR REPLACE VIEW \($0)" }
        }
    }

    private static func seatMoneySelects(_ type: Dialect) -> [String] {
        [
            """
            subscriptions AS SELECT
                shown.app, links.customer AS customer_id,
                shown.environment, shown.purchase AS original_transaction_id, shown.transaction_id,
                shown.product AS product_id, shown.subscription_group, shown.state,
                \(type.timestamp("shown.until_ms")) AS expires_at,
                \(type.timestamp("shown.changes_at_ms")) AS changes_at,
                shown.will_renew, shown.renews_to,
                \(type.timestamp("shown.grace_until_ms")) AS grace_until,
                shown.price AS price_milliunits, shown.currency, shown.storefront, shown.offer_kind,
                shown.offer AS offer_id, shown.ownership,
                \(type.timestamp("shown.period_from_ms")) AS period_began_at,
                \(type.timestamp("shown.period_until_ms")) AS period_ends_at,
                \(type.timestamp("shown.first_paid_at_ms")) AS first_paid_at, shown.ended_because,
                shown.seats, shown.seats_at_renewal
            FROM money_subscriptions AS shown \(seatMoneyOwners)
            """,
            """
            transactions AS SELECT
                shown.app, links.customer AS customer_id,
                shown.environment, shown.purchase AS original_transaction_id, shown.transaction_id,
                shown.line AS order_line_id, shown.product AS product_id, shown.subscription_group,
                shown.kind, shown.terms, shown.ownership, shown.quantity, shown.is_renewal,
                shown.storefront, shown.offer_kind, shown.offer AS offer_id,
                \(type.timestamp("shown.from_ms")) AS purchased_at,
                \(type.timestamp("shown.until_ms")) AS expires_at,
                \(type.timestamp("shown.ended_at_ms")) AS ended_at,
                shown.currency, shown.gross AS price_milliunits, shown.tax AS tax_milliunits,
                shown.commission_rate AS commission_thousandths_of_percent,
                shown.commission AS commission_milliunits,
                shown.gross - shown.tax - shown.commission AS proceeds_milliunits,
                shown.refunded AS refunded_milliunits,
                \(type.timestamp("shown.refunded_at_ms")) AS refunded_at,
                shown.seats, shown.price_tiers, shown.revoked_seats
            FROM money_transactions AS shown \(seatMoneyOwners)
            """,
            """
            movements AS SELECT
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
                contracted AS contracted_milliunits, promised AS promised_milliunits, seats
            FROM money_movements
            """,
        ]
    }

    private static let seatMoneyOwners =
        "LEFT JOIN links ON links.app = shown.app AND links.environment = shown.environment "
        + "AND links.purchase = shown.purchase"
}
