extension Schema {
    /// Ownership of purchases, past and present, and manual grants. All of it is primary data:
    /// people and policies decided it, and no document contains it.
    static func identityTables(_ type: Dialect) -> [String] {
        ownershipTables(type) + [
            // `turns_at_ms` is when the grant expires, as long as this is still to be reported;
            // otherwise null.
            """
            CREATE TABLE grants (
                app \(type.text) NOT NULL,
                grant_id \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                customer \(type.text) NOT NULL,
                entitlement \(type.text) NOT NULL,
                from_ms \(type.integer) NOT NULL,
                until_ms \(type.integer),
                reason \(type.text) NOT NULL,
                withdrawn_at_ms \(type.integer),
                turns_at_ms \(type.integer),
                PRIMARY KEY (app, grant_id),
                FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
            ) \(type.strict)
            """,
            "CREATE INDEX grants_by_customer ON grants (app, customer, environment)",
            "CREATE INDEX grants_by_turn ON grants (app, turns_at_ms) "
                + "WHERE turns_at_ms IS NOT NULL",
            // Hashes of the ids of erased customers. An account token of theirs, which a document
            // keeps for ever, must no longer identify anybody.
            """
            CREATE TABLE erasures (
                app \(type.text) NOT NULL,
                id_hash \(type.bytes) NOT NULL CHECK (length(id_hash) = 32),
                erased_at_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, id_hash)
            ) \(type.strictWithoutRowID)
            """,
        ]
    }

    private static func ownershipTables(_ type: Dialect) -> [String] {
        [
            // `transfer` is the number of the event that reported the transfer.
            """
            CREATE TABLE transfers (
                app \(type.text) NOT NULL,
                transfer \(type.integer) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text) NOT NULL,
                kind \(type.text) NOT NULL CHECK (kind IN ('moved', 'shared')),
                former \(type.text),
                customer \(type.text) NOT NULL,
                evidence \(type.text) NOT NULL CHECK (evidence IN ('device', 'token', 'support')),
                reason \(type.text) NOT NULL,
                at_ms \(type.integer) NOT NULL,
                undone_at_ms \(type.integer),
                PRIMARY KEY (app, transfer)
            ) \(type.strict)
            """,
            "CREATE INDEX transfers_by_customer ON transfers (app, customer)",
            "CREATE INDEX transfers_by_former ON transfers (app, former) WHERE former IS NOT NULL",
            // Customers who share a purchase with its owner.
            """
            CREATE TABLE shares (
                app \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text) NOT NULL,
                customer \(type.text) NOT NULL,
                since_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, purchase, environment, customer),
                FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
            ) \(type.strictWithoutRowID)
            """,
            "CREATE INDEX shares_by_customer ON shares (app, customer, environment)",
            // Purchases that may not be claimed from their owner.
            """
            CREATE TABLE blocks (
                app \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text) NOT NULL,
                reason \(type.text) NOT NULL,
                since_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, purchase, environment)
            ) \(type.strictWithoutRowID)
            """,
        ]
    }
}
