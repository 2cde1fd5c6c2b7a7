extension Schema {
    /// Debits from wallets. Primary data: no document from the App Store contains them. Credits are
    /// derived from facts.
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
}
