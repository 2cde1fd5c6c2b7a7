extension Schema {
    /// Ids that the server made for its customers, to be set as account tokens. The index contains
    /// everything that is read of a customer's ids.
    static func accountTokenColumns(_ type: Dialect) -> [String] {
        [
            "ALTER TABLE customer_ids "
                + "ADD COLUMN is_account_token \(type.integer) NOT NULL DEFAULT 0",
            "DROP INDEX customer_ids_by_customer",
            "CREATE INDEX customer_ids_by_customer "
                + "ON customer_ids (app, customer, since_ms, id, is_account_token)",
        ]
    }
}
