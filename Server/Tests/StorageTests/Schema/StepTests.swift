import Ledger
import PostgresCluster
import Reports
import StoragePostgres
import StorageSQLite
import Synchronization
import Testing

@testable import Storage

/// Steps of the next version, and this program on a database to which they were applied.
@Suite struct StepTests {
    private static let adding = Schema.Step(name: "plumage") { dialect in
        [
            "CREATE TABLE plumage (app \(dialect.text) NOT NULL, bird \(dialect.text) NOT NULL, "
                + "PRIMARY KEY (app, bird))",
            "CREATE INDEX plumage_by_bird ON plumage (app, bird)",
            "ALTER TABLE customers ADD COLUMN plumage \(dialect.text)",
        ]
    }

    private static func excluding(before version: Int) -> Schema.Step {
        Schema.Step(name: "moult", effect: .excludes(before: version, because: "birds moult")) {
            _ in []
        }
    }

    // MARK: - Declarations

    @Test(arguments: [Dialect.sqlite, .postgres])
    func `a migration step that is declared as adding has only adding statements`(dialect: Dialect)
    {
        for step in Schema.steps + [Self.adding] where step.effect == .adds {
            #expect(step.objections(dialect).isEmpty, "\(step.name)")
        }
    }

    @Test(arguments: [
        ("ALTER TABLE customers ADD COLUMN plumage TEXT NOT NULL DEFAULT 'grey'", true),
        ("ALTER TABLE customers ADD COLUMN plumage BIGINT DEFAULT 7", true),
        ("ALTER TABLE customers ADD COLUMN plumage TEXT NOT NULL", false),
        ("ALTER TABLE customers ADD COLUMN plumage TEXT DEFAULT random()", false),
        ("ALTER TABLE customers ADD COLUMN plumage TEXT UNIQUE", false),
        ("ALTER TABLE customers DROP COLUMN plumage", false),
        ("ALTER TABLE customers RENAME COLUMN plumage TO coat", false),
        ("CREATE INDEX customers_by_plumage ON customers (app, plumage)", true),
        ("CREATE UNIQUE INDEX customers_by_plumage ON customers (app, plumage)", false),
        ("CREATE OR REPLACE VIEW birds AS SELECT app FROM customers", true),
        ("DROP VIEW birds", false),
        ("DROP TABLE customers", false),
        ("UPDATE customers SET plumage = 'grey'", false),
        ("INSERT INTO plumage SELECT app, customer FROM customers", false),
        (
            "CREATE TABLE plumage (app TEXT PRIMARY KEY, FOREIGN KEY (app, customer) REFERENCES "
                + "customers (app, customer))",
            false
        ),
        (
            "CREATE TABLE plumage (app TEXT PRIMARY KEY, FOREIGN KEY (app, customer) REFERENCES "
                + "customers (app, customer) ON DELETE CASCADE)",
            true
        ),
    ])
    func `a statement that could disturb an older program does not count as adding`(
        statement: String, isAddition: Bool
    ) {
        let step = Schema.Step(name: "one") { _ in [statement] }
        #expect(step.objections(.postgres).isEmpty == isAddition)
    }

    @Test func `on SQLite, dropping and recreating a view counts as adding`() {
        let step = Schema.Step(name: "view") { _ in
            ["DROP VIEW birds", "CREATE VIEW birds AS SELECT app FROM customers"]
        }
        #expect(step.objections(.sqlite).isEmpty)
        #expect(step.objections(.postgres).count == 1)
    }

    /// Tables of adding steps that name customers or operators without ON DELETE CASCADE, and why
    /// an older program need not delete their rows.
    private static let undeleted: [String: String] = [:]

    @Test func `an erasure by an older program also deletes the rows in newer tables`() {
        for step in Schema.steps where step.effect == .adds {
            for statement in step.statements(.postgres) {
                let change = SchemaChange(statement)
                guard change.kind == .createsTable, Self.undeleted[change.name] == nil,
                    statement.contains(#/\b(customer|customer_id|operator) TEXT\b/#)
                else { continue }
                #expect(
                    change.cascades > 0,
                    """
                    \(change.name) names a customer or operator. Add a foreign key with ON DELETE \
                    CASCADE, let the step exclude older programs, or list the table here.
                    """)
            }
        }
    }

    /// If this test fails, a program of the version before this one cannot read what this version
    /// writes, and both would be in use during an upgrade. Let a step exclude older programs, with
    /// statements or without; then change the numbers here.
    @Test func `new words or layouts in existing columns need a step that excludes older programs`()
    {
        #expect(Schema.oldestVersion(after: Schema.steps) == 106)
        #expect(Change.Kind.allCases.count == 63)
        #expect(KeyScope.allCases.count == 4)
        #expect(OperatorRole.allCases.count == 3)
        #expect(SumTable.layout == 4)
        #expect(MoneyRules().fingerprint.hasPrefix("9 "))
    }

    // MARK: - An older program

    @Test(arguments: Driver.allCases)
    func `a program starts on a database to which a newer program has only added tables`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.migrate(at: 1, by: Schema.steps + [Self.adding])
            for _ in 0..<2 { try await store.migrate(at: 2) }
            #expect(try await store.schemaVersion() == Schema.version + 1)
            #expect(try await store.contents().version == Schema.version + 1)
            // The newer program starts again.
            try await store.migrate(at: 3, by: Schema.steps + [Self.adding])
            let plan = try await store.upgradePlan()
            #expect(plan.version == Schema.version + 1 && plan.steps.isEmpty)
        }
    }

    @Test(arguments: Driver.allCases)
    func `a migration step excludes exactly the program versions that it names`(driver: Driver)
        async throws
    {
        try await driver.withStore { store in
            let last = Self.excluding(before: Schema.version)
            try await store.migrate(at: 1, by: Schema.steps + [last])
            try await store.migrate(at: 2)
            let steps = Schema.steps + [last, Self.excluding(before: Schema.version + 1)]
            try await store.migrate(at: 3, by: steps + [Self.adding])
            let refusal = await #expect(throws: StorageFailure.self) {
                try await store.migrate(at: 4)
            }
            #expect(refusal?.message.contains("use the newer version") == true)
            try await store.migrate(at: 5, by: Schema.steps + [last])
            await #expect(throws: StorageFailure.self) { try await store.upgradePlan() }
        }
    }

    @Test(arguments: Driver.allCases)
    func `a newer database that does not name its oldest compatible version is refused`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.driver.write { connection in
                for statement in [
                    "ALTER TABLE schema_versions DROP COLUMN oldest_version",
                    "INSERT INTO schema_versions (version, applied_at_ms) "
                        + "VALUES (\(Schema.version + 1), 1)",
                ] { try connection.run(statement, []) }
            }
            await #expect(throws: StorageFailure.self) { try await store.schemaVersion() }
            for _ in 0..<2 {
                await #expect(throws: StorageFailure.self) { try await store.migrate(at: 1) }
            }
            _ = try await store.driver.write {
                try $0.run("DELETE FROM schema_versions WHERE version > \(Schema.version)", [])
            }
            try await store.migrate(at: 1)
            try await store.migrate(at: 1, by: Schema.steps + [Self.adding])
            try await store.migrate(at: 1)
        }
    }

    @Test func `a database that a newer program has migrated is not copied row by row`()
        async throws
    {
        let (source, target) = (
            Database(try SQLiteDriver.inMemory()), Database(try SQLiteDriver.inMemory())
        )
        try await source.migrate(at: 1, by: Schema.steps + [Self.adding])
        try await target.migrate(at: 1)
        let refusal = await #expect(throws: StorageFailure.self) {
            try await target.copy(from: source)
        }
        #expect(refusal?.message.contains("copy it with the newer version") == true)
        for store in [source, target] { store.driver.close() }
    }

    // MARK: - Locks

    @Test func `if a migration step does not get a lock, it lets requests pass and tries again`()
        async throws
    {
        let url = try await PostgresCluster.shared.preparedDatabase()
        let store = Database(try PostgresDriver(url: url))
        let attempts = Mutex(0)
        let step = Schema.Step(name: "locked") { _ in
            let attempt = attempts.withLock {
                $0 += 1
                return $0
            }
            let refused = "DO $$ BEGIN RAISE EXCEPTION 'no lock' USING ERRCODE = '55P03'; END $$"
            return attempt < 3 ? [refused] : Self.adding.statements(.postgres)
        }
        let pauses = Mutex<[Duration]>([])
        try await store.migrate(at: 1, by: Schema.steps + [step]) { pause in
            pauses.withLock { $0.append(pause) }
        }
        let (count, pauseCount) = (attempts.withLock { $0 }, pauses.withLock { $0.count })
        #expect(count == 3 && pauseCount == 2)
        #expect(try await store.schemaVersion() == Schema.version + 1)
        store.driver.close()
        try await PostgresCluster.shared.drop(url)
    }

    // MARK: - The plan

    @Test(arguments: Driver.allCases)
    func `the upgrade plan lists the steps, and the tables that they read and lock`(
        driver: Driver
    ) async throws {
        try await driver.withStore { store in
            try await store.driver.write { connection in
                for digest in 1...3 {
                    try connection.run(
                        "INSERT INTO headers (app, digest, segment) VALUES ('birds', $1, $2)",
                        [
                            .bytes(Array(repeating: UInt8(digest), count: 32)),
                            .bytes([UInt8(digest)]),
                        ])
                }
            }
            let index = Schema.Step(name: "index") { _ in
                ["CREATE INDEX headers_by_segment ON headers (app, segment)"]
            }
            let rewriting = Schema.Step(
                name: "rewrite", effect: .excludes(before: 900, because: "birds moult")
            ) { _ in ["DELETE FROM headers", "DELETE FROM plumage"] }
            let plan = try await store.upgradePlan(
                by: Schema.steps + [Self.adding, index, rewriting])
            #expect(plan.version == Schema.version && plan.steps.count == 3)
            #expect(plan.steps.map(\.read) == [[], ["headers"], ["headers"]])
            #expect(plan.steps.map(\.locked) == [["customers"], ["headers"], ["headers"]])
            #expect(plan.steps.map(\.rewrites) == [false, false, true])
            #expect(plan.oldestVersion == 900 && !plan.isRolling)
            #expect(plan.tables.keys.sorted() == ["headers"])
            #expect(plan.tables["headers"]?.rows == 3 && plan.tables["headers"]?.isLimit == false)
            #expect(plan.tables["headers"]?.measuredRows == 3)
            // Nothing has changed.
            #expect(try await store.schemaVersion() == Schema.version)
        }
    }

    @Test func `the time to read a table is estimated from the measured rows`() {
        let size = UpgradePlan.TableSize(
            rows: 1_000_000, isLimit: false, bytes: 1, measuredRows: 2_000,
            measuredTime: .milliseconds(60))
        #expect(size.readingTime == .seconds(30))
    }
}
