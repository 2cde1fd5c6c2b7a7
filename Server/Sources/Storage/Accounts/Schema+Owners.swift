extension Schema {
    /// The people who use the dashboard. They belong to the server, not to an app; but every key
    /// begins with the app, so `app` is empty in their rows, except for those of `owner_roles` and
    /// `audit_entries` that are about one app.
    ///
    /// Tokens of sessions and links are stored as their SHA-256 only. Of a session or a link that
    /// has ended, no row is left.
    static func ownerTables(_ type: Dialect) -> [String] {
        accountTables(type) + sessionTables(type) + auditTables(type)
    }

    private static func accountTables(_ type: Dialect) -> [String] {
        [
            // `password` is ``PasswordHash`` as text: its salt, its cost and the key.
            """
            CREATE TABLE owners (
                app \(type.text) NOT NULL CHECK (app = ''),
                owner \(type.text) NOT NULL,
                password \(type.text) NOT NULL,
                created_at_ms \(type.integer) NOT NULL,
                signed_in_at_ms \(type.integer),
                blocked_at_ms \(type.integer),
                PRIMARY KEY (app, owner)
            ) \(type.strictWithoutRowID)
            """,
            // The row of the app '' is about every app.
            """
            CREATE TABLE owner_roles (
                app \(type.text) NOT NULL,
                owner \(type.text) NOT NULL,
                role \(type.text) NOT NULL CHECK (role IN ('viewer', 'support', 'admin')),
                PRIMARY KEY (app, owner)
            ) \(type.strictWithoutRowID)
            """,
            "CREATE INDEX owner_roles_by_owner ON owner_roles (owner)",
        ]
    }

    private static func sessionTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE owner_sessions (
                app \(type.text) NOT NULL CHECK (app = ''),
                session \(type.bytes) NOT NULL CHECK (length(session) = 32),
                owner \(type.text) NOT NULL,
                created_at_ms \(type.integer) NOT NULL,
                used_at_ms \(type.integer) NOT NULL,
                until_ms \(type.integer) NOT NULL,
                address \(type.text) NOT NULL,
                agent \(type.text) NOT NULL,
                PRIMARY KEY (app, session)
            ) \(type.strictWithoutRowID)
            """,
            "CREATE INDEX owner_sessions_by_owner ON owner_sessions (app, owner)",
            """
            CREATE TABLE owner_links (
                app \(type.text) NOT NULL CHECK (app = ''),
                link \(type.bytes) NOT NULL CHECK (length(link) = 32),
                kind \(type.text) NOT NULL CHECK (kind IN ('first', 'invitation', 'reset')),
                owner \(type.text),
                roles \(type.text) NOT NULL,
                author \(type.text) NOT NULL,
                created_at_ms \(type.integer) NOT NULL,
                until_ms \(type.integer) NOT NULL,
                PRIMARY KEY (app, link)
            ) \(type.strictWithoutRowID)
            """,
            // Failed attempts by one name or from one address, as `subject` says.
            """
            CREATE TABLE sign_in_failures (
                app \(type.text) NOT NULL CHECK (app = ''),
                subject \(type.text) NOT NULL,
                failures \(type.integer) NOT NULL,
                last_at_ms \(type.integer) NOT NULL,
                shut_until_ms \(type.integer),
                PRIMARY KEY (app, subject)
            ) \(type.strictWithoutRowID)
            """,
        ]
    }

    private static func auditTables(_ type: Dialect) -> [String] {
        [
            // Nothing in it is ever changed, except for the id of a customer who is erased.
            """
            CREATE TABLE audit_entries (
                app \(type.text) NOT NULL,
                at_ms \(type.integer) NOT NULL,
                entry \(type.text) NOT NULL,
                author \(type.text) NOT NULL,
                act \(type.text) NOT NULL,
                environment \(type.text),
                customer \(type.text),
                subject \(type.text),
                state_before \(type.text),
                state_after \(type.text),
                PRIMARY KEY (app, at_ms, entry)
            ) \(type.strictWithoutRowID)
            """,
            "CREATE INDEX audit_entries_by_customer ON audit_entries (app, customer) "
                + "WHERE customer IS NOT NULL",
        ]
    }
}
