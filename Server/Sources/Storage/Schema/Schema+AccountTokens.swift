extension Schema {
    /// Ids that the server made for its customers, to be set as account tokens.
    static func accountTokenColumns(_ type: Dialect) -> [String] {
        [
            "ALTER TABLE customer_ids "
                + "ADD COLUMN is_account_token \(type.integer) NOT NULL DEFAULT 0"
        ]
    }
}
