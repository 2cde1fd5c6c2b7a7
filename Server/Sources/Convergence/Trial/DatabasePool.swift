import Storage
import StorageSQLite
import Synchronization

/// A pool of empty in-memory databases that trials reuse: creating the tables and preparing the
/// statements again would take a tenth of a trial's time.
final class DatabasePool: Sendable {
    private static let freeMax = 16

    private let free = Mutex<[SQLiteDriver]>([])

    /// Returns a database that is empty, except that the tables may exist.
    func checkOut() throws -> SQLiteDriver {
        try free.withLock { $0.popLast() } ?? SQLiteDriver.inMemory()
    }

    /// Empties a database for the next trial. A database that is not returned is simply discarded.
    func checkIn(_ database: SQLiteDriver) async throws {
        try await database.write { connection in
            // A table is created after the tables that its rows refer to, so tables are emptied in
            // reverse order. Deferring the foreign key checks instead would need a pragma, which
            // discards all prepared statements.
            let tables = try connection.texts(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_versions'"
                    + " ORDER BY rowid DESC")
            for table in tables { try connection.run("DELETE FROM \(table)", []) }
        }
        free.withLock { if $0.count < Self.freeMax { $0.append(database) } }
    }
}
