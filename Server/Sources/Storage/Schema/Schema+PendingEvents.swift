extension Schema {
    /// Events that are committed but not yet numbered: see
    /// ``DatabaseSession/numberEvents(of:isWaiting:)``. Only on PostgreSQL: SQLite has one writer,
    /// which numbers its events at once.
    ///
    /// `position` comes from a sequence object, which never makes a transaction wait. The sequence
    /// has no cache, so a transaction that has seen the rows of another one gets a greater
    /// position. The table is nearly always empty, so its dead rows must be removed often.
    static func pendingTables(_ type: Dialect) -> [String] {
        guard type == .postgres else { return [] }
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
            """
        ]
    }
}
