import Ledger

extension Database {
    /// Brings the schema up to this program's version. Idempotent, and safe if several servers run
    /// it at once.
    ///
    /// - Throws: ``StorageFailure`` if the schema of the database is newer than this program.
    package func migrate(at now: Int64) async throws {
        _ = try await driver.write { connection in
            try connection.run(
                "CREATE TABLE IF NOT EXISTS schema_versions "
                    + "(version \(connection.dialect.integer) PRIMARY KEY, "
                    + "applied_at_ms \(connection.dialect.integer) NOT NULL)", [])
        }
        // This needs a transaction of its own, because the lock must be its first statement: the
        // second server waits here, and then sees the steps that the first has applied.
        try await driver.write { connection in
            let dialect = connection.dialect
            for statement in dialect.withoutLockTimeout + dialect.lockTables(["schema_versions"]) {
                try connection.run(statement, [])
            }
            try Self.applySteps(connection, at: now)
        }
        do {
            try await createPartitions(around: Instant(milliseconds: now))
        } catch let failure as StorageFailure {
            // Not fatal: the default partition takes the documents of months without one, and
            // servers try again each day.
            guard failure.kind == .busy else { throw failure }
        }
    }

    /// The version of the present schema; 0 if there are no tables yet.
    ///
    /// - Throws: ``StorageFailure`` if this program cannot migrate the present version.
    package func schemaVersion() async throws -> Int {
        let exists = Self.versionsTableExists(driver.dialect)
        return try await driver.read { connection in
            guard try connection.rows(exists, [])[0].integer(0) > 0 else { return 0 }
            return try Self.presentVersion(connection)
        }
    }

    static func versionsTableExists(_ dialect: Dialect) -> String {
        switch dialect {
        case .sqlite:
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_versions'"
        case .postgres:
            "SELECT count(*) FROM pg_class WHERE oid = to_regclass('schema_versions')"
        }
    }

    /// Returns whether the file belongs to another program. Only for files: the database of a
    /// server may contain other programs' tables.
    package static func belongsToAnotherProgram(
        _ connection: any Connection
    ) throws(StorageFailure) -> Bool {
        let rows = try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'", [])
        for row in rows where try row.text(0) == "schema_versions" { return false }
        return !rows.isEmpty
    }

    /// The version recorded while the database is being filled from another one.
    static let unfinishedCopyVersion: Int64 = -1

    private static func requireNoUnfinishedCopy(
        _ connection: any Connection
    ) throws(StorageFailure) {
        let copying = try connection.rows(
            "SELECT version FROM schema_versions WHERE version = $1",
            [.integer(unfinishedCopyVersion)])
        guard copying.isEmpty else {
            throw StorageFailure(
                "the copy of this database was interrupted, so it is incomplete: "
                    + "run `perennial migrate` again, into an empty database")
        }
    }

    private static func applySteps(
        _ connection: any Connection, at now: Int64
    ) throws(StorageFailure) {
        let present = try presentVersion(connection)
        let migrations = Schema.migrations(connection.dialect)
        for (index, migration) in migrations.enumerated() where index >= present {
            do throws(StorageFailure) {
                for statement in migration.statements { try connection.run(statement, []) }
            } catch {
                var failure = error
                failure.message = "schema version \(index + 1), \(migration.name): \(error.message)"
                throw failure
            }
            try connection.run(
                "INSERT INTO schema_versions (version, applied_at_ms) VALUES ($1, $2)",
                [.integer(Int64(index + 1)), .integer(now)])
        }
    }

    static func presentVersion(
        _ connection: any Connection
    ) throws(StorageFailure) -> Int {
        let versions = try connection.rows(
            "SELECT coalesce(max(version), 0) FROM schema_versions", [])
        let present = Int(try versions[0].integer(0))
        try requireNoUnfinishedCopy(connection)
        guard present <= Schema.version else {
            throw StorageFailure(
                "the database has schema version \(present), but this program supports at most "
                    + "\(Schema.version): use the newer version of Perennial")
        }
        guard present == 0 || present >= Schema.oldestVersion else {
            throw StorageFailure(
                "the database has schema version \(present), from before the first release, which "
                    + "cannot be migrated: keep it as a backup and start with a new one "
                    + "(`perennial dev --fresh`)")
        }
        return present
    }
}
