/// The table `schema_versions` within a transaction: which steps the database has, and which older
/// programs can use it.
struct SchemaVersions {
    /// The version that is recorded while the database is being filled from another database.
    static let unfinishedCopy: Int64 = -1

    let connection: any Connection
    private var dialect: Dialect { connection.dialect }

    init(_ connection: any Connection) { self.connection = connection }

    func exist() throws(StorageFailure) -> Bool {
        try connection.number(
            dialect == .sqlite
                ? "SELECT count(*) FROM sqlite_master WHERE type = 'table' "
                    + "AND name = 'schema_versions'"
                : "SELECT count(*) FROM pg_class WHERE oid = to_regclass('schema_versions')") > 0
    }

    /// Creates the table. Idempotent, and safe if several servers run it at once.
    func create() throws(StorageFailure) {
        try connection.run(
            "CREATE TABLE IF NOT EXISTS schema_versions "
                + "(version \(dialect.integer) PRIMARY KEY, "
                + "applied_at_ms \(dialect.integer) NOT NULL)", [])
        // Programs from before this column read and write the table without it.
        guard try !hasOldestVersion() else { return }
        for statement in dialect.withoutLockTimeout { try connection.run(statement, []) }
        let unlessAnotherServerDid = dialect == .sqlite ? "" : "IF NOT EXISTS "
        try connection.run(
            "ALTER TABLE schema_versions ADD COLUMN \(unlessAnotherServerDid)"
                + "oldest_version \(dialect.integer)", [])
    }

    // MARK: - The present version

    /// The present version; 0 if there are no tables yet.
    func presentIfAny(newest: Int = Schema.version) throws(StorageFailure) -> Int {
        try exist() ? present(newest: newest) : 0
    }

    /// The present version; 0 before the tables of a new database are made.
    ///
    /// - Parameter newest: the last version that can be migrated.
    /// - Throws: ``StorageFailure`` if programs of the version `newest` can neither use nor migrate
    ///   the present version, or if the database is an unfinished copy.
    func present(newest: Int = Schema.version) throws(StorageFailure) -> Int {
        let present = Int(
            try connection.number("SELECT coalesce(max(version), 0) FROM schema_versions"))
        try requireNoUnfinishedCopy()
        let isUsable = try isUsable(by: newest, from: present)
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

    private func requireNoUnfinishedCopy() throws(StorageFailure) {
        let copying = try connection.rows(
            "SELECT version FROM schema_versions WHERE version = $1",
            [.integer(Self.unfinishedCopy)])
        guard copying.isEmpty else {
            throw StorageFailure(
                "the copy of this database was interrupted, so it is incomplete: "
                    + "run `perennial migrate` again, into an empty database")
        }
    }

    /// Whether programs of a version can use the present version, which a newer program may have
    /// made. False if the newer program recorded nothing about this.
    private func isUsable(by version: Int, from present: Int) throws(StorageFailure) -> Bool {
        guard present > version else { return true }
        guard try hasOldestVersion() else { return false }
        let oldest = try connection.firstNumber(
            "SELECT oldest_version FROM schema_versions WHERE version = $1 "
                + "AND oldest_version IS NOT NULL", [.integer(Int64(present))])
        return oldest.map { $0 <= Int64(version) } ?? false
    }

    private func hasOldestVersion() throws(StorageFailure) -> Bool {
        try connection.number(
            dialect == .sqlite
                ? "SELECT count(*) FROM sqlite_master WHERE name = 'schema_versions' "
                    + "AND sql LIKE '%oldest_version%'"
                : "SELECT count(*) FROM pg_attribute "
                    + "WHERE attrelid = to_regclass('schema_versions') "
                    + "AND attname = 'oldest_version' AND NOT attisdropped") > 0
    }

    // MARK: - Steps

    /// Applies the steps that the database does not have; a new database gets all tables. This must
    /// be the first call in the transaction.
    func applyMissing(_ steps: [Schema.Step], at now: Int64) throws(StorageFailure) {
        for statement in dialect.withoutLockTimeout + dialect.lockTables(["schema_versions"])
            + dialect.withLockTimeout(seconds: Database.stepLockSeconds)
        {
            try connection.run(statement, [])
        }
        let newest = Schema.version(with: steps)
        let present = try present(newest: newest)
        guard present > 0 else {
            try run(Schema.statements(dialect), version: newest, "new")
            return try record(newest, of: steps, at: now)
        }
        for (step, version) in zip(steps, (Schema.baseline + 1)...) where version > present {
            try run(step.statements(dialect), version: version, step.name)
            try record(version, of: steps, at: now)
        }
    }

    private func run(
        _ statements: [String], version: Int, _ name: String
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
    private func record(
        _ version: Int, of steps: [Schema.Step], at now: Int64
    ) throws(StorageFailure) {
        let oldest = Schema.oldestVersion(after: steps.prefix(version - Schema.baseline))
        try connection.run(
            "INSERT INTO schema_versions (version, applied_at_ms, oldest_version) "
                + "VALUES ($1, $2, $3)",
            [.integer(Int64(version)), .integer(now), .integer(Int64(oldest))])
    }
}
