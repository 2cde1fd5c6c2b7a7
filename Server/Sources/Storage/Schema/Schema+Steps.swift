extension Schema.Step {
    /// Adds the attributes of customers, with their view.
    static let customerAttributes = Schema.Step(name: "attributes of customers") { dialect in
        let (text, integer) = (dialect.text, dialect.integer)
        let ending = dialect == .sqlite ? ") STRICT, WITHOUT ROWID" : ")"
        let updatedAt =
            dialect == .sqlite
            ? "strftime('%Y-%m-%dT%H:%M:%fZ', updated_at_ms / 1000.0, 'unixepoch')"
            : "to_char(to_timestamp(updated_at_ms / 1000.0) AT TIME ZONE 'UTC', "
                + "'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
        return [
            """
            CREATE TABLE customer_attributes (
                app \(text) NOT NULL,
                customer \(text) NOT NULL,
                name \(text) NOT NULL,
                value \(text),
                updated_at_ms \(integer) NOT NULL,
                author \(text) NOT NULL CHECK (author IN ('app', 'server')),
                mail_address \(text),
                PRIMARY KEY (app, customer, name),
                FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
            \(ending)
            """,
            """
            CREATE INDEX customer_attributes_by_mail_address
                ON customer_attributes (app, mail_address, customer) WHERE mail_address IS NOT NULL
            """,
            """
            CREATE VIEW attributes AS SELECT
                app, customer AS customer_id, name, value, \(updatedAt) AS updated_at, author
            FROM customer_attributes WHERE value IS NOT NULL
            """,
        ]
    }
}
