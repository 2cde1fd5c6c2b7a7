import Ledger

extension Database {
    /// How long a step waits for a lock on a table that servers use. Requests that need the table
    /// wait behind the step, so this must be shorter than ``PostgresDriver/Limits/lockWait``.
    package static let stepLockSeconds = 5
    /// The maximum number of attempts to get the locks. With the pauses, about ten minutes.
    package static let stepAttemptsMax = 60
    private static let stepPauses = ExponentialBackoff(first: .seconds(1), longest: .seconds(5))

    /// Creates the tables of a new database, or migrates the tables of an older database to this
    /// program's version. Changes nothing if a newer program has migrated the database and this
    /// program can still use it. Idempotent, and safe if several servers run it at once.
    ///
    /// - Throws: ``StorageFailure`` if the schema of the database is too new for this program, or
    ///   from before the first release; of kind `busy` if a step did not get its locks.
    package func migrate(at now: Int64) async throws {
        try await migrate(at: now, by: Schema.steps)
    }

    func migrate(
        at now: Int64, by steps: [Schema.Step],
        sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) async throws {
        try await createVersionsTable()
        for attempt in 1... {
            do {
                try await applyMissing(steps, at: now)
                break
            } catch let failure as StorageFailure {
                guard failure.kind == .busy, attempt < Self.stepAttemptsMax else { throw failure }
            }
            try await sleep(Self.stepPauses.delay(after: attempt))
        }
        do {
            try await createPartitions(around: Instant(milliseconds: now))
        } catch let failure as StorageFailure {
            // This failure may be ignored: documents of months without a partition go into the
            // default partition, and servers try again each day.
            guard failure.kind == .busy else { throw failure }
        }
    }

    private func createVersionsTable() async throws {
        try await driver.write { connection in
            let dialect = connection.dialect
            try connection.run(
                "CREATE TABLE IF NOT EXISTS schema_versions "
                    + "(version \(dialect.integer) PRIMARY KEY, "
                    + "applied_at_ms \(dialect.integer) NOT NULL)", [])
            // Programs from before this column read and write the table without it.
            guard try !Self.hasOldestVersion(connection) else { return }
            let unlessAnotherServerDid = dialect == .sqlite ? "" : "IF NOT EXISTS "
            try connection.run(
                "ALTER TABLE schema_versions ADD COLUMN \(unlessAnotherServerDid)"
                    + "oldest_version \(dialect.integer)", [])
        }
    }

    /// Applies the steps that the database does not have, in one transaction.
    private func applyMissing(_ steps: [Schema.Step], at now: Int64) async throws {
        // The steps need a separate transaction, because the lock must be its first statement. A
        // second server waits here, and then sees the steps that the first server has applied.
        try await driver.write { connection in
            let dialect = connection.dialect
            for statement in dialect.withoutLockTimeout + dialect.lockTables(["schema_versions"])
                + dialect.withLockTimeout(seconds: Self.stepLockSeconds)
            {
                try connection.run(statement, [])
            }
            try Self.apply(steps, connection, at: now)
        }
    }

    /// The version of the present schema; 0 if there are no tables yet. Greater than this program's
    /// version if a newer program has migrated the database and this program can still use it.
    ///
    /// - Throws: ``StorageFailure`` if this program can neither use nor migrate the present version.
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
            let statements = Schema.statements(connection.dialect)
            try run(statements, connection, version: newest, "new")
            return try record(newest, of: steps, connection, at: now)
        }
        for (step, version) in zip(steps, (Schema.baseline + 1)...) where version > present {
            try run(step.statements(connection.dialect), connection, version: version, step.name)
            try record(version, of: steps, connection, at: now)
        }
    }

    private static func run(
        _ statements: [String], _ connection: any Connection, version: Int, _ name: String
    ) throws(StorageFailure) {
        do throws(StorageFailure) {
            for statement in statements { try connection.run(statement, []) }
        } catch {
            var failure = error
            failure.message = "schema version \(version), \(name): \(error.message)"
            throw failure
        }
    }

    /// Records that the database has a version, and which older programs can use it from now on.
    private static func record(
        _ version: Int, of steps: [Schema.Step], _ connection: any Connection, at now: Int64
    ) throws(StorageFailure) {
        let oldest = Schema.oldestVersion(after: steps.prefix(version - Schema.baseline))
        try connection.run(
            "INSERT INTO schema_versions (version, applied_at_ms, oldest_version) "
                + "VALUES ($1, $2, $3)",
            [.integer(Int64(version)), .integer(now), .integer(Int64(oldest))])
    }

    private static func hasOldestVersion(
        _ connection: any Connection
    ) throws(StorageFailure) -> Bool {
        switch connection.dialect {
        case .sqlite:
            try connection.number(
                "SELECT count(*) FROM sqlite_master WHERE name = 'schema_versions' "
                    + "AND sql LIKE '%oldest_version%'") > 0
        case .postgres:
            try connection.number(
                "SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('schema_versions') "
                    + "AND attname = 'oldest_version' AND NOT attisdropped") > 0
        }
    }

    /// Whether programs of a version can use the present version of a database, which a newer
    /// program may have made. False if the newer program recorded nothing about this.
    private static func isUsable(
        by version: Int, from present: Int, _ connection: any Connection
    ) throws(StorageFailure) -> Bool {
        guard present > version else { return true }
        guard try hasOldestVersion(connection) else { return false }
        let oldest = try connection.firstNumber(
            "SELECT oldest_version FROM schema_versions WHERE version = $1 "
                + "AND oldest_version IS NOT NULL", [.integer(Int64(present))])
        return oldest.map { $0 <= Int64(version) } ?? false
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
        let isUsable = try isUsable(by: newest, from: present, connection)
        guard isUsable else {
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
