extension Schema {
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

    /// The state of the connection to the App Store, by app and environment.
    static func appStoreTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE app_stores (
                app \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                answered_at_ms \(type.integer),
                failures \(type.integer) NOT NULL,
                paused_until_ms \(type.integer) NOT NULL,
                busy_until_ms \(type.integer) NOT NULL,
                caught_up_to_ms \(type.integer),
                lease_until_ms \(type.integer) NOT NULL,
                lease_holder \(type.text),
                PRIMARY KEY (app, environment)
            ) \(type.strictWithoutRowID)
            """
        ]
    }
}
