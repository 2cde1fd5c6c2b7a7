import PostgresCluster
import StoragePostgres
import Testing

@testable import Storage

/// A database that claims to have the Citus extension. docs/scale.md says what was tested with the
/// real extension.
@Suite struct CitusTests {
    private static let version = "13.0-1"

    private func withDatabase(
        hasCitus: Bool, _ body: (any DatabaseDriver) async throws -> Void
    ) async throws {
        let url = try await PostgresCluster.shared.preparedDatabase()
        if hasCitus {
            try Administration.run(
                """
                SET allow_system_table_mods = on;
                INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable,
                    extversion)
                VALUES (99999, 'citus', 10, 'pg_catalog'::regnamespace, false, '\(Self.version)');
                DO $$ BEGIN EXECUTE format(
                    'ALTER DATABASE %I SET plan_cache_mode = force_generic_plan',
                    current_database()
                ); END $$
                """, at: url)
        }
        let database = try PostgresDriver(url: url)
        try await body(database)
        database.close()
        try await PostgresCluster.shared.drop(url)
    }

    /// Citus cannot plan a join from a generic plan, because such a plan has no value for the app.
    /// The test sets the mode that is wrong for Citus and right for PostgreSQL.
    @Test(arguments: [(true, "auto"), (false, "force_generic_plan")])
    func `writes use plan_cache_mode auto on Citus, and force_generic_plan on PostgreSQL`(
        hasCitus: Bool, mode: String
    ) async throws {
        try await withDatabase(hasCitus: hasCitus) { database in
            let found = try await database.write { connection in
                try connection.texts("SELECT current_setting('plan_cache_mode')")[0]
            }
            #expect(found == mode)
            let toRead = try await database.read { connection in
                try connection.texts("SELECT current_setting('plan_cache_mode')")[0]
            }
            #expect(toRead == "auto")
            let version = try await Database(database).citusVersion()
            #expect(version == (hasCitus ? Self.version : nil))
        }
    }
}
