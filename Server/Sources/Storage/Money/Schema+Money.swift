extension Schema {
    /// Rows about money that people and reports read. All of them are derived from facts, and
    /// nothing in them is needed to answer what a customer may use.
    ///
    /// Owners read the views, which have the names and forms of the HTTP API; the program reads the
    /// tables.
    static func moneyTables(_ type: Dialect) -> [String] {
        [
            transactionTable(type), movementTable(type), subscriptionTable(type), fillTable(type),
            appleReportTable(type),
        ] + moneyIndexes + moneyViews(type)
    }

    private static func purchaseColumns(_ type: Dialect) -> String {
        """
        app \(type.text) NOT NULL,
            environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
            purchase \(type.text) NOT NULL
        """
    }

    /// What reports are divided by.
    private static func segmentColumns(_ type: Dialect) -> String {
        """
        product \(type.text) NOT NULL,
            subscription_group \(type.text),
            storefront \(type.text),
            offer_kind \(type.text),
            offer \(type.text),
            price \(type.integer),
            currency \(type.text)
        """
    }

    /// One row for each transaction; `number` counts them within the purchase.
    private static func transactionTable(_ type: Dialect) -> String {
        """
        CREATE TABLE money_transactions (
            \(purchaseColumns(type)),
            number \(type.integer) NOT NULL,
            transaction_id \(type.text) NOT NULL,
            line \(type.text),
            \(segmentColumns(type)),
            kind \(type.text) NOT NULL,
            terms \(type.text) NOT NULL,
            ownership \(type.text) NOT NULL,
            quantity \(type.integer) NOT NULL,
            is_renewal \(type.integer) NOT NULL,
            from_ms \(type.integer) NOT NULL,
            until_ms \(type.integer),
            ended_at_ms \(type.integer),
            gross \(type.integer) NOT NULL,
            tax \(type.integer) NOT NULL,
            commission_rate \(type.integer) NOT NULL,
            commission \(type.integer) NOT NULL,
            refunded_at_ms \(type.integer),
            refunded \(type.integer) NOT NULL,
            refunded_tax \(type.integer) NOT NULL,
            refunded_commission \(type.integer) NOT NULL,
            PRIMARY KEY (app, environment, purchase, number)
        ) \(type.strictWithoutRowID)
        """
    }

    /// What each purchase changed in the numbers, and from when to when that was known. `day` is
    /// the day of `at_ms` in the owner's time zone, counted from 1970-01-01.
    private static func movementTable(_ type: Dialect) -> String {
        """
        CREATE TABLE money_movements (
            \(purchaseColumns(type)),
            at_ms \(type.integer) NOT NULL,
            kind \(type.text) NOT NULL,
            transaction_id \(type.text) NOT NULL,
            known_at_ms \(type.integer) NOT NULL,
            replaced_at_ms \(type.integer),
            day \(type.integer) NOT NULL,
            \(segmentColumns(type)),
            gross \(type.integer) NOT NULL,
            refunded \(type.integer) NOT NULL,
            tax \(type.integer) NOT NULL,
            commission \(type.integer) NOT NULL,
            mrr \(type.integer) NOT NULL,
            payments \(type.integer) NOT NULL,
            active \(type.integer) NOT NULL,
            trials \(type.integer) NOT NULL,
            grace \(type.integer) NOT NULL,
            retry \(type.integer) NOT NULL,
            not_renewing \(type.integer) NOT NULL,
            PRIMARY KEY (app, environment, purchase, at_ms, kind, transaction_id, known_at_ms)
        ) \(type.strictWithoutRowID)
        """
    }

    /// One row for each subscription, in its state when something last changed. At `changes_at_ms`
    /// time alone changes it.
    private static func subscriptionTable(_ type: Dialect) -> String {
        """
        CREATE TABLE money_subscriptions (
            \(purchaseColumns(type)),
            transaction_id \(type.text) NOT NULL,
            \(segmentColumns(type)),
            ownership \(type.text) NOT NULL,
            state \(type.text),
            until_ms \(type.integer),
            changes_at_ms \(type.integer),
            will_renew \(type.integer),
            renews_to \(type.text),
            grace_until_ms \(type.integer),
            period_from_ms \(type.integer) NOT NULL,
            period_until_ms \(type.integer),
            first_paid_at_ms \(type.integer),
            ended_because \(type.text),
            PRIMARY KEY (app, environment, purchase)
        ) \(type.strictWithoutRowID)
        """
    }

    /// By which rules the rows of an app are derived, and how far: the last purchase that was
    /// filled, and null in the end.
    private static func fillTable(_ type: Dialect) -> String {
        """
        CREATE TABLE money_fills (
            app \(type.text) NOT NULL PRIMARY KEY,
            rules \(type.text) NOT NULL,
            environment \(type.text),
            purchase \(type.text),
            filled \(type.integer) NOT NULL
        ) \(type.strict)
        """
    }

    /// The text of the App Store's own report files, byte for byte. Primary data: Apple keeps them
    /// for a year, and never makes them again. Days are counted from 1970-01-01.
    private static func appleReportTable(_ type: Dialect) -> String {
        """
        CREATE TABLE apple_reports (
            app \(type.text) NOT NULL,
            kind \(type.text) NOT NULL,
            first_day \(type.integer) NOT NULL,
            last_day \(type.integer) NOT NULL,
            digest \(type.bytes) NOT NULL CHECK (length(digest) = 32),
            name \(type.text) NOT NULL,
            rows_count \(type.integer) NOT NULL,
            imported_at_ms \(type.integer) NOT NULL,
            content \(type.bytes) NOT NULL,
            PRIMARY KEY (app, kind, first_day, last_day, digest)
        ) \(type.strict)
        """
    }

    private static let moneyIndexes = [
        "CREATE INDEX money_movements_by_day ON money_movements (app, environment, day)",
        "CREATE INDEX money_transactions_by_time ON money_transactions "
            + "(app, environment, from_ms, purchase)",
        "CREATE INDEX money_subscriptions_by_state ON money_subscriptions "
            + "(app, environment, state, purchase)",
    ]

    private static func moneyViews(_ type: Dialect) -> [String] {
        [
            """
            CREATE VIEW subscriptions AS SELECT
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
                \(type.timestamp("shown.first_paid_at_ms")) AS first_paid_at, shown.ended_because
            FROM money_subscriptions AS shown \(owners)
            """,
            """
            CREATE VIEW transactions AS SELECT
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
                \(type.timestamp("shown.refunded_at_ms")) AS refunded_at
            FROM money_transactions AS shown \(owners)
            """,
            """
            CREATE VIEW customer_summaries AS SELECT
                app, environment, customer_id, currency, count(*) AS transactions,
                min(purchased_at) AS first_purchased_at, max(purchased_at) AS last_purchased_at,
                CAST(sum(price_milliunits) AS \(type.integer)) AS price_milliunits,
                CAST(sum(refunded_milliunits) AS \(type.integer)) AS refunded_milliunits
            FROM transactions WHERE customer_id IS NOT NULL
            GROUP BY app, environment, customer_id, currency
            """,
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
                trials, grace, retry, not_renewing
            FROM money_movements
            """,
        ]
    }

    /// Joins the customer to whom a purchase is linked.
    private static let owners =
        "LEFT JOIN links ON links.app = shown.app AND links.environment = shown.environment "
        + "AND links.purchase = shown.purchase"
}
