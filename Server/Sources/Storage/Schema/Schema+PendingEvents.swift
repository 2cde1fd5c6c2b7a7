extension Schema {
    /// Events that are committed but not yet numbered: see
    /// ``DatabaseSession/numberEvents(of:isWaiting:)``. Only on PostgreSQL: SQLite has one writer,
    /// which numbers its events at once.
    ///
    /// `position` comes from a sequence object, which never makes a transaction wait. The sequence
    /// has no cache, so a transaction that has seen the rows of another one gets a greater
    /// position. The table is nearly always empty, so its dead rows must be removed often.
    ///
    /// `customers.last_sequence` and `turns` were used by earlier versions to number events. They
    /// are dropped, so that a server of an earlier version that still runs cannot write events: it
    /// would number them wrongly.
    static func pendingTables(_ type: Dialect) -> [String] {
        let dropped = "ALTER TABLE customers DROP COLUMN last_sequence"
        guard type == .postgres else { return [dropped] }
        return [
            """
            CREATE TABLE pending_events (
                app \(type.text) NOT NULL,
                position \(type.integer) NOT NULL GENERATED ALWAYS AS IDENTITY (CACHE 1),
                customer \(type.text),
                environment \(type.text) CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text),
                kind \(type.text) NOT NULL,
                told_at_ms \(type.integer) NOT NULL,
                document \(type.bytes),
                body \(type.bytes) NOT NULL,
                PRIMARY KEY (app, position)
            ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000)
            """,
            dropped, "DROP TABLE turns",
        ]
    }
}
