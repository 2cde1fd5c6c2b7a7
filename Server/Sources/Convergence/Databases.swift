import Storage
import StorageSQLite
import Synchronization

/// Empty databases in memory, each used by one trial after the other: to make the tables and to
/// prepare the statements anew would take a tenth of a trial's time.
final class Databases: Sendable {
    private static let freeMax = 16

    private let free = Mutex<[SQLiteDatabase]>([])

    /// One with nothing in it but, perhaps, the tables.
    func take() throws -> SQLiteDatabase {
        try free.withLock { $0.popLast() } ?? SQLiteDatabase.inMemory()
    }

    /// Empties it for the next trial. Whoever does not give it back just lets go of it.
    func giveBack(_ database: SQLiteDatabase) async throws {
        try await database.write { connection in
            // A table is made after those that its rows refer to. To put the check of references
            // off would take a pragma, and that forgets all statements that are prepared.
            let tables = try connection.rows(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_versions'"
                    + " ORDER BY rowid DESC",
                [])
            for table in tables { try connection.run("DELETE FROM \(try table.text(0))", []) }
        }
        free.withLock { if $0.count < Self.freeMax { $0.append(database) } }
    }
}
