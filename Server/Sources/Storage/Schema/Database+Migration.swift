import Ledger

extension Database {
    /// Creates the tables of a new database, or migrates the tables of an older database to this
    /// program's version. Idempotent, and safe if several servers run it at once.
    ///
    /// - Throws: ``StorageFailure`` if the schema of the database is newer than this program, or
    ///   from before the first release.
    package func migrate(at now: Int64) async throws {
        try await migrate(at: now, by: Schema.steps)
    }

    func migrate(at now: Int64, by steps: [Schema.Step]) async throws {
        _ = try await driver.write { connection in
            try connection.run(
                "CREATE TABLE IF NOT EXISTS schema_versions "
                    + "(version \(connection.dialect.integer) PRIMARY KEY, "
                    + "applied_at_ms \(connection.dialect.integer) NOT NULL)", [])
        }
        // The steps need a separate transaction, because the lock must be its first statement. A
        // second server waits here, and then sees the steps that the first server has applied.
        try await driver.write { connection in
            let dialect = connection.dialect
            for statement in dialect.withoutLockTimeout + dialect.lockTables(["schema_versions"]) {
                try connection.run(statement, [])
            }
            try Self.apply(steps, connection, at: now)
        }
        do {
            try await createPartitions(around: Instant(milliseconds: now))
        } catch let failure as StorageFailure {
            // This failure may be ignored: documents of months without a partition go into the
            // default partition, and servers try again each day.
            guard failure.kind == .busy else { throw failure }
        }
    }

    /// The version of the present schema; 0 if there are no tables yet.
    ///
    /// - Throws: ``StorageFailure`` if this program cannot migrate the present version.
    package func schemaVersion() async throws -> Int {
        let exists = Self.versionsTableExists(driver.dialect)
        return try await driver.read { connection in
            guard try connection.number(exists) > 0 else { return 0 }
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

    /// Whether the file of the database belongs to another program. Only for files: the database of
    /// a server may contain other programs' tables.
    package static func belongsToAnotherProgram(
        _ connection: any Connection
    ) throws(StorageFailure) -> Bool {
        let tables = try connection.texts("SELECT name FROM sqlite_master WHERE type = 'table'")
        return !tables.isEmpty && !tables.contains("schema_versions")
    }

    /// The version that is recorded while the database is being filled from another database.
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

    private static func apply(
        _ steps: [Schema.Step], _ connection: any Connection, at now: Int64
    ) throws(StorageFailure) {
        let newest = Schema.version(with: steps)
        let present = try presentVersion(connection, newest: newest)
        guard present > 0 else {
            try run(Schema.statements(connection.dialect), connection, version: newest, "new", now)
            return
        }
        for (step, version) in zip(steps, (Schema.baseline + 1)...) where version > present {
            try run(
                step.statements(connection.dialect), connection, version: version, step.name, now)
        }
    }

    private static func run(
        _ statements: [String], _ connection: any Connection, version: Int, _ name: String,
        _ now: Int64
    ) throws(StorageFailure) {
        do throws(StorageFailure) {
            for statement in statements { try connection.run(statement, []) }
        } catch {
            var failure = error
            failure.message = "schema version \(version), \(name): \(error.message)"
            throw failure
        }
        try connection.run(
            "INSERT INTO schema_versions (version, applied_at_ms) VALUES ($1, $2)",
            [.integer(Int64(version)), .integer(now)])
    }

    /// The present version; 0 before the tables of a new database are made.
    ///
    /// - Parameter newest: the last version that can be migrated.
    static func presentVersion(
        _ connection: any Connection, newest: Int = Schema.version
    ) throws(StorageFailure) -> Int {
        let present = Int(
            try connection.number("SELECT coalesce(max(version), 0) FROM schema_versions"))
        try requireNoUnfinishedCopy(connection)
        guard present <= newest else {
            throw StorageFailure(
                "the database has schema version \(present), but this program supports at most "
                    + "\(newest): use the newer version of Perennial")
        }
        guard present == 0 || present >= Schema.baseline else {
            throw StorageFailure(
                "the database was made by a version of Perennial from before the first release "
                    + "(schema version \(present)), and cannot be migrated: move it away, and name "
                    + "a new database (`perennial dev --fresh` deletes the development database)")
        }
        return present
    }
}
