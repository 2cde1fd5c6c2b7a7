import Ledger

// PostgreSQL chooses indexes by statistics about tables. Without statistics, PostgreSQL may choose
// an unsuitable index. So in a new database, a search for one purchase may read all purchases.
// PostgreSQL collects statistics at most once a minute, which is too late for a database that fills
// quickly.

extension Database {
    /// The maximum number of rows of a table whose statistics are collected here. PostgreSQL itself
    /// collects the statistics of larger tables, which change slowly.
    private static let rowsMax: Int64 = 100_000
    /// The maximum size of a table whose number of rows is not known yet.
    private static let bytesMax: Int64 = 67_108_864
    /// New statistics are collected when enough rows have changed: this number of rows, plus as
    /// many rows as the table had when statistics were last collected.
    private static let changesMin: Int64 = 50

    /// Collects the statistics of small tables that have changed much since the last time. Returns
    /// the number of these tables. Idempotent, and safe for several servers at once. Does nothing
    /// on SQLite, which chooses indexes by their columns.
    package func refreshStatistics() async throws -> Int {
        guard driver.dialect == .postgres else { return 0 }
        let tables = try await driver.read { connection in
            try connection.rows(
                Self.selectOutdated,
                [.integer(Self.rowsMax), .integer(Self.changesMin), .integer(Self.bytesMax)]
            ) { row throws(StorageFailure) in try row.text() }
        }
        for table in tables {
            // Skips a table whose statistics another server is collecting.
            _ = try await driver.write(.committed) {
                try $0.run("ANALYZE (SKIP_LOCKED) \(table)", [])
            }
        }
        return tables.count
    }

    /// Selects the tables of Perennial that its role may analyze, and whose statistics are
    /// outdated.
    private static let selectOutdated = """
        SELECT quote_ident(pg_class.relname)
        FROM pg_stat_user_tables JOIN pg_class ON pg_class.oid = relid
        WHERE schemaname = current_schema() AND pg_has_role(relowner, 'USAGE') AND reltuples < $1
            AND (reltuples >= 0 OR pg_relation_size(pg_class.oid) <= $3)
            AND n_mod_since_analyze >= $2 + greatest(reltuples, 0)
        ORDER BY 1
        """
}
