extension Schema {
    /// The keys that entitlement tokens are signed with. They are kept as they are: whoever can
    /// read the database can read all that tokens say, too.
    static func tokenTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE token_keys (
                app \(type.text) NOT NULL,
                key_id \(type.text) NOT NULL,
                private_key \(type.bytes) NOT NULL CHECK (length(private_key) = 32),
                created_at_ms \(type.integer) NOT NULL,
                retired_at_ms \(type.integer),
                PRIMARY KEY (app, key_id)
            ) \(type.strictByKey)
            """
        ]
    }
}
