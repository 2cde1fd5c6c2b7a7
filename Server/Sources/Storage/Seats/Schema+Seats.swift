extension Schema {
    /// Who has the seats of groups whose members the app invites, and the invitations. All of it is
    /// primary data. A claim without an end is open; how many of the open claims have a seat is
    /// computed. The rows have numbers: without them SQLite, which does not know how few claims a
    /// purchase has, would read all of the app.
    static func seatTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE seat_claims (
                app \(type.text) NOT NULL,
                claim \(type.text) NOT NULL,
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text) NOT NULL,
                customer \(type.text) NOT NULL,
                claimed_at_ms \(type.integer) NOT NULL,
                ended_at_ms \(type.integer),
                cause \(type.text),
                PRIMARY KEY (app, claim)
            ) \(type.strict)
            """,
            // One person has one open claim on a purchase.
            "CREATE UNIQUE INDEX seat_claims_open ON seat_claims "
                + "(app, purchase, customer, environment) WHERE ended_at_ms IS NULL",
            "CREATE INDEX seat_claims_by_rank ON seat_claims "
                + "(app, environment, purchase, claimed_at_ms, claim) WHERE ended_at_ms IS NULL",
            "CREATE INDEX seat_claims_by_customer ON seat_claims (app, customer, ended_at_ms)",
            """
            CREATE TABLE seat_invitations (
                app \(type.text) NOT NULL,
                invitation \(type.text) NOT NULL,
                digest \(type.bytes) NOT NULL CHECK (length(digest) = 32),
                environment \(type.text) NOT NULL CHECK (environment IN ('production', 'sandbox')),
                purchase \(type.text) NOT NULL,
                customer \(type.text),
                created_at_ms \(type.integer) NOT NULL,
                expires_at_ms \(type.integer) NOT NULL,
                used_at_ms \(type.integer),
                claim \(type.text),
                withdrawn_at_ms \(type.integer),
                PRIMARY KEY (app, invitation)
            ) \(type.strict)
            """,
            "CREATE UNIQUE INDEX seat_invitations_by_digest ON seat_invitations (app, digest)",
            "CREATE INDEX seat_invitations_by_purchase ON seat_invitations "
                + "(app, environment, purchase, created_at_ms)",
            "CREATE INDEX seat_invitations_by_customer ON seat_invitations (app, customer) "
                + "WHERE customer IS NOT NULL",
        ]
    }
}
