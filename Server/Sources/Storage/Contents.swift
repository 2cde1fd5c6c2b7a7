/// What a database holds, in numbers: by which a whole copy is told from a part of one.
package struct StoreContents: Hashable, Sendable {
    /// Of the tables.
    package var version: Int
    package var documents: Int64
    package var customers: Int64
    package var events: Int64
    /// How many events the logs say that they have.
    package var counted: Int64
}

extension Store {
    /// What the database behind a connection holds, whatever program it was written by.
    ///
    /// - Throws: ``StorageFailure`` where it is not one of ours, of a later version than this
    ///   program's, or a copy that was never finished.
    package static func contents(
        _ connection: any Connection
    ) throws(StorageFailure) -> StoreContents {
        let tables = try connection.rows(versionsTableExists(connection.dialect), [])
        guard try tables[0].integer(0) > 0 else {
            throw StorageFailure("it holds no table of this program's")
        }
        let version = try presentVersion(connection)
        guard version > 0 else {
            throw StorageFailure("it holds no table of this program's yet")
        }
        let counts = try connection.rows(
            "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM customers), "
                + "(SELECT count(*) FROM events), "
                + "(SELECT CAST(coalesce(sum(last_sequence), 0) AS BIGINT) FROM logs)", [])
        return StoreContents(
            version: version, documents: try counts[0].integer(0),
            customers: try counts[0].integer(1), events: try counts[0].integer(2),
            counted: try counts[0].integer(3))
    }

    /// The same of this store's database.
    package func contents() async throws -> StoreContents {
        try await database.read { try Self.contents($0) }
    }
}
