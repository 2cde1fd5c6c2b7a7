/// The version of the schema and the numbers of rows in a database. A complete copy has the same
/// version and the same numbers.
package struct DatabaseContents: Hashable, Sendable {
    /// The version of the schema.
    package var version: Int
    package var documents: Int64
    package var customers: Int64
    package var events: Int64
    /// The number of events according to the logs' counters.
    package var loggedEvents: Int64

    /// When the tables of the database behind a connection were first made, in
    /// milliseconds since 1970. Copies of the database have the same time.
    package static func madeAt(
        _ connection: any Connection
    ) throws(StorageFailure) -> Int64 {
        try connection.firstNumber(
            "SELECT applied_at_ms FROM schema_versions ORDER BY version LIMIT 1", []) ?? 0
    }
}

extension Database {
    /// Counts the rows of the database behind a connection. The database may belong to another
    /// program.
    ///
    /// - Throws: ``StorageFailure`` if the database does not belong to Perennial, has a schema that
    ///   this version does not know, or is an unfinished copy.
    package static func contents(
        _ connection: any Connection
    ) throws(StorageFailure) -> DatabaseContents {
        guard try SchemaVersions(connection).exist() else {
            throw StorageFailure("it contains no Perennial tables")
        }
        let version = try SchemaVersions(connection).present()
        guard version > 0 else {
            throw StorageFailure("it contains no Perennial tables yet")
        }
        return try connection.rows(
            "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM customers), "
                + "(SELECT count(*) FROM events), "
                + "(SELECT CAST(coalesce(sum(last_sequence), 0) AS BIGINT) FROM logs)", []
        ) { row throws(StorageFailure) in
            DatabaseContents(
                version: version, documents: try row.integer(), customers: try row.integer(),
                events: try row.integer(), loggedEvents: try row.integer())
        }[0]
    }

    /// Counts the rows of this database.
    package func contents() async throws -> DatabaseContents {
        try await driver.read { try Self.contents($0) }
    }
}
