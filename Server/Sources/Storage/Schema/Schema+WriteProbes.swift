extension Schema {
    /// One row, belonging to no app, that is written to test whether the database accepts writes.
    /// It carries no information and is not copied.
    static func probeTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE IF NOT EXISTS write_probes (
                app \(type.text) NOT NULL,
                at_ms \(type.integer) NOT NULL,
                filler \(type.bytes) NOT NULL,
                PRIMARY KEY (app)
            ) \(type.strict)
            """
        ]
    }
}
