extension Schema {
    /// One row, of no app, which is written to learn whether the database writes. It means nothing
    /// and is not copied.
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
