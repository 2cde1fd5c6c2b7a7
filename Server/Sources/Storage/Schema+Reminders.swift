extension Schema {
    /// Who is to be told before their terms end, and what each was told.
    static func reminderTables(_ type: Dialect) -> [String] {
        [
            // Ground: what stands here is never told again. `subject` is the customer, or while a
            // purchase is nobody's, the account token that it names.
            """
            CREATE TABLE reminders (
                app \(type.text) NOT NULL,
                subject \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                chain \(type.text) NOT NULL,
                until_ms \(type.integer) NOT NULL,
                days_before \(type.integer) NOT NULL,
                told_at_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, subject, environment, chain, until_ms, days_before)
            ) \(type.strictByKey)
            """,
            // When to look whether there is something to tell; 0: something has changed.
            """
            CREATE TABLE term_watches (
                app \(type.text) NOT NULL,
                subject \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                due_at_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, subject, environment)
            ) \(type.strictByKey)
            """,
            "CREATE INDEX term_watches_by_due ON term_watches (app, due_at_ms)",
            // By which rules the watches were set. Where they have changed every customer is looked
            // at again: `swept_to` says how far that is, null that it is done.
            """
            CREATE TABLE reminder_rules (
                app \(type.text) NOT NULL,
                rules \(type.text) NOT NULL,
                swept_to \(type.text),
                PRIMARY KEY (app)
            ) \(type.strictByKey)
            """,
        ]
    }
}
