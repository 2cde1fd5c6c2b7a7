extension Schema {
    static func eventTables(_ type: Dialect) -> [String] {
        [
            // The number of events in each app's log. A transaction that numbers events locks this
            // row.
            """
            CREATE TABLE logs (
                app \(type.text) NOT NULL,
                last_sequence \(type.integer) NOT NULL,
                PRIMARY KEY (app)
            ) \(type.strict)
            """,
            """
            CREATE TABLE events (
                app \(type.text) NOT NULL,
                sequence \(type.integer) NOT NULL,
                customer \(type.text),
                customer_sequence \(type.integer),
                environment \(type.text) CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text),
                kind \(type.text) NOT NULL,
                told_at_ms \(type.integer) NOT NULL,
                document \(type.bytes),
                body \(type.bytes) NOT NULL,
                PRIMARY KEY (app, sequence)
            ) \(type.strict)
            """,
            "CREATE UNIQUE INDEX events_by_customer "
                + "ON events (app, customer, customer_sequence) WHERE customer IS NOT NULL",
        ]
    }
}
