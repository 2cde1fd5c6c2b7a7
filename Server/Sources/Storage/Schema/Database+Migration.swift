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
        try await driver.write { try SchemaVersions($0).create() }
        for attempt in 1... {
            do {
                // The steps need a separate transaction, because the lock must be its first
                // statement. A second server waits here, and then sees the steps that the first
                // server has applied.
                try await driver.write { try SchemaVersions($0).applyMissing(steps, at: now) }
                break
            } catch let failure as StorageFailure {
                // A step that waits for servers, which wait for the step, fails as a conflict.
                guard failure.isByLock || failure.kind == .conflict,
                    attempt < Self.stepAttemptsMax
                else { throw failure }
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

    /// The version of the present schema; 0 if there are no tables yet. Greater than this program's
    /// version if a newer program has migrated the database and this program can still use it.
    ///
    /// - Throws: ``StorageFailure`` if this program can neither use nor migrate the present
    ///   version.
    package func schemaVersion() async throws -> Int {
        try await driver.read { try SchemaVersions($0).presentIfAny() }
    }

    /// Whether the file of the database belongs to another program. Only for files: the database of
    /// a server may contain other programs' tables.
    package static func belongsToAnotherProgram(
        _ connection: any Connection
    ) throws(StorageFailure) -> Bool {
        let tables = try connection.texts("SELECT name FROM sqlite_master WHERE type = 'table'")
        return !tables.isEmpty && !tables.contains("schema_versions")
    }
}
