import Ledger

extension Store {
    /// Brings the tables up to this program's version. Harmless to repeat, by several servers at
    /// once.
    ///
    /// - Throws: ``StorageFailure`` where the database is of a later version than this program.
    package func migrate(at now: Int64) async throws {
        _ = try await database.write { connection in
            try connection.run(
                "CREATE TABLE IF NOT EXISTS schema_versions "
                    + "(version \(connection.dialect.integer) PRIMARY KEY, "
                    + "applied_at_ms \(connection.dialect.integer) NOT NULL)", [])
        }
        // A transaction of its own, as the lock must be the first thing in it: whoever comes second
        // waits here, and then sees the steps that the first has taken.
        try await database.write { connection in
            let dialect = connection.dialect
            for statement in dialect.waitingForLocks + dialect.holding(["schema_versions"]) {
                try connection.run(statement, [])
            }
            try Self.takeSteps(connection, at: now)
        }
        do {
            try await prepareMonths(around: Instant(milliseconds: now))
        } catch let failure as StorageFailure {
            // Else the table of all other months takes what comes; servers try again each day.
            guard failure.kind == .busy else { throw failure }
        }
    }

    /// The version of the tables that are there; 0 where there are none yet.
    ///
    /// - Throws: ``StorageFailure`` where no program of this version can bring them up to date.
    package func schemaVersion() async throws -> Int {
        let exists = Self.versionsTableExists(database.dialect)
        return try await database.read { connection in
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

    /// Whether another program has filled the file. A server's database may hold others' tables.
    package static func isAnotherProgramsFile(
        _ connection: any Connection
    ) throws(StorageFailure) -> Bool {
        let rows = try connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'", [])
        for row in rows where try row.text(0) == "schema_versions" { return false }
        return !rows.isEmpty
    }

    /// Stands among the versions while the database is being filled from another one.
    static let copyingVersion: Int64 = -1

    private static func requireNoUnfinishedCopy(
        _ connection: any Connection
    ) throws(StorageFailure) {
        let copying = try connection.rows(
            "SELECT version FROM schema_versions WHERE version = $1", [.integer(copyingVersion)])
        guard copying.isEmpty else {
            throw StorageFailure(
                "the database is a copy that was never finished, and lacks what the original has: "
                    + "run `perennial migrate` again, into an empty database")
        }
    }

    private static func takeSteps(
        _ connection: any Connection, at now: Int64
    ) throws(StorageFailure) {
        let present = try presentVersion(connection)
        for (index, step) in Schema.steps(connection.dialect).enumerated() where index >= present {
            for statement in step { try connection.run(statement, []) }
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
                "the database has schema version \(present), this program knows "
                    + "\(Schema.version): use the newer program again")
        }
        guard present == 0 || present >= Schema.oldestVersion else {
            throw StorageFailure(
                "the database has schema version \(present), of before the first release, whose "
                    + "tables were others: keep it aside, and begin with a new one "
                    + "(`perennial dev --fresh`)")
        }
        return present
    }
}
