/// The table `purchases`. Its steps were released, so they stay as they are: a new column is a new
/// step at the end of ``Schema/migrations(_:)``, with `ALTER TABLE purchases ADD COLUMN`, as in
/// ``Schema/documentIDTables(_:)``.
extension Schema {
    static func purchaseTable(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE purchases (
                app \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text) NOT NULL,
                account_token \(type.text),
                timeline \(type.bytes) NOT NULL,
                \(checkColumns(type)),
                \(reportedColumns(type)),
                PRIMARY KEY (app, environment, purchase)
            ) \(type.strict)
            """,
            // None of these serves a search by the primary key, which does not include these
            // columns.
            "CREATE INDEX purchases_by_account_token "
                + "ON purchases (app, account_token, environment) WHERE account_token IS NOT NULL",
            "CREATE INDEX purchases_by_due "
                + "ON purchases (app, environment, due_at_ms) WHERE due_at_ms IS NOT NULL",
            "CREATE INDEX purchases_by_turn "
                + "ON purchases (app, turns_at_ms) WHERE turns_at_ms IS NOT NULL",
        ]
    }

    /// When to check a purchase with the App Store, and how earlier checks went.
    ///
    /// `due_at_ms` is computed from the timeline and the other columns; a rebuild computes it
    /// again. Leases use the database's clock; all other times are the servers'.
    ///
    /// `due_at_ms` is never null, but must not be declared NOT NULL: SQLite would then drop the
    /// condition of the partial index as redundant, and would not see that a search by `due_at_ms`
    /// satisfies it.
    static func checkColumns(_ type: Dialect) -> String {
        """
        due_at_ms \(type.integer),
            known_at_ms \(type.integer) NOT NULL,
            asked_at_ms \(type.integer),
            failed_at_ms \(type.integer),
            failures \(type.integer) NOT NULL,
            revision \(type.text),
            lease_until_ms \(type.integer) NOT NULL,
            lease_holder \(type.text)
        """
    }

    /// The state of a purchase last reported in the log, and when time alone will change it; null
    /// means never.
    static func reportedColumns(_ type: Dialect) -> String {
        """
        told \(type.bytes),
            turns_at_ms \(type.integer)
        """
    }
}
