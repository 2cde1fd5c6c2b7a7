extension Schema {
    /// Ids that were separated from a customer. Primary data: an erasure uses it to find the events
    /// of everyone who had the erased person's id.
    static func removedIDTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE IF NOT EXISTS parted_ids (
                app \(type.text) NOT NULL,
                id \(type.text) NOT NULL,
                customer \(type.text) NOT NULL,
                parted_at_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, id, customer)
            ) \(type.strictWithoutRowID)
            """
        ]
    }
}
