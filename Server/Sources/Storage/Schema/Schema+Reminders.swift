extension Schema {
    /// Which customers to remind before their terms end, and which reminders were emitted.
    static func reminderTables(_ type: Dialect) -> [String] {
        [
            // Primary data: a reminder recorded here is never emitted again. `subject` is the
            // customer or, while a purchase has no owner, its account token.
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
            ) \(type.strictWithoutRowID)
            """,
            // When to check whether a reminder is due; 0 means that something has changed.
            """
            CREATE TABLE term_watches (
                app \(type.text) NOT NULL,
                subject \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                due_at_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, subject, environment)
            ) \(type.strictWithoutRowID)
            """,
            "CREATE INDEX term_watches_by_due ON term_watches (app, due_at_ms)",
            // The reminder rules by which the watches were set. When the rules change, every
            // customer is examined again: `swept_to` is the progress, null when finished.
            """
            CREATE TABLE reminder_rules (
                app \(type.text) NOT NULL,
                rules \(type.text) NOT NULL,
                swept_to \(type.text),
                PRIMARY KEY (app)
            ) \(type.strictWithoutRowID)
            """,
        ]
    }
}
