extension Schema {
    /// Until when an app's documents were signed that may have a former id (``FormerIDs``): until
    /// the upgrade, or later where a clock was ahead. And how much of its hourly budget of new
    /// documents a purchase has used: the moment at which all of it is there again.
    ///
    /// The last moment of each app is looked for by one search each: on a large table it takes no
    /// longer than on a small one.
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
