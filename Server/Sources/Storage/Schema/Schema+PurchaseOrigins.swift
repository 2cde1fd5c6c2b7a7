extension Schema {
    /// Where in the app transactions were bought, as the app said when it posted them. Primary
    /// data: no document contains it.
    static func purchaseOriginTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE purchase_origins (
                app \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text) NOT NULL,
                transaction_id \(type.text) NOT NULL,
                placement \(type.text),
                sdk \(type.text),
                storefront \(type.text),
                posted_at_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, environment, purchase, transaction_id)
            ) \(type.strictWithoutRowID)
            """
        ]
    }
}
