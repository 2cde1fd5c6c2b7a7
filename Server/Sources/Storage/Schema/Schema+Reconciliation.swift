extension Schema {
    /// The state of the connection to the App Store, by app and environment.
    static func appStoreTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE app_stores (
                app \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                answered_at_ms \(type.integer),
                failures \(type.integer) NOT NULL,
                paused_until_ms \(type.integer) NOT NULL,
                busy_until_ms \(type.integer) NOT NULL,
                caught_up_to_ms \(type.integer),
                lease_until_ms \(type.integer) NOT NULL,
                lease_holder \(type.text),
                PRIMARY KEY (app, environment)
            ) \(type.strictWithoutRowID)
            """
        ]
    }
}
