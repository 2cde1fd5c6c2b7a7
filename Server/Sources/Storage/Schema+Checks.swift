extension Schema {
    /// When the store is to be asked about a purchase, and how asking about it went.
    ///
    /// `due_at_ms` follows from the timeline and from the other columns; a rebuild makes it again.
    /// A lease ends by the clock of the database, all other times are the servers'.
    ///
    /// `due_at_ms` is never null, but must not say so: else SQLite, which then takes the condition
    /// of the index by it for nothing, does not see that a search by it fulfils the condition.
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

    /// How asking each store goes.
    static func storeTables(_ type: Dialect) -> [String] {
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
            ) \(type.strictByKey)
            """
        ]
    }
}
