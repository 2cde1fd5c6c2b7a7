extension Schema {
    /// What the App Store was told of claims on seats, how it counts the seats of a group, and
    /// which claims it has ended. All of it is primary data, except for how it counts: if that is
    /// lost, it is asked again.
    ///
    /// The claims that exist are due, so that the App Store is told of them, too.
    static func seatReportTables(_ type: Dialect) -> [String] {
        [
            "apple_state \(type.text) NOT NULL DEFAULT 'due'", "apple_claim \(type.text)",
            "apple_asked_at_ms \(type.integer)",
            "apple_since_ms \(type.integer) NOT NULL DEFAULT 0",
            "due_at_ms \(type.integer) DEFAULT 0", "attempts \(type.integer) NOT NULL DEFAULT 0",
            "trouble \(type.text)", "lease_until_ms \(type.integer) NOT NULL DEFAULT 0",
            "lease_holder \(type.text)",
        ].map { "ALTER TABLE seat_claims ADD COLUMN \($0)" } + [
            "UPDATE seat_claims SET apple_since_ms = COALESCE(ended_at_ms, claimed_at_ms)",
            // With what a backlog counts.
            "CREATE INDEX seat_claims_by_due ON seat_claims "
                + "(app, environment, due_at_ms, apple_since_ms) WHERE due_at_ms IS NOT NULL",
            "CREATE INDEX seat_claims_by_apple_claim ON seat_claims (app, apple_claim) "
                + "WHERE apple_claim IS NOT NULL",
            // Those whose id may exist and is not known yet.
            "CREATE INDEX seat_claims_unanswered ON seat_claims (app, environment, purchase) "
                + "WHERE apple_asked_at_ms IS NOT NULL AND apple_claim IS NULL",
            // Those that it has ended.
            "CREATE INDEX seat_claims_unclaimed ON seat_claims "
                + "(app, environment, purchase, ended_at_ms) WHERE cause = 'unclaimed'",
            // What waits until the subscription runs.
            "CREATE INDEX seat_claims_off ON seat_claims (app, environment, purchase) "
                + "WHERE apple_state = 'off'",
            """
            CREATE TABLE seat_groups (
                app \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text) NOT NULL,
                seats \(type.integer) NOT NULL DEFAULT 0,
                available \(type.integer) NOT NULL DEFAULT 0,
                foreign_claims \(type.integer) NOT NULL DEFAULT 0,
                asked_at_ms \(type.integer),
                since_ms \(type.integer) NOT NULL,
                due_at_ms \(type.integer),
                attempts \(type.integer) NOT NULL DEFAULT 0,
                trouble \(type.text),
                lease_until_ms \(type.integer) NOT NULL DEFAULT 0,
                lease_holder \(type.text),
                PRIMARY KEY (app, environment, purchase)
            ) \(type.strictWithoutRowID)
            """,
            "CREATE INDEX seat_groups_by_due ON seat_groups "
                + "(app, environment, due_at_ms, since_ms) WHERE due_at_ms IS NOT NULL",
            """
            CREATE TABLE seat_unclaims (
                app \(type.text) NOT NULL,
                document \(type.bytes) NOT NULL CHECK (length(document) = 32),
                apple_claim \(type.text) NOT NULL,
                environment \(type.text) CHECK (environment IN ('production', 'sandbox')),
                is_bound \(type.integer) NOT NULL,
                PRIMARY KEY (app, document, apple_claim)
            ) \(type.strictWithoutRowID)
            """,
            "CREATE INDEX seat_unclaims_by_claim ON seat_unclaims (app, apple_claim)",
        ]
    }
}
