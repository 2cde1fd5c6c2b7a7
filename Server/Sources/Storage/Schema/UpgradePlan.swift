/// What the next start of this program does with the tables of a database.
package struct UpgradePlan: Sendable {
    /// The present schema version; 0 if there are no tables yet. May be greater than this program's
    /// version.
    package var version: Int
    package var steps: [Step]
    /// The oldest schema version whose programs can use the database after the start.
    package var oldestVersion: Int
    /// The sizes of the tables whose rows a step reads.
    package var tables: [String: TableSize] = [:]

    package init(
        version: Int, steps: [Step], oldestVersion: Int, tables: [String: TableSize] = [:]
    ) {
        (self.version, self.steps) = (version, steps)
        (self.oldestVersion, self.tables) = (oldestVersion, tables)
    }

    /// The plan for a database without tables.
    package static let ofNewDatabase = UpgradePlan(
        version: 0, steps: [], oldestVersion: Schema.baseline)

    /// A step that the start will run.
    package struct Step: Sendable {
        package var version: Int
        package var name: String
        package var effect: Schema.Effect
        package var changes: [SchemaChange]
        /// The tables of the database whose rows the step reads or rewrites.
        package var read: Set<String>
        /// The tables of the database that the step locks, so that servers wait for it.
        package var locked: Set<String>
        package var rewrites: Bool { changes.contains { $0.kind == .rewrites } }

        package init(
            version: Int, name: String, effect: Schema.Effect, changes: [SchemaChange],
            read: Set<String>, locked: Set<String>
        ) {
            (self.version, self.name, self.effect) = (version, name, effect)
            (self.changes, self.read, self.locked) = (changes, read, locked)
        }
    }

    /// The size of a table, and how long it takes to read its first rows.
    package struct TableSize: Hashable, Sendable {
        /// The approximate number of rows.
        package var rows: Int64
        /// Whether there may be many more rows, because counting stopped here.
        package var isLimit: Bool
        package var bytes: Int64
        package var measuredRows: Int
        package var measuredTime: Duration

        package init(
            rows: Int64, isLimit: Bool, bytes: Int64, measuredRows: Int, measuredTime: Duration
        ) {
            (self.rows, self.isLimit, self.bytes) = (rows, isLimit, bytes)
            (self.measuredRows, self.measuredTime) = (measuredRows, measuredTime)
        }

        /// The time of reading all rows, at the speed of the first ones.
        package var readingTime: Duration {
            guard measuredRows > 0 else { return .zero }
            return measuredTime * (Double(rows) / Double(measuredRows))
        }
    }

    /// The maximum number of rows that are read to measure the speed.
    package static let rowsMeasured = 2_000
    /// The maximum number of rows that are counted, if the database knows no approximate number.
    package static let rowsCountedMax: Int64 = 1_000_000

    /// The steps after a version. A step uses only the tables that no other of these steps creates.
    static func steps(
        after version: Int, among steps: [Schema.Step], _ dialect: Dialect
    ) -> [Step] {
        var created: Set<String> = []
        return steps.enumerated().dropFirst(max(0, version - Schema.baseline)).map { index, step in
            let changes = step.statements(dialect).map { SchemaChange($0) }
            created.formUnion(changes.filter { $0.kind == .createsTable }.map(\.name))
            // A statement that names no table has an empty name.
            let notUsed = created.union([""])
            let reading = changes.filter {
                switch $0.kind {
                case .createsIndex, .rewrites: true
                case .createsTable, .createsView, .dropsView, .addsColumn: false
                }
            }
            let views = changes.filter { [.createsView, .dropsView].contains($0.kind) }
            let used = changes.flatMap { [$0.table] + $0.references }
            return Step(
                version: Schema.baseline + index + 1, name: step.name, effect: step.effect,
                changes: changes,
                read: Set(reading.flatMap { [$0.table] + $0.sources }).subtracting(notUsed),
                locked: Set(used).subtracting(notUsed).subtracting(views.map(\.name)))
        }
    }

    /// Whether servers of the present version can go on during the start and after it.
    package var isRolling: Bool { version == 0 || oldestVersion <= version }
}

extension Database {
    /// Says what the next start of this program will do. Changes nothing. Reads at most
    /// ``UpgradePlan/rowsMeasured`` rows of each table that a step reads, and counts at most
    /// ``UpgradePlan/rowsCountedMax``.
    ///
    /// - Throws: ``StorageFailure`` if this program can neither use nor migrate the database.
    package func upgradePlan() async throws -> UpgradePlan {
        try await upgradePlan(by: Schema.steps)
    }

    func upgradePlan(by steps: [Schema.Step]) async throws -> UpgradePlan {
        let dialect = driver.dialect
        return try await driver.scan { connection in
            let version = try SchemaVersions(connection)
                .presentIfAny(newest: Schema.version(with: steps))
            guard version > 0 else { return .ofNewDatabase }
            var plan = UpgradePlan(
                version: version,
                steps: UpgradePlan.steps(after: version, among: steps, dialect),
                oldestVersion: Schema.oldestVersion(after: steps))
            for table in Set(plan.steps.flatMap(\.read)) {
                plan.tables[table] = try UpgradePlan.TableSize(measuring: table, connection)
            }
            return plan
        }
    }
}

extension UpgradePlan.TableSize {
    /// Reads the first rows of a table, and counts its rows if the database knows no approximate
    /// number.
    init(measuring table: String, _ connection: any Connection) throws(StorageFailure) {
        let clock = ContinuousClock()
        let start = clock.now
        measuredRows = try connection.rows(
            "SELECT * FROM \(table) LIMIT \(UpgradePlan.rowsMeasured)", []
        ).count
        measuredTime = clock.now - start
        (rows, bytes) = try Self.approximate(table, connection)
        isLimit = false
        guard rows == 0 else { return }
        rows = try connection.number(
            "SELECT count(*) FROM (SELECT 1 FROM \(table) "
                + "LIMIT \(UpgradePlan.rowsCountedMax)) AS counted")
        isLimit = rows == UpgradePlan.rowsCountedMax
    }

    /// The approximate number of rows, and the bytes on disk. The number is 0 if the database does
    /// not know it. On SQLite, the bytes are those of the whole file.
    private static func approximate(
        _ table: String, _ connection: any Connection
    ) throws(StorageFailure) -> (Int64, Int64) {
        switch connection.dialect {
        case .sqlite:
            let bytes = try connection.number(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
            return (0, bytes)
        case .postgres:
            // A partitioned table has its rows in its partitions.
            let found = try connection.rows(
                "SELECT CAST(coalesce(sum(greatest(reltuples, 0)), 0) AS BIGINT), "
                    + "CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS BIGINT) "
                    + "FROM pg_class WHERE relkind = 'r' AND oid IN "
                    + "(SELECT relid FROM pg_partition_tree('\(table)'))", []
            ) { row throws(StorageFailure) in (try row.integer(), try row.integer()) }
            return found.first ?? (0, 0)
        }
    }
}
