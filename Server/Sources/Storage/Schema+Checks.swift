extension Schema {
    /// When the store is to be asked about each purchase, and how asking it goes.
    ///
    /// `due_at_ms` follows from the timeline and from the other columns; a rebuild makes it again.
    /// A lease ends by the clock of the database, all other times are the servers'.
    static func checkTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE checks (
                app \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text) NOT NULL,
                due_at_ms \(type.integer) NOT NULL,
                known_at_ms \(type.integer) NOT NULL,
                asked_at_ms \(type.integer),
                failed_at_ms \(type.integer),
                failures \(type.integer) NOT NULL,
                revision \(type.text),
                lease_until_ms \(type.integer) NOT NULL,
                lease_holder \(type.text),
                PRIMARY KEY (app, environment, purchase)
            ) \(type.strict)
            """,
            "CREATE INDEX checks_by_due ON checks (app, environment, due_at_ms)",
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
            ) \(type.strict)
            """,
            // Purchases of before this step have never been asked about.
            """
            INSERT INTO checks
            SELECT app, environment, purchase, max(attested_at_ms), max(attested_at_ms), NULL, NULL,
                0, NULL, 0, NULL
            FROM facts GROUP BY app, environment, purchase
            """,
        ]
    }
}
