extension Schema {
    /// What customers may use, and what is in their wallets, as rows that owners read. They follow
    /// from everything else, and are written again when the log says that something has changed.
    static func shownTables(_ type: Dialect) -> [String] {
        [
            shownEntitlementTable(type), shownEntryTable(type), showingTable(type),
            "CREATE INDEX shown_entitlements_by_change ON shown_entitlements "
                + "(app, changes_at_ms) WHERE changes_at_ms IS NOT NULL",
        ] + shownViews(type)
    }

    /// One row for each entitlement that a customer has or had. At `changes_at_ms` time alone
    /// changes it.
    private static func shownEntitlementTable(_ type: Dialect) -> String {
        """
        CREATE TABLE shown_entitlements (
            app \(type.text) NOT NULL,
            environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
            customer \(type.text) NOT NULL,
            entitlement \(type.text) NOT NULL,
            state \(type.text) NOT NULL,
            is_active \(type.integer) NOT NULL,
            until_ms \(type.integer),
            changes_at_ms \(type.integer),
            will_renew \(type.integer),
            product \(type.text),
            purchase \(type.text),
            grant_id \(type.text),
            PRIMARY KEY (app, environment, customer, entitlement)
        ) \(type.strictWithoutRowID)
        """
    }

    /// One row for each entry of a wallet; `number` counts them from 0.
    private static func shownEntryTable(_ type: Dialect) -> String {
        """
        CREATE TABLE shown_wallet_entries (
            app \(type.text) NOT NULL,
            environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
            customer \(type.text) NOT NULL,
            currency \(type.text) NOT NULL,
            number \(type.integer) NOT NULL,
            at_ms \(type.integer) NOT NULL,
            kind \(type.text) NOT NULL,
            transaction_id \(type.text),
            product \(type.text),
            debit \(type.text),
            reason \(type.text),
            amount \(type.integer) NOT NULL,
            balance \(type.integer) NOT NULL,
            PRIMARY KEY (app, environment, customer, currency, number)
        ) \(type.strictWithoutRowID)
        """
    }

    /// By which settings the rows of an app were written, up to which customer, and null when all
    /// are; and up to which event of the log.
    private static func showingTable(_ type: Dialect) -> String {
        """
        CREATE TABLE showings (
            app \(type.text) NOT NULL PRIMARY KEY,
            rules \(type.text) NOT NULL,
            customer \(type.text),
            shown \(type.integer) NOT NULL,
            sequence \(type.integer) NOT NULL
        ) \(type.strict)
        """
    }

    private static func shownViews(_ type: Dialect) -> [String] {
        [
            """
            CREATE VIEW entitlements AS SELECT
                app, environment, customer AS customer_id, entitlement, state, is_active,
                \(type.timestamp("until_ms")) AS expires_at,
                \(type.timestamp("changes_at_ms")) AS changes_at,
                will_renew, product AS product_id, purchase AS original_transaction_id, grant_id
            FROM shown_entitlements
            """,
            """
            CREATE VIEW wallet_entries AS SELECT
                app, environment, customer AS customer_id, currency, number,
                \(type.timestamp("at_ms")) AS occurred_at, kind, transaction_id,
                product AS product_id, debit AS debit_id, reason, amount, balance
            FROM shown_wallet_entries
            """,
        ]
    }
}
