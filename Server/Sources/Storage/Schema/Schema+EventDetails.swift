extension Schema {
    /// Events that can be read with SQL. `details` is the JSON of an event; `body`, which held the
    /// binary form before, is empty from now on. Earlier events have no `details`.
    ///
    /// `event_log` is for owners, not the program. It has the same columns on both engines, with
    /// the names and forms of the HTTP API, so that a query works on both. The table stores
    /// `details` as text, like every other text parameter; on PostgreSQL the view makes it JSON.
    static func eventDetailsColumns(_ type: Dialect) -> [String] {
        let tables = type == .sqlite ? ["events"] : ["events", "pending_events"]
        return tables.map { "ALTER TABLE \($0) ADD COLUMN details \(type.text)" } + [
            """
            CREATE VIEW event_log AS SELECT
                app, sequence, kind AS type, \(type.timestamp("told_at_ms")) AS known_at,
                customer AS customer_id, customer_sequence, environment,
                purchase AS original_transaction_id, \(type.hexadecimal("document")) AS document_id,
                \(type == .sqlite ? "details" : "CAST(details AS JSON) AS details")
            FROM events
            """
        ]
    }
}

extension Dialect {
    /// A column of milliseconds since 1970, as RFC 3339 text.
    func timestamp(_ column: String) -> String {
        switch self {
        case .sqlite: "strftime('%Y-%m-%dT%H:%M:%fZ', \(column) / 1000.0, 'unixepoch')"
        case .postgres:
            "to_char(to_timestamp(\(column) / 1000.0) AT TIME ZONE 'UTC', "
                + "'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
        }
    }

    fileprivate func hexadecimal(_ column: String) -> String {
        self == .sqlite ? "nullif(lower(hex(\(column))), '')" : "encode(\(column), 'hex')"
    }
}
