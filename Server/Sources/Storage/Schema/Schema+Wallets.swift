extension Schema {
    /// Debits from wallets, and credits by hand. Primary data: no document from the App Store
    /// contains them. What purchases credit is derived from facts.
    static func walletTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE debits (
                app \(type.text) NOT NULL,
                debit \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                customer \(type.text) NOT NULL,
                currency \(type.text) NOT NULL,
                amount \(type.integer) NOT NULL CHECK (amount > 0),
                reason \(type.text) NOT NULL,
                at_ms \(type.integer) NOT NULL,
                balance \(type.integer) NOT NULL,
                PRIMARY KEY (app, debit),
                FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
            ) \(type.strict)
            """,
            "CREATE INDEX debits_by_customer ON debits "
                + "(app, customer, environment, currency, at_ms, amount)",
        ]
    }

    /// The last reported balance of each wallet.
    static func reportedBalanceTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE wallets (
                app \(type.text) NOT NULL,
                customer \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                currency \(type.text) NOT NULL,
                balance \(type.integer) NOT NULL,
                PRIMARY KEY (app, customer, environment, currency),
                FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
            ) \(type.strictWithoutRowID)
            """
        ]
    }

    /// Credits by hand are rows of `debits`, because a request with an idempotency key is one of
    /// both, and what happens to a customer's debits happens to them as well. The index has all
    /// that a sum needs.
    static func handCreditColumns(_ type: Dialect) -> [String] {
        [
            "ALTER TABLE debits ADD COLUMN is_credit \(type.integer) NOT NULL DEFAULT 0",
            "DROP INDEX debits_by_customer",
            "CREATE INDEX debits_by_customer ON debits "
                + "(app, customer, environment, currency, at_ms, amount, is_credit)",
            "ALTER TABLE shown_wallet_entries ADD COLUMN credit \(type.text)",
        ] + walletEntryView(type)
    }

    /// PostgreSQL replaces a view in place, with the rights that owners gave others to it, if new
    /// columns follow the former ones.
    private static func walletEntryView(_ type: Dialect) -> [String] {
        let columns = """
            app, environment, customer AS customer_id, currency, number,
            \(type.timestamp("at_ms")) AS occurred_at, kind, transaction_id,
            product AS product_id, debit AS debit_id, reason, amount, balance,
            credit AS credit_id
            """
        let rows = "wallet_entries AS SELECT \(columns) FROM shown_wallet_entries"
        return switch type {
        case .sqlite: ["DROP VIEW wallet_entries", "CREATE VIEW \(rows)"]
        case .postgres: ["CREATE OR REPLACE VIEW \(rows)"]
        }
    }
}
