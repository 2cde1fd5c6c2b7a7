import PostgresCluster
import StoragePostgres
import StorageSQLite
import Testing

@testable import Storage

/// The tables of a new database, and the changes to the tables of an older one.
@Suite struct SchemaTests {
    // MARK: - The two files

    /// The beginnings of statements that exist only for PostgreSQL.
    private static let onPostgresOnly = [
        "CREATE TABLE documents_other ", "CREATE TABLE pending_events ", "CREATE TABLE recordings ",
    ]

    /// What the two databases write differently, and the common words for the comparison.
    private static let words = [
        (" STRICT, WITHOUT ROWID", ""), (" STRICT", ""),
        (" PARTITION BY RANGE (signed_at_ms)", ""), (" COLLATE \"C\"", ""),
        ("BIGINT", "INTEGER"), ("BYTEA", "BLOB"),
        ("encode(document, 'hex')", "nullif(lower(hex(document)), '')"),
        ("CAST(details AS JSON) AS details", "details"),
    ]

    private static func common(_ statement: String) -> String {
        var text = statement.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        for (written, compared) in words { text = text.replacing(written, with: compared) }
        return text.replacing(
            #/strftime\('%Y-%m-%dT%H:%M:%fZ', ([a-z_.]+) / 1000\.0, 'unixepoch'\)/#
        ) { "moment(\($0.1))" }.replacing(
            #/to_char\(to_timestamp\(([a-z_.]+) / 1000\.0\) AT TIME ZONE 'UTC', '[^']+'\)/#
        ) { "moment(\($0.1))" }
    }

    @Test func `SQLite and PostgreSQL have the same tables, columns, keys, indexes and views`() {
        let sqlite = Schema.statements(.sqlite).map(Self.common)
        let all = Schema.statements(.postgres).map(Self.common)
        let postgres = all.filter { statement in
            !Self.onPostgresOnly.contains { statement.hasPrefix($0) }
        }
        #expect(all.count == postgres.count + Self.onPostgresOnly.count)
        #expect(sqlite.count > 100 && sqlite.count == postgres.count)
        for (one, other) in zip(sqlite, postgres) { #expect(one == other) }
    }

    // MARK: - Steps

    private static let step = Schema.Step(name: "made up") { dialect in
        ["ALTER TABLE write_probes ADD COLUMN made_up \(dialect.integer)"]
    }
    private static let excluding = Schema.Step(
        name: "excluding", effect: .excludes(before: Schema.version + 1, because: "it is a test")
    ) { _ in [] }
    private static let wrong = Schema.Step(name: "wrong") { dialect in
        ["ALTER TABLE nothing ADD COLUMN made_up \(dialect.integer)"]
    }

    private static func versions(of store: Database) async throws -> [Int] {
        try await store.driver.read { connection in
            try connection.rows("SELECT version FROM schema_versions ORDER BY version", []) {
                row throws(StorageFailure) in try row.count()
            }
        }
    }

    @Test func `the migration steps that a start will run are listed in order`() {
        let all = Schema.steps.map(\.name)
        #expect(Schema.names(ofStepsAfter: Schema.baseline) == all)
        #expect(Schema.names(ofStepsAfter: Schema.baseline + 1) == Array(all.dropFirst()))
        #expect(Schema.names(ofStepsAfter: Schema.version).isEmpty)
    }

    @Test(arguments: Driver.allCases)
    func `a migration step is applied once; a step that fails is named and changes nothing`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            let failure = await #expect(throws: StorageFailure.self) {
                try await store.migrate(at: 1, by: Schema.steps + [Self.step, Self.wrong])
            }
            let begin = "schema version \(Schema.version + 2), wrong: "
            #expect(failure?.message.hasPrefix(begin) == true, "\(failure as Any)")
            #expect(try await Self.versions(of: store) == [Schema.version])
            for _ in 0..<2 { try await store.migrate(at: 1, by: Schema.steps + [Self.step]) }
            #expect(try await Self.versions(of: store) == [Schema.version, Schema.version + 1])
            let rows = try await store.driver.read {
                try $0.rows("SELECT made_up FROM write_probes", [])
            }
            #expect(rows.isEmpty)
        }
    }

    /// The definitions of tables, indexes and views, without white space.
    private static func definitions(in store: Database) async throws -> Set<String> {
        try await store.driver.read { connection in
            Set(
                try connection.rows(
                    "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL", []
                ) { row throws(StorageFailure) in
                    try row.text().split(whereSeparator: \.isWhitespace).joined(separator: " ")
                })
        }
    }

    @Test func `the migration steps turn the first release's tables into those of the schema file`()
        async throws
    {
        let (new, old) = (
            Database(try SQLiteDriver.inMemory()), Database(try SQLiteDriver.inMemory())
        )
        try await new.migrate(at: 1)
        try await old.migrate(at: 1, by: [])
        _ = try await old.driver.write { connection in
            for statement in [
                "DROP VIEW attributes", "DROP INDEX customer_attributes_by_mail_address",
                "DROP TABLE customer_attributes", "DROP TABLE money_cohorts",
                "DROP TABLE rehearsals", "DROP TABLE rehearsal_differences",
                "DROP TABLE operator_identities", "DROP TABLE used_sign_ins",
                "DROP TABLE alerts", "DROP TABLE alert_channels", "DROP TABLE alert_messages",
                "DROP TABLE operator_passkeys", "DROP TABLE operator_recovery_codes",
            ] { try connection.run(statement, []) }
        }
        try await old.migrate(at: 2)
        #expect(try await Self.versions(of: old) == Array(Schema.baseline...Schema.version))
        #expect(try await Self.definitions(in: old) == (try await Self.definitions(in: new)))
        for store in [new, old] { store.driver.close() }
    }

    @Test func `servers that start together apply a migration step once`() async throws {
        let url = try await PostgresCluster.shared.preparedDatabase()
        let stores = try (0..<4).map { _ in Database(try PostgresDriver(url: url)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores {
                group.addTask { try await store.migrate(at: 1, by: Schema.steps + [Self.step]) }
            }
            try await group.waitForAll()
        }
        #expect(try await Self.versions(of: stores[0]) == [Schema.version, Schema.version + 1])
        for store in stores { store.driver.close() }
        try await PostgresCluster.shared.drop(url)
    }

    @Test func `a new database is made from the schema files, without running the steps`()
        async throws
    {
        let store = Database(try SQLiteDriver.inMemory())
        try await store.migrate(at: 1, by: Schema.steps + [Self.wrong])
        #expect(try await Self.versions(of: store) == [Schema.version + 1])
        store.driver.close()
    }

    // MARK: - Other programs

    @Test(arguments: Driver.allCases)
    func `a database of a later version that excludes this program is refused`(driver: Driver)
        async throws
    {
        try await driver.withStore { store in
            try await store.migrate(at: 1, by: Schema.steps + [Self.excluding])
            let refusal = await #expect(throws: StorageFailure.self) {
                try await store.migrate(at: 0)
            }
            #expect(refusal?.message.contains("use the newer version") == true)
        }
    }

    @Test(arguments: Driver.allCases, [1, 43, Schema.baseline - 1])
    func `a database from before the first release is refused, with a remedy`(
        driver: Driver, version: Int
    ) async throws {
        try await driver.withStore { store in
            try await store.driver.write { connection in
                _ = try connection.run(
                    "UPDATE schema_versions SET version = $1", [.integer(Int64(version))])
            }
            let refusal = await #expect(throws: StorageFailure.self) {
                try await store.migrate(at: 0)
            }
            let says = "from before the first release (schema version \(version))"
            #expect(refusal?.message.contains(says) == true, "\(refusal as Any)")
            #expect(refusal?.message.contains("--fresh") == true)
            #expect(try await Self.versions(of: store) == [version])
        }
    }
}
