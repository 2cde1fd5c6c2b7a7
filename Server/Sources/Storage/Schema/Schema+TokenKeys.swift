extension Schema {
    /// The keys that sign entitlement tokens, stored unencrypted: whoever can read the database can
    /// also read everything that the tokens contain.
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
            ) \(type.strictWithoutRowID)
            """
        ]
    }

    /// Marks the key that is published before it signs. A server of an earlier version that is
    /// still running signs with it at once, which is harmless.
    static func preparedKeyColumns(_ type: Dialect) -> [String] {
        ["ALTER TABLE token_keys ADD COLUMN is_prepared \(type.integer) NOT NULL DEFAULT 0"]
    }
}
