extension Schema {
    /// Adds two things: for each app, the signing time until which its documents may have a former
    /// id (``FormerIDs``), which is the time of the upgrade, or later if a clock was ahead; and for
    /// each purchase, the time when its hourly budget of new documents is full again.
    ///
    /// The latest signing time is found with one index search per app, so it takes no longer on a
    /// large table than on a small one.
    static func documentIDTables(_ type: Dialect) -> [String] {
        [
            """
            CREATE TABLE former_ids (
                app \(type.text) NOT NULL PRIMARY KEY,
                signed_until_ms \(type.integer) NOT NULL
            ) \(type.strict)
            """,
            """
            INSERT INTO former_ids (app, signed_until_ms)
            WITH RECURSIVE apps (app) AS (
                SELECT min(app) FROM documents
                UNION ALL
                SELECT (SELECT min(documents.app) FROM documents WHERE documents.app > apps.app)
                FROM apps WHERE apps.app IS NOT NULL
            )
            SELECT app, \(type == .sqlite ? "max" : "greatest")(\(type.clock), (
                SELECT max(documents.signed_at_ms) FROM documents WHERE documents.app = apps.app
            )) FROM apps WHERE app IS NOT NULL
            """,
            "ALTER TABLE purchases ADD COLUMN documents_full_at_ms \(type.integer)",
        ]
    }
}
