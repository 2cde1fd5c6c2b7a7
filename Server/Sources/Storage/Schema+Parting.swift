extension Schema {
    /// Ids that were parted from a customer. It is ground: where a person is forgotten, the events
    /// of whoever had their id are found by it.
    static func partingTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE IF NOT EXISTS parted_ids (
                app \(type.text) NOT NULL,
                id \(type.text) NOT NULL,
                customer \(type.text) NOT NULL,
                parted_at_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, id, customer)
            ) \(type.strictByKey)
            """
        ]
    }
}
