import PostgresCluster
import StoragePostgres
import Testing

@testable import Storage

/// Every table can be distributed by app. The tests need no Citus: they replace its functions by
/// ones that record their calls.
@Suite struct DistributionTests {
    private func withDatabase(_ body: (any DatabaseDriver) async throws -> Void) async throws {
        let url = try await PostgresCluster.shared.preparedDatabase()
        let database = try PostgresDriver(url: url)
        try await body(database)
        database.close()
        try await PostgresCluster.shared.drop(url)
    }

    private func texts(_ sql: String, _ database: any DatabaseDriver) async throws -> [[String]] {
        try await database.read { connection in
            try connection.rows(sql, []) { row throws(StorageFailure) in
                var texts: [String] = []
                while row.left > 0 { texts.append(try row.text()) }
                return texts
            }
        }
    }

    private var byApp: Set<String> {
        Set(Schema.placements.filter { $0.kind == .byApp }.map(\.table))
    }

    @Test func `every table has exactly one placement on the machines of a distributed database`()
        async throws
    {
        try await withDatabase { database in
            let tables = try await texts(
                "SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p') "
                    + "AND NOT relispartition AND relnamespace = current_schema()::regnamespace",
                database)
            let placed = Schema.placements.map(\.table)
            #expect(placed.sorted() == tables.map { $0[0] }.sorted())
        }
    }

    @Test func `every key of a distributed table begins with the app`() async throws {
        try await withDatabase { database in
            let keys = try await texts(
                """
                SELECT table_of.relname::text, index_of.relname::text,
                    pg_get_indexdef(index_of.oid, 1, true), (indisprimary::int)::text
                FROM pg_index
                JOIN pg_class table_of ON table_of.oid = indrelid
                JOIN pg_class index_of ON index_of.oid = indexrelid
                WHERE indisunique AND NOT table_of.relispartition
                    AND table_of.relnamespace = current_schema()::regnamespace
                """, database)
            let distributed = keys.filter { byApp.contains($0[0]) }
            for key in distributed { #expect(key[2] == "app", "\(key[0]): \(key[1])") }
            #expect(Set(distributed.filter { $0[3] == "1" }.map { $0[0] }) == byApp)
        }
    }

    @Test func `every reference between distributed tables stays within one app`() async throws {
        try await withDatabase { database in
            let references = try await texts(
                """
                SELECT own.relname::text, other.relname::text, own_column.attname::text,
                    other_column.attname::text
                FROM pg_constraint
                JOIN pg_class own ON own.oid = conrelid
                JOIN pg_class other ON other.oid = confrelid
                JOIN pg_attribute own_column
                    ON own_column.attrelid = conrelid AND own_column.attnum = conkey[1]
                JOIN pg_attribute other_column
                    ON other_column.attrelid = confrelid AND other_column.attnum = confkey[1]
                WHERE contype = 'f' AND conparentid = 0
                    AND connamespace = current_schema()::regnamespace
                """, database)
            #expect(references.count > 5)
            for row in references {
                #expect(byApp.contains(row[0]) && byApp.contains(row[1]), "\(row)")
                #expect(row[2] == "app" && row[3] == "app", "\(row)")
            }
        }
    }

    @Test func `the statements distribute all tables together and keep every reference`()
        async throws
    {
        try await withDatabase { database in
            let references = """
                SELECT conrelid::regclass::text || ' ' || conname::text || ' '
                    || pg_get_constraintdef(oid)
                FROM pg_constraint WHERE contype = 'f' AND conparentid = 0
                    AND connamespace = current_schema()::regnamespace
                ORDER BY 1
                """
            let before = try await texts(references, database)
            try await database.write { connection in
                for statement in Self.stubs + Schema.distribution {
                    try connection.run(statement, [])
                }
            }
            let after = try await texts(references, database)
            #expect(after == before)
            let calls = try await texts(
                "SELECT relation, coalesce(colocated, '') FROM calls ORDER BY number", database)
            #expect(calls.first == ["documents", ""])
            #expect(
                Set(calls.filter { $0[1] == "documents" }.map { $0[0] }).count == byApp.count - 1)
            #expect(
                Set(calls.filter { $0[1] == "everywhere" }.map { $0[0] }) == [
                    "keys", "log_epochs", "operators", "operator_roles", "operator_sessions",
                    "operator_links", "operator_identities", "operator_passkeys",
                    "operator_recovery_codes", "used_sign_ins", "sign_in_failures",
                    "sign_in_places", "alerts", "alert_channels",
                    "alert_messages", "write_probes",
                ])
        }
    }

    /// The functions have the signatures of Citus, but only record their calls.
    private static let stubs = [
        "CREATE TABLE calls (number BIGINT GENERATED ALWAYS AS IDENTITY, relation TEXT, "
            + "colocated TEXT)",
        """
        CREATE FUNCTION create_distributed_table(
            relation regclass, distribution_column text, colocate_with text DEFAULT NULL
        ) RETURNS void LANGUAGE sql AS $$
            INSERT INTO calls (relation, colocated)
            SELECT relation::text, colocate_with WHERE distribution_column = 'app'
        $$
        """,
        """
        CREATE FUNCTION create_reference_table(relation regclass) RETURNS void LANGUAGE sql AS $$
            INSERT INTO calls (relation, colocated) VALUES (relation::text, 'everywhere')
        $$
        """,
    ]
}
